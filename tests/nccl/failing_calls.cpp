// SPDX-License-Identifier: Apache-2.0
// failing_calls WAY: each call of CUDA's and NCCL's fails once on one rank, while the ranks open and while they sum.
// The rank says which call it was, all ranks hear of it, nobody hangs, and nothing is left on the GPUs. A call that is
// made and is not in the tables is a fault, and so is one in the tables that never failed.
#include <cuda_runtime_api.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <set>
#include <thread>

#include "cuda_emulator/control.h"
#include "nccl/ranks.hpp"

namespace {

using namespace nccl_test;
using tokavg::Error;
using tokavg::Reduction;
using tokavg::Transport;
using Clock = std::chrono::steady_clock;

constexpr int kDeadlineMs = 400;

enum class Phase { kOpen, kSum, kEnd, kAbort };
constexpr const char* kPhases[] = {"while opening", "while summing", "at the end", "in an abort"};

// In which ways there is such a call.
constexpr unsigned bit(Way way) { return 1U << static_cast<unsigned>(way); }
constexpr unsigned kOwnOnes = bit(Way::kSplit) | bit(Way::kOwn);
constexpr unsigned kLentOnes = bit(Way::kLent) | bit(Way::kSplit);
constexpr unsigned kAll = kOwnOnes | kLentOnes;

struct Failing {
  const char* call;
  int error;
  bool is_told = true;    // to the other ranks; else their part is over by then, perhaps
  bool comes_out = true;  // of the call on the other ranks, which waits there for this one
  int kth = 1;
  unsigned ways = kAll;
  int victim = 1;
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
    {"cudaGetDeviceCount", cudaErrorNoDevice, true, true, 1, bit(Way::kOwn)},
    {"cudaDeviceGetStreamPriorityRange", cudaErrorUnknown},
    {"cudaStreamCreateWithPriority", cudaErrorMemoryAllocation},
    {"cudaEventCreateWithFlags", cudaErrorMemoryAllocation},
    {"cudaMalloc", cudaErrorMemoryAllocation},
    {"cudaHostAlloc", cudaErrorMemoryAllocation},
    {"cudaMemsetAsync", cudaErrorUnknown},
    {"cudaMemcpyAsync", cudaErrorUnknown},
    {"cudaMemcpyAsync", cudaErrorUnknown, false, true, 2},
    {"cudaMemcpyAsync", cudaErrorUnknown, false, true, 3},
    {"cudaEventRecord", cudaErrorUnknown, false},
    {"cudaEventQuery", cudaErrorUnknown, false},
    {"ncclGetVersion", ncclInternalError},
    {"ncclGetUniqueId", ncclSystemError, true, true, 1, bit(Way::kOwn), 0},
    {"ncclCommInitRankConfig", ncclSystemError, true, false, 1, bit(Way::kOwn)},
    {"ncclCommSplit", ncclSystemError, true, false, 1, bit(Way::kSplit)},
    {"ncclCommCount", ncclInternalError},
    {"ncclCommCuDevice", ncclInternalError, true, true, 1, kLentOnes},
    {"ncclCommUserRank", ncclInternalError},
    {"ncclAllReduce", ncclUnhandledCudaError},
    {"ncclCommGetAsyncError", ncclInternalError, false},
};

// What is called when all is over: nobody is told, and nothing is left.
constexpr Failing kLastCalls[] = {
    {"cudaStreamSynchronize", cudaErrorUnknown},
    {"cudaStreamQuery", cudaErrorUnknown, false, true, 1, bit(Way::kLent)},
    {"cudaFree", cudaErrorUnknown},
    {"cudaFreeHost", cudaErrorUnknown},
    {"cudaStreamDestroy", cudaErrorUnknown},
    {"cudaEventDestroy", cudaErrorUnknown},
    {"ncclCommFinalize", ncclInternalError, false, true, 1, kOwnOnes},
    {"ncclCommDestroy", ncclInternalError, false, true, 1, kOwnOnes},
};

// The same where the communicator is given up.
constexpr Failing kAborts = {"ncclCommAbort", ncclInternalError, false, true, 1, kOwnOnes};

// What this test calls, and the library does not.
constexpr const char* kOfTheTest = "ncclCommInitAll";

// Of one and only one call, in a thread of the victim's.
void plan(const Failing& failing) {
  // An errand's thread begins on device 0, from where it goes to its own.
  const bool leaves = std::strcmp(failing.call, "cudaSetDevice") == 0;
  cuda_emulator_fail(failing.call, failing.kth, failing.error, leaves ? 0 : failing.victim, 0);
}

// One rank's part. What it saw goes to `error`.
void live(Rank& rank, Phase phase, const Failing& failing, std::optional<Error>& error) {
  const auto plan_in = [&](Phase now) {
    if (now == phase && rank.rank == failing.victim) plan(failing);
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
  plan_in(Phase::kAbort);
  if (phase == Phase::kAbort) return transport->abort();
  transport->close();
}

// The victim's error names the call, and the other ranks see one too; or the call was not made, and nobody sees any.
int check(const std::vector<std::optional<Error>>& errors, const Failing& failing, bool happened) {
  int faults = 0;
  for (std::size_t r = 0; r < errors.size(); ++r) {
    const bool is_victim = r == static_cast<std::size_t>(failing.victim);
    const std::string text = errors[r] ? errors[r]->text() : "no error";
    const bool named = !happened || text.find(failing.call) != std::string::npos;
    const bool good =
        is_victim ? named && errors[r].has_value() == happened : errors[r].has_value() == happened || !failing.is_told;
    std::printf("%s rank %zu: %s\n", good ? "    " : "FAIL", r, text.c_str());
    faults += good ? 0 : 1;
  }
  return faults;
}

std::set<std::string>& called() {
  static std::set<std::string> names;
  return names;
}

int play(Way way, int ranks, Phase phase, const Failing& failing, bool& ever) {
  std::vector<std::optional<Error>> errors(static_cast<std::size_t>(ranks));
  const auto body = [&](Rank& rank) { live(rank, phase, failing, errors[static_cast<std::size_t>(rank.rank)]); };
  const std::size_t stuck = phase == Phase::kOpen && !failing.comes_out ? static_cast<std::size_t>(ranks - 1) : 0;
  const std::string kth = failing.kth == 1 ? " " : " no. " + std::to_string(failing.kth) + " ";
  const std::string name = failing.call + kth + kPhases[static_cast<int>(phase)];
  int faults = run(name, way, ranks, body, stuck);
  const bool happened = cuda_emulator_failures_left() == 0;
  if (!happened) std::printf("     (%s is not called then)\n", failing.call);
  ever = ever || happened;
  if (phase == Phase::kOpen || phase == Phase::kSum) faults += check(errors, failing, happened);
  for (std::size_t i = 0; cuda_emulator_called(i) != nullptr; ++i) called().insert(cuda_emulator_called(i));
  cuda_emulator_reset();
  return faults;
}

int play_in(Way way, const std::vector<Phase>& phases, const Failing& failing) {
  const bool wanted = (failing.ways & bit(way)) != 0;
  if (!wanted && phases.front() == Phase::kEnd) return 0;  // there it is the test that may call it
  bool ever = false;
  int faults = 0;
  for (const Phase phase : phases) faults += play(way, phase == Phase::kSum ? 3 : 2, phase, failing, ever);
  if (ever == wanted) return faults;
  std::printf("FAIL %s no. %d, %s: %s\n", failing.call, failing.kth, name_of(way),
              wanted ? "never failed" : "failed, and the table says that it is not called");
  return faults + 1;
}

bool is_known(const std::string& name) {
  const auto is_it = [&name](const Failing& failing) { return name == failing.call; };
  return std::any_of(std::begin(kCalls), std::end(kCalls), is_it) ||
         std::any_of(std::begin(kLastCalls), std::end(kLastCalls), is_it) || is_it(kAborts) || name == kOfTheTest;
}

int check_called() {
  int faults = 0;
  for (const std::string& name : called()) {
    if (is_known(name)) continue;
    std::printf("FAIL %s is called, and not in the tables\n", name.c_str());
    ++faults;
  }
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
    std::vector<Phase> phases = {Phase::kOpen};
    if (!only_opens(failing)) phases.push_back(Phase::kSum);
    faults += play_in(*way, phases, failing);
  }
  for (const Failing& failing : kLastCalls) {
    if (argc > 2 && std::strcmp(argv[2], failing.call) != 0) continue;
    faults += play_in(*way, {Phase::kEnd}, failing);
  }
  if (argc == 2 || std::strcmp(argv[2], kAborts.call) == 0) faults += play_in(*way, {Phase::kAbort}, kAborts);
  faults += check_called();
  return faults == 0 ? 0 : 1;
}
