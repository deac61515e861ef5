// SPDX-License-Identifier: Apache-2.0
// failing_calls WAY: each call of CUDA's and NCCL's fails once on one rank, while the ranks open and while they sum.
// The rank says which call it was, all ranks hear of it, nobody hangs, and nothing is left on the GPUs.
#include <cuda_runtime_api.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <thread>

#include "cuda_emulator/control.h"
#include "nccl/ranks.hpp"

namespace {

using namespace nccl_test;
using tokavg::Error;
using tokavg::Reduction;
using tokavg::Transport;
using Clock = std::chrono::steady_clock;

constexpr int kVictim = 1;
constexpr int kDeadlineMs = 400;

enum class Phase { kOpen, kSum, kEnd };
constexpr const char* kPhases[] = {"while opening", "while summing", "at the end"};

struct Failing {
  const char* call;
  int error;
  bool is_told = true;    // to the other ranks; else their part is over by then, perhaps
  bool comes_out = true;  // of the call on the other ranks, which waits there for this one
  int kth = 1;
};

// Calls that come only while opening; what is counted later are others' (the test's own among them).
bool only_opens(const Failing& failing) {
  const std::string call = failing.call;
  return call == "cudaSetDevice" || call == "ncclCommCount";
}

constexpr Failing kCalls[] = {
    {"cudaThreadExchangeStreamCaptureMode", cudaErrorUnknown},
    {"cudaGetDevice", cudaErrorUnknown},
    {"cudaSetDevice", cudaErrorUnknown, true, false},
    {"cudaGetDeviceCount", cudaErrorNoDevice},
    {"cudaDeviceGetStreamPriorityRange", cudaErrorUnknown},
    {"cudaStreamCreateWithPriority", cudaErrorMemoryAllocation},
    {"cudaEventCreateWithFlags", cudaErrorMemoryAllocation},
    {"cudaMalloc", cudaErrorMemoryAllocation},
    {"cudaHostAlloc", cudaErrorMemoryAllocation},
    {"cudaMemcpyAsync", cudaErrorUnknown},
    {"cudaMemcpyAsync", cudaErrorUnknown, false, true, 2},
    {"cudaMemcpyAsync", cudaErrorUnknown, false, true, 3},
    {"cudaEventRecord", cudaErrorUnknown, false},
    {"cudaEventQuery", cudaErrorUnknown, false},
    {"ncclGetVersion", ncclInternalError},
    {"ncclGetUniqueId", ncclSystemError},
    {"ncclCommInitRankConfig", ncclSystemError, true, false},
    {"ncclCommSplit", ncclSystemError, true, false},
    {"ncclCommCount", ncclInternalError},
    {"ncclCommCuDevice", ncclInternalError},
    {"ncclCommUserRank", ncclInternalError},
    {"ncclAllReduce", ncclUnhandledCudaError},
    {"ncclCommGetAsyncError", ncclInternalError, false},
};

// What is called when all is over: nobody is told, and nothing is left.
constexpr Failing kLastCalls[] = {
    {"cudaStreamSynchronize", cudaErrorUnknown},
    {"cudaStreamQuery", cudaErrorUnknown},
    {"ncclCommFinalize", ncclInternalError},
};

// Of one and only one call, in a thread of the victim's.
void plan(const Failing& failing) {
  // An errand's thread begins on device 0, from where it goes to its own.
  const bool leaves = std::strcmp(failing.call, "cudaSetDevice") == 0;
  cuda_emulator_fail(failing.call, failing.kth, failing.error, leaves ? 0 : kVictim, 0);
}

// One rank's part. What it saw goes to `error`.
void live(Rank& rank, Phase phase, const Failing& failing, std::optional<Error>& error) {
  const auto plan_in = [&](Phase now) {
    if (now == phase && rank.rank == kVictim) plan(failing);
  };
  rank.options.timeout_ms = kDeadlineMs;
  rank.options.device_index = rank.way == Way::kOwn ? rank.rank : -1;
  plan_in(Phase::kOpen);
  std::unique_ptr<Transport> transport;
  error = tokavg::caught([&] { transport = tokavg::open_transport(rank.options); });
  if (error) return;
  plan_in(Phase::kSum);
  error = tokavg::caught([&] {
    std::vector<std::uint64_t> words(10, 7);
    const std::unique_ptr<Reduction> sum = transport->start(words);
    const Clock::time_point end = Clock::now() + std::chrono::milliseconds(kDeadlineMs);
    while (!sum->test()) {
      if (Clock::now() < end) continue;
      static_cast<void>(sum->late_ranks());
      tokavg::fail(TOKAVG_ERR_TIMEOUT, "the deadline");
    }
    rank.expect(words[9] == 7 * static_cast<std::uint64_t>(rank.ranks), "the sum is wrong");
  });
  if (error) {
    transport->abort();
    transport.reset();
    // A lent communicator is left alone only then.
    if (rank.way == Way::kLent) std::this_thread::sleep_for(std::chrono::milliseconds(1200));
    return;
  }
  plan_in(Phase::kEnd);
  transport->close();
}

// The victim's error names the call, and the other ranks see one too; or the call was not made, and nobody sees any.
int check(const std::vector<std::optional<Error>>& errors, const Failing& failing, bool happened) {
  int faults = 0;
  for (std::size_t r = 0; r < errors.size(); ++r) {
    const bool is_victim = r == static_cast<std::size_t>(kVictim);
    const std::string text = errors[r] ? errors[r]->text() : "no error";
    const bool named = !happened || text.find(failing.call) != std::string::npos;
    const bool good =
        is_victim ? named && errors[r].has_value() == happened : errors[r].has_value() == happened || !failing.is_told;
    std::printf("%s rank %zu: %s\n", good ? "    " : "FAIL", r, text.c_str());
    faults += good ? 0 : 1;
  }
  return faults;
}

int play(Way way, int ranks, Phase phase, const Failing& failing) {
  std::vector<std::optional<Error>> errors(static_cast<std::size_t>(ranks));
  const auto body = [&](Rank& rank) { live(rank, phase, failing, errors[static_cast<std::size_t>(rank.rank)]); };
  const std::size_t stuck = phase == Phase::kOpen && !failing.comes_out ? static_cast<std::size_t>(ranks - 1) : 0;
  const std::string kth = failing.kth == 1 ? " " : " no. " + std::to_string(failing.kth) + " ";
  const std::string name = failing.call + kth + kPhases[static_cast<int>(phase)];
  int faults = run(name, way, ranks, body, stuck);
  const bool happened = cuda_emulator_failures_left() == 0;
  if (!happened) std::printf("     (%s is not called then)\n", failing.call);
  if (phase != Phase::kEnd) faults += check(errors, failing, happened);
  cuda_emulator_reset();
  return faults;
}

}  // namespace

int main(int argc, char** argv) {
  const auto way = std::find_if(std::begin(kWays), std::end(kWays),
                                [&](Way w) { return argc >= 2 && std::strcmp(argv[1], name_of(w)) == 0; });
  if (way == std::end(kWays)) {
    std::fprintf(stderr, "usage: %s lent|split|own [CALL]\n", argv[0]);
    return 2;
  }
  cuda_emulator_check_order(0);  // what a failed rank has not issued, it never will
  int faults = 0;
  for (const Failing& failing : kCalls) {
    if (argc > 2 && std::strcmp(argv[2], failing.call) != 0) continue;
    faults += play(*way, 2, Phase::kOpen, failing);
    if (!only_opens(failing)) faults += play(*way, 3, Phase::kSum, failing);
  }
  for (const Failing& failing : kLastCalls) {
    if (argc > 2 && std::strcmp(argv[2], failing.call) != 0) continue;
    faults += play(*way, 2, Phase::kEnd, failing);
  }
  return faults == 0 ? 0 : 1;
}
