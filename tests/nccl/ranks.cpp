// SPDX-License-Identifier: Apache-2.0
#include "nccl/ranks.hpp"

#include <barrier>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <thread>

#include "cuda_emulator/control.h"
#include "transport/thread_group.hpp"

namespace nccl_test {

using tokavg::Error;
using Clock = std::chrono::steady_clock;

const char* name_of(Way way) {
  switch (way) {
    case Way::kLent: return "lent";
    case Way::kSplit: return "split";
    default: return "own";
  }
}

void Rank::expect(bool good, const std::string& what) {
  if (!good) faults.push_back(what);
}

void Rank::expect_error(const std::optional<Error>& error, tokavg_status_t status,
                        const std::vector<std::string>& words) {
  if (!error) return expect(false, std::string("no error, where ") + tokavg::status_name(status) + " was expected");
  const std::string said = std::string(tokavg::status_name(error->status())) + ": " + error->text();
  expect(error->status() == status, "not " + std::string(tokavg::status_name(status)) + ", but " + said);
  for (const std::string& word : words) {
    expect(error->text().find(word) != std::string::npos, "no \"" + word + "\" in " + said);
  }
}

namespace {

// The emulator knows a handle that was destroyed.
bool is_alive(ncclComm_t comm) {
  int ranks = 0;
  return ncclCommCount(comm, &ranks) == ncclSuccess;
}

}  // namespace

void Rank::expect_lent_dead(bool dead) {
  if (lent == nullptr) return;
  if (dead) {
    expect(soon([this] { return !is_alive(lent); }), "the lent communicator was not aborted");
  } else {
    expect(is_alive(lent), "the lent communicator was aborted");
  }
}

std::unique_ptr<tokavg::Transport> Rank::open() {
  std::unique_ptr<tokavg::Transport> transport;
  const std::optional<Error> error = tokavg::caught([&] { transport = tokavg::open_transport(options); });
  expect(!error, error ? "open: " + error->text() : "");
  return transport;
}

std::optional<Error> Rank::open_error() {
  std::unique_ptr<tokavg::Transport> transport;
  return tokavg::caught([&] { transport = tokavg::open_transport(options); });
}

void Rank::good_sum(tokavg::Transport& transport, std::size_t n_words) {
  std::vector<std::uint64_t> words(n_words);
  for (std::size_t i = 0; i < n_words; ++i) words[i] = static_cast<std::uint64_t>(rank) + i * i;
  const std::unique_ptr<tokavg::Reduction> sum = transport.start(words);
  expect(wait_for(*sum), "a sum was not complete within ten seconds");
  const auto p = static_cast<std::uint64_t>(ranks);
  for (std::size_t i = 0; i < n_words; ++i) {
    if (words[i] != p * (p - 1) / 2 + p * i * i) return expect(false, "a sum is wrong");
  }
}

bool wait_for(tokavg::Reduction& sum) {
  const Clock::time_point end = Clock::now() + std::chrono::seconds(10);
  while (!sum.test()) {
    if (Clock::now() >= end) return false;
    std::this_thread::sleep_for(std::chrono::microseconds(50));
  }
  return true;
}

bool soon(const std::function<bool()>& done) {
  const Clock::time_point end = Clock::now() + std::chrono::seconds(5);
  while (!done()) {
    if (Clock::now() >= end) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
  }
  return true;
}

namespace {

constexpr const char* kKinds[] = {"memory", "pinned memory", "stream", "event", "communicator"};

void play(Rank& rank, std::barrier<>& ready, const std::function<void(Rank&)>& body) {
  static_cast<void>(cudaSetDevice(rank.rank));
  ready.arrive_and_wait();
  const std::optional<Error> error = tokavg::caught([&] { body(rank); });
  rank.expect(!error, error ? "thrown: " + error->text() : "");
  int device = -1;
  static_cast<void>(cudaGetDevice(&device));
  rank.expect(device == rank.rank, "the thread's device is " + std::to_string(device));
  if (rank.lent != nullptr && is_alive(rank.lent)) {
    rank.expect(ncclCommDestroy(rank.lent) == ncclSuccess, "ncclCommDestroy");
  }
}

std::vector<Rank> make_ranks(Way way, int n, const void* group) {
  std::vector<Rank> ranks;
  std::vector<ncclComm_t> comms(static_cast<std::size_t>(n));
  if (way != Way::kOwn) ncclCommInitAll(comms.data(), n, nullptr);
  for (int r = 0; r < n; ++r) {
    Rank rank{way, r, n, {}, comms[static_cast<std::size_t>(r)], {}};
    rank.options.comm_kind = way == Way::kOwn ? TOKAVG_COMM_THREADS : TOKAVG_COMM_NCCL;
    rank.options.transport = way == Way::kOwn ? TOKAVG_TRANSPORT_NCCL : TOKAVG_TRANSPORT_AUTO;
    rank.options.comm = way == Way::kOwn ? group : rank.lent;
    rank.options.comm_rank = r;
    rank.options.own_communicator = way == Way::kSplit;
    rank.options.timeout_ms = 10000;
    rank.options.max_words = 512;
    ranks.push_back(std::move(rank));
  }
  return ranks;
}

}  // namespace

int run(const std::string& name, Way way, int n, const std::function<void(Rank&)>& body,
        std::size_t communicators_left) {
  const std::size_t communicators_before = cuda_emulator_alive("communicator");
  const std::shared_ptr<void> group = tokavg::make_thread_group(n);
  std::vector<Rank> ranks = make_ranks(way, n, group.get());
  std::barrier ready(n);
  std::vector<std::thread> threads;
  for (Rank& rank : ranks) threads.emplace_back([&] { play(rank, ready, body); });
  for (std::thread& thread : threads) thread.join();
  int faults = 0;
  const std::string title = name + ", " + name_of(way) + ", " + std::to_string(n) + " ranks";
  for (const Rank& rank : ranks) {
    for (const std::string& fault : rank.faults) {
      std::printf("FAIL %s: rank %d: %s\n", title.c_str(), rank.rank, fault.c_str());
      ++faults;
    }
  }
  for (const char* kind : kKinds) {
    const bool communicators = std::strcmp(kind, "communicator") == 0;
    const std::size_t most = communicators ? communicators_before + communicators_left : 0;
    if (soon([kind, most] { return cuda_emulator_alive(kind) <= most; })) continue;
    std::printf("FAIL %s: %zu left of %s\n", title.c_str(), cuda_emulator_alive(kind), kind);
    ++faults;
  }
  if (faults == 0) std::printf("pass %s\n", title.c_str());
  std::fflush(stdout);
  return faults;
}

}  // namespace nccl_test
