// SPDX-License-Identifier: Apache-2.0
// runner self|threads|caller|nccl|nccl-own|nccl-threads FILE [ID...]: the contract cases with all data on GPUs, inside
// one process. nccl: a lent communicator; nccl-own: split from it; nccl-threads: bootstrapped over threads.
#include <algorithm>
#include <climits>
#include <cstdio>

#include "contract/case_run.hpp"
#include "cuda/cuda_memory.hpp"
#include "cuda/nccl_team.hpp"

using namespace contract;

namespace {

void run_everywhere(const std::string& transport, int ranks, const Body& body) {
  if (transport == "self") return run_on_self(ranks, body, cuda_memory);
  if (transport == "threads") return run_on_threads(ranks, body, cuda_memory);
  if (transport == "caller") return run_on_table(ranks, true, body, cuda_memory);
  if (transport == "nccl-threads") return run_on_threads(ranks, body, nccl_over_threads_memory);
  run_on_nccl(ranks, transport == "nccl-own", body);
}

}  // namespace

int main(int argc, char** argv) {
  const std::vector<std::string> known = {"self", "threads", "caller", "nccl", "nccl-own", "nccl-threads"};
  if (argc < 3 || std::find(known.begin(), known.end(), argv[1]) == known.end()) {
    std::fprintf(stderr, "usage: %s self|threads|caller|nccl|nccl-own|nccl-threads FILE [ID...]\n", argv[0]);
    return 2;
  }
  const std::string transport = argv[1];
  // NCCL has one rank a device.
  const int most = transport == "self" ? 1 : transport.starts_with("nccl") ? nccl_devices() : INT_MAX;
  return run_cases(transport + " on CUDA", argv[2], {argv + 3, argv + argc}, most,
                   [&](int ranks, const Body& body) { run_everywhere(transport, ranks, body); });
}
