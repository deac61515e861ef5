// SPDX-License-Identifier: Apache-2.0
// streams: ranks as threads, over the bridge and over NCCL.
#include "cuda/cuda_memory.hpp"
#include "cuda/nccl_team.hpp"
#include "cuda/stream_cases.hpp"

using namespace cuda_test;

int main() {
  Checks checks;
  const contract::Body body = [&](contract::Team& team) { check_streams(team, checks, team.ranks() == 1); };
  contract::run_on_self(1, body, contract::cuda_memory);
  for (const int ranks : {2, 4}) contract::run_on_threads(ranks, body, contract::cuda_memory);
  for (const int ranks : {1, 2, 4}) {
    if (ranks > contract::nccl_devices()) continue;
    for (const bool own : {false, true}) contract::run_on_nccl(ranks, own, body);
  }
  return checks.end("streams");
}
