// SPDX-License-Identifier: Apache-2.0
// graph: captured and replayed steps. Ranks as threads, over the bridge and over NCCL.
#include "cuda/cuda_memory.hpp"
#include "cuda/graph_step.hpp"
#include "cuda/nccl_team.hpp"

using namespace cuda_test;

int main() {
  Checks checks;
  const contract::Body body = [&](contract::Team& team) { GraphStep(team, checks, team.ranks() == 1).run(); };
  contract::run_on_self(1, body, contract::cuda_memory);
  for (const int ranks : {2, 4}) {
    contract::run_on_threads(ranks, body, contract::cuda_memory);
  }
  for (const int ranks : {1, 2, 4}) {
    if (ranks <= contract::nccl_devices()) contract::run_on_nccl(ranks, false, body);
  }
  return checks.end("graph");
}
