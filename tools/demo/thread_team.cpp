// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <condition_variable>
#include <exception>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "common/context.hpp"
#include "common/failure.hpp"
#include "demo/team.hpp"

namespace tokavg_tool::demo {
namespace {

/// Another rank has failed; its own exception tells why.
struct Stopped {};

/// A barrier that a failed rank can break, so that nobody waits for it.
class Barrier {
 public:
  explicit Barrier(int ranks) : ranks_(ranks) {}

  void arrive_and_wait() {
    std::unique_lock lock(mutex_);
    const long round = round_;
    if (++arrived_ == ranks_) {
      arrived_ = 0;
      ++round_;
      changed_.notify_all();
    }
    changed_.wait(lock, [&] { return stopped_ || round_ != round; });
    if (stopped_) {
      throw Stopped{};
    }
  }

  void stop() {
    const std::scoped_lock lock(mutex_);
    stopped_ = true;
    changed_.notify_all();
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  int ranks_;
  int arrived_ = 0;
  long round_ = 0;
  bool stopped_ = false;
};

struct FreeGroup {
  void operator()(tokavg_threads_t* group) const { tokavg_threads_free(group); }
};
using Group = std::unique_ptr<tokavg_threads_t, FreeGroup>;

Group make_group(int ranks) {
  tokavg_threads_t* group = nullptr;
  check(tokavg_threads_create(ranks, &group), nullptr, "tokavg_threads_create");
  return Group(group);
}

/// What the threads share.
struct Shared {
  explicit Shared(int n_ranks)
      : ranks(n_ranks), group(make_group(n_ranks)), barrier(n_ranks), values(static_cast<std::size_t>(n_ranks)) {}

  int ranks;
  Group group;
  Barrier barrier;
  std::vector<std::span<double>> values;
  std::vector<double> total;
  std::mutex failure_mutex;
  std::exception_ptr failure;
};

class ThreadTeam : public Team {
 public:
  ThreadTeam(Shared& shared, int rank) : shared_(shared), rank_(rank) {}

  [[nodiscard]] int rank() const override { return rank_; }
  [[nodiscard]] int ranks() const override { return shared_.ranks; }

  void sum(std::span<double> values) override {
    shared_.values[static_cast<std::size_t>(rank_)] = values;
    shared_.barrier.arrive_and_wait();
    if (rank_ == 0) {
      shared_.total.resize(values.size());
    }
    shared_.barrier.arrive_and_wait();
    add_own_slice(values.size());
    shared_.barrier.arrive_and_wait();
    std::copy(shared_.total.begin(), shared_.total.end(), values.begin());
  }

  void fill(tokavg_config_t& config) const override {
    config.comm_kind = TOKAVG_COMM_THREADS;
    config.comm = shared_.group.get();
    config.comm_rank = rank_;
  }

 private:
  /// Each rank adds a slice of the values of all ranks.
  void add_own_slice(std::size_t n) {
    const auto ranks = static_cast<std::size_t>(shared_.ranks);
    const auto own = static_cast<std::size_t>(rank_);
    for (std::size_t i = n * own / ranks; i < n * (own + 1) / ranks; ++i) {
      double sum = 0.0;
      for (const std::span<double>& values : shared_.values) {
        sum += values[i];
      }
      shared_.total[i] = sum;
    }
  }

  Shared& shared_;
  int rank_;
};

void run_rank(Shared& shared, int rank, const RankBody& body) {
  try {
    ThreadTeam team(shared, rank);
    body(team);
  } catch (const Stopped&) {
    return;
  } catch (...) {
    // The first failure is the cause; the others' (PEER, ABORTED) are its consequences.
    const std::scoped_lock lock(shared.failure_mutex);
    if (!shared.failure) {
      shared.failure = std::current_exception();
    }
    shared.barrier.stop();
  }
}

}  // namespace

void run_on_threads(int ranks, const RankBody& body) {
  Shared shared(ranks);
  {
    std::vector<std::jthread> threads;
    threads.reserve(static_cast<std::size_t>(ranks));
    for (int rank = 0; rank < ranks; ++rank) {
      threads.emplace_back([&shared, rank, &body] { run_rank(shared, rank, body); });
    }
  }
  if (shared.failure) {
    std::rethrow_exception(shared.failure);
  }
}

}  // namespace tokavg_tool::demo
