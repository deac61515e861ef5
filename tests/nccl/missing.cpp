// SPDX-License-Identifier: Apache-2.0
// Ranks that do not come, fail alone, or give up.
#include <cuda_runtime_api.h>

#include <barrier>
#include <chrono>
#include <memory>
#include <optional>
#include <thread>

#include "cuda_emulator/control.h"
#include "nccl/ranks.hpp"
#include "transport/nccl/own.hpp"

namespace {

using namespace nccl_test;
using std::chrono::milliseconds;
using tokavg::Error;
using tokavg::Reduction;
using tokavg::Transport;
using Clock = std::chrono::steady_clock;

constexpr int kVictim = 1;

void sleep(int ms) { std::this_thread::sleep_for(milliseconds(ms)); }

// The GPU's work is over within the second that a lent communicator is given, and not because this waited for a peer.
void expect_drained(Rank& rank) {
  const Clock::time_point begin = Clock::now();
  rank.expect(cudaDeviceSynchronize() == cudaSuccess, "cudaDeviceSynchronize");
  rank.expect(Clock::now() - begin < milliseconds(3000), "the GPU did not drain");
}

void init_missing(Rank& rank) {
  rank.options.timeout_ms = 500;
  if (rank.rank == kVictim) return sleep(1500);
  const Clock::time_point begin = Clock::now();
  const std::optional<Error> error = rank.open_error();
  const auto waited = std::chrono::duration_cast<milliseconds>(Clock::now() - begin).count();
  rank.expect(waited >= 450 && waited < 3000, "it took " + std::to_string(waited) + " ms");
  if (rank.way == Way::kOwn) return rank.expect_error(error, TOKAVG_ERR_TIMEOUT, {"rank 1 did not arrive", "0.5 s"});
  rank.expect_error(error, TOKAVG_ERR_TIMEOUT, {"not known", "config.comm", "do not use or destroy", "0.5 s"});
  expect_drained(rank);
  rank.expect_lent_dead(true);
}

// A rank that comes when another has given up: what that one's errand was left behind with ends too.
void init_too_late(Rank& rank) {
  using namespace tokavg::nccl;
  static std::optional<ncclUniqueId> id;
  static std::barrier there(2);
  const auto library = Library::find(Origin::kThisProcess, "");
  if (rank.rank == 0) id = make_id(*library);
  there.arrive_and_wait();
  std::shared_ptr<Communicator> made;
  if (rank.rank == kVictim) sleep(600);
  const Deadline deadline(rank.rank == kVictim ? 5000 : 200);
  const std::optional<Error> error = tokavg::caught([&] {
    made = make_by_id(library, {rank.rank, rank.rank, rank.ranks}, *id, deadline);
  });
  if (rank.rank != kVictim) {
    rank.expect_error(error, TOKAVG_ERR_TIMEOUT, {"ncclCommInitRankConfig", "0.2 s", "left behind"});
  } else {
    rank.expect(made != nullptr, error ? error->text() : "");
    if (made != nullptr) made->abort();
  }
  there.arrive_and_wait();
}

// A rank that comes, but only after a while, is no reason to fail.
void init_late(Rank& rank) {
  if (rank.rank == kVictim) sleep(700);
  const std::unique_ptr<Transport> transport = rank.open();
  if (transport == nullptr) return;
  rank.good_sum(*transport);
  transport->close();
}

void sum_missing(Rank& rank) {
  const std::unique_ptr<Transport> transport = rank.open();
  if (transport == nullptr) return;
  rank.good_sum(*transport);
  if (rank.rank == kVictim) return sleep(1000);
  std::vector<std::uint64_t> words(10, 7);
  const std::unique_ptr<Reduction> sum = transport->start(words);
  const Clock::time_point end = Clock::now() + milliseconds(300);
  while (Clock::now() < end) rank.expect(!sum->test(), "done without a rank");
  rank.expect(sum->describe().find("waits") != std::string::npos, "it does not say that it waits");
  rank.expect(sum->late_ranks().empty(), "NCCL knows no ranks");
  rank.expect(!sum->test(), "done after the deadline");
  rank.expect(sum->describe().find("given up") != std::string::npos, "it does not say that it was given up");
  expect_drained(rank);
  rank.expect_lent_dead(rank.way == Way::kLent);
  rank.expect_error(tokavg::caught([&] { static_cast<void>(transport->start(words)); }), TOKAVG_ERR_ABORTED,
                    {"earlier failure"});
}

// The last rank comes between the deadline and the question who is late.
void sum_just_in_time(Rank& rank) {
  const std::unique_ptr<Transport> transport = rank.open();
  if (transport == nullptr) return;
  std::vector<std::uint64_t> words(10, 7);
  const std::unique_ptr<Reduction> sum = transport->start(words);
  rank.expect(cudaDeviceSynchronize() == cudaSuccess, "cudaDeviceSynchronize");
  rank.expect(sum->late_ranks().empty() && sum->test(), "given up, though it was there");
  rank.expect(words[9] == 7 * static_cast<std::uint64_t>(rank.ranks), "the sum is wrong");
  rank.good_sum(*transport);
  transport->close();
}

void bad_device(Rank& rank) {
  rank.options.timeout_ms = 5000;
  if (rank.rank == kVictim) rank.options.device_index = rank.way == Way::kOwn ? 99 : 0;
  const std::optional<Error> error = rank.open_error();
  if (rank.rank != kVictim) return rank.expect_error(error, TOKAVG_ERR_PEER, {"rank 1", "TOKAVG_ERR_CONFIG"});
  if (rank.way == Way::kOwn) {
    rank.expect_error(error, TOKAVG_ERR_CONFIG, {"device_index", "99", "4 GPUs"});
  } else {
    rank.expect_error(error, TOKAVG_ERR_CONFIG, {"device_index is 0", "config.comm", "device 1"});
  }
}

void right_device(Rank& rank) {
  cudaSetDevice(0);
  rank.options.device_index = rank.rank;
  const std::unique_ptr<Transport> transport = rank.open();
  int current = -1;
  cudaGetDevice(&current);
  rank.expect(current == 0, "another device is current now");
  if (transport != nullptr) {
    rank.good_sum(*transport);
    transport->close();
  }
  cudaSetDevice(rank.rank);
}

void null_communicator(Rank& rank) {
  rank.options.comm = nullptr;
  rank.expect_error(rank.open_error(), TOKAVG_ERR_CONFIG, {"config.comm is NULL"});
}

// One that was destroyed already.
void dead_communicator(Rank& rank) {
  rank.expect(ncclCommAbort(rank.lent) == ncclSuccess, "ncclCommAbort");
  rank.expect_error(rank.open_error(), TOKAVG_ERR_TRANSPORT, {"config.comm", "ncclCommCuDevice", "invalid argument"});
}

void shared_gpu(Rank& rank) {
  rank.options.device_index = 2;
  rank.expect_error(rank.open_error(), TOKAVG_ERR_TRANSPORT, {"ncclCommInitRankConfig", "Duplicate GPU"});
}

void too_many_words(Rank& rank) {
  const std::unique_ptr<Transport> transport = rank.open();
  if (transport == nullptr) return;
  std::vector<std::uint64_t> words(513);
  rank.expect_error(tokavg::caught([&] { static_cast<void>(transport->start(words)); }), TOKAVG_ERR_INTERNAL,
                    {"513", "512"});
  rank.good_sum(*transport);
  transport->close();
}

// tokavg_abort from another thread: whoever waits here is told at once. Sums of a lent communicator have a second.
void abort_while_waiting(Rank& rank) {
  const std::unique_ptr<Transport> transport = rank.open();
  if (transport == nullptr) return;
  rank.good_sum(*transport);
  if (rank.rank == kVictim) return sleep(2000);
  std::vector<std::uint64_t> words(10, 7);
  const std::unique_ptr<Reduction> sum = transport->start(words);
  std::thread other([&] {
    sleep(100);
    transport->abort();
  });
  const Clock::time_point begin = Clock::now();
  const std::optional<Error> error = tokavg::caught([&] { wait_for(*sum); });
  rank.expect_error(error, TOKAVG_ERR_ABORTED, {"aborted"});
  rank.expect(Clock::now() - begin < milliseconds(rank.way == Way::kLent ? 2500 : 1000), "it took too long");
  other.join();
  expect_drained(rank);
  rank.expect_lent_dead(rank.way == Way::kLent);
}

// The stream of an aborted communicator goes on, with a worthless sum: nobody may take it for one.
void abort_then_look(Rank& rank) {
  const std::unique_ptr<Transport> transport = rank.open();
  if (transport == nullptr) return;
  if (rank.rank == kVictim) return sleep(2000);
  std::vector<std::uint64_t> words(10, 7);
  const std::unique_ptr<Reduction> sum = transport->start(words);
  transport->abort();
  expect_drained(rank);
  rank.expect_error(tokavg::caught([&] { static_cast<void>(sum->test()); }), TOKAVG_ERR_ABORTED, {"aborted"});
  rank.expect_lent_dead(rank.way == Way::kLent);
}

// A sum that is given up while it is under way takes the channel with it.
void dropped(Rank& rank) {
  const std::unique_ptr<Transport> transport = rank.open();
  if (transport == nullptr) return;
  if (rank.rank == kVictim) return sleep(2000);
  std::vector<std::uint64_t> words(10, 7);
  transport->start(words).reset();
  rank.expect_error(tokavg::caught([&] { static_cast<void>(transport->start(words)); }), TOKAVG_ERR_ABORTED, {});
  expect_drained(rank);
  rank.expect_lent_dead(rank.way == Way::kLent);
}

// With nothing in flight a lent communicator is left alone, also for its owner.
void abort_idle(Rank& rank) {
  const std::unique_ptr<Transport> transport = rank.open();
  if (transport == nullptr) return;
  rank.good_sum(*transport);
  transport->abort();
  transport->abort();
  std::vector<std::uint64_t> words(10, 7);
  rank.expect_error(tokavg::caught([&] { static_cast<void>(transport->start(words)); }), TOKAVG_ERR_ABORTED, {});
  rank.expect_lent_dead(false);
}

// tokavg_free with a step in flight that the other ranks complete a little later.
void freed_early(Rank& rank) {
  {
    const std::unique_ptr<Transport> transport = rank.open();
    if (transport == nullptr) return;
    std::vector<std::uint64_t> words(10, 7);
    if (rank.rank == kVictim) sleep(300);
    const Clock::time_point begin = Clock::now();
    const std::unique_ptr<Reduction> sum =
        rank.way == Way::kLent || rank.rank != kVictim ? transport->start(words) : nullptr;
    rank.expect(Clock::now() - begin < milliseconds(200), "start waited");
  }
  sleep(1500);
  rank.expect_lent_dead(false);
}

// The same, where they never do.
void freed_in_vain(Rank& rank) {
  {
    const std::unique_ptr<Transport> transport = rank.open();
    if (transport == nullptr) return;
    rank.good_sum(*transport);
    if (rank.rank == kVictim) return sleep(2500);
    std::vector<std::uint64_t> words(10, 7);
    const std::unique_ptr<Reduction> sum = transport->start(words);
  }
  expect_drained(rank);
  rank.expect_lent_dead(rank.way == Way::kLent);
}

}  // namespace

int main(int argc, char** argv) {
  struct Case {
    const char* name;
    int ranks;
    void (*body)(Rank&);
  };
  const Case cases[] = {
      {"init missing", 4, init_missing},
      {"init late", 3, init_late},
      {"init too late", 2, init_too_late},
      {"sum missing", 2, sum_missing},
      {"sum missing", 4, sum_missing},
      {"sum just in time", 3, sum_just_in_time},
      {"bad device", 4, bad_device},
      {"right device", 3, right_device},
      {"null communicator", 2, null_communicator},
      {"dead communicator", 2, dead_communicator},
      {"shared GPU", 2, shared_gpu},
      {"too many words", 2, too_many_words},
      {"abort while waiting", 3, abort_while_waiting},
      {"abort, then look", 3, abort_then_look},
      {"dropped", 2, dropped},
      {"abort idle", 2, abort_idle},
      {"freed early", 2, freed_early},
      {"freed in vain", 2, freed_in_vain},
  };
  // What a rank that is missing has not issued, it never will, and its communicators are gone.
  cuda_emulator_check_order(0);
  int faults = 0;
  for (const Case& c : cases) {
    if (argc > 1 && std::string(argv[1]) != c.name) continue;
    for (const Way way : kWays) {
      const bool lent_only = c.body == null_communicator || c.body == dead_communicator;
      const bool own_only = c.body == shared_gpu || c.body == init_too_late;
      if (way == Way::kOwn ? lent_only : own_only) continue;
      faults += run(c.name, way, c.ranks, c.body);
    }
  }
  return faults == 0 ? 0 : 1;
}
