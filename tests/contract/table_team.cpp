// SPDX-License-Identifier: Apache-2.0
// What a framework that owns its communication would write: a tokavg_transport_t over threads and a mutex.
#include <cstdio>
#include <map>
#include <mutex>
#include <thread>

#include "contract/meeting.hpp"
#include "contract/team.hpp"
#include "tokavg/transport_plugin.h"

namespace contract {
namespace {

struct Sum {
  std::vector<std::uint64_t> words;
  std::vector<bool> arrived;
  int missing = 0;
};

// What the ranks of one context share.
struct Exchange {
  std::mutex mutex;
  int ranks = 0;
  bool aborted = false;
  std::map<std::uint64_t, std::shared_ptr<Sum>> sums;
};

struct Request {
  std::shared_ptr<Sum> sum;
  std::uint64_t* words;
};

// One rank's end: the `user` of its table.
struct End {
  std::shared_ptr<Exchange> exchange;
  int rank = 0;
  std::uint64_t next = 0;
  int closed = 0;
};

tokavg_status_t start(void* user, std::uint64_t* words, std::int64_t n_words, void** request_out) {
  End& end = *static_cast<End*>(user);
  const auto n = static_cast<std::size_t>(n_words);
  const std::lock_guard lock(end.exchange->mutex);
  if (end.exchange->aborted) return TOKAVG_ERR_ABORTED;
  std::shared_ptr<Sum>& sum = end.exchange->sums[end.next++];
  if (sum == nullptr) {
    const auto ranks = static_cast<std::size_t>(end.exchange->ranks);
    sum = std::make_shared<Sum>(Sum{std::vector<std::uint64_t>(n), std::vector<bool>(ranks), end.exchange->ranks});
  }
  if (sum->words.size() != n) return TOKAVG_ERR_TRANSPORT;
  for (std::size_t i = 0; i < n; ++i) sum->words[i] += words[i];
  sum->arrived[static_cast<std::size_t>(end.rank)] = true;
  --sum->missing;
  *request_out = new Request{sum, words};
  return TOKAVG_OK;
}

tokavg_status_t test(void* user, void* request, std::int32_t* done_out) {
  End& end = *static_cast<End*>(user);
  auto* mine = static_cast<Request*>(request);
  const std::lock_guard lock(end.exchange->mutex);
  *done_out = mine->sum->missing == 0 ? 1 : 0;
  if (*done_out != 0) {
    std::copy(mine->sum->words.begin(), mine->sum->words.end(), mine->words);
    delete mine;
    return TOKAVG_OK;
  }
  if (!end.exchange->aborted) return TOKAVG_OK;
  delete mine;
  return TOKAVG_ERR_ABORTED;
}

tokavg_status_t cancel(void*, void* request) {
  delete static_cast<Request*>(request);
  return TOKAVG_OK;
}

tokavg_status_t late_ranks(void* user, void* request, std::int32_t* ranks_out, std::int32_t capacity,
                           std::int32_t* count_out) {
  End& end = *static_cast<End*>(user);
  *count_out = 0;
  if (request == nullptr) return TOKAVG_OK;
  const std::lock_guard lock(end.exchange->mutex);
  const Sum& sum = *static_cast<Request*>(request)->sum;
  for (std::size_t rank = 0; rank < sum.arrived.size(); ++rank) {
    if (sum.arrived[rank]) continue;
    if (*count_out < capacity) ranks_out[*count_out] = static_cast<std::int32_t>(rank);
    ++*count_out;
  }
  return TOKAVG_OK;
}

tokavg_status_t abort_all(void* user) {
  End& end = *static_cast<End*>(user);
  const std::lock_guard lock(end.exchange->mutex);
  end.exchange->aborted = true;
  return TOKAVG_OK;
}

tokavg_status_t describe(void*, void* request, char* text_out, std::int64_t capacity) {
  std::snprintf(text_out, static_cast<std::size_t>(capacity), "%s",
                request != nullptr ? "a sum of the test" : R"({"transport":"test","error":null})");
  return TOKAVG_OK;
}

void close(void* user, std::int32_t) { ++static_cast<End*>(user)->closed; }

class TableTeam final : public Team {
 public:
  TableTeam(int rank, int ranks, bool complete, std::shared_ptr<Exchange> exchange, Meeting& meeting,
            std::unique_ptr<Memory> memory)
      : Team(std::move(memory)), ranks_(ranks), end_{std::move(exchange), rank}, meeting_(meeting) {
    table_.struct_size = static_cast<std::uint32_t>(sizeof table_);
    table_.version = TOKAVG_TRANSPORT_VERSION;
    table_.rank = rank;
    table_.ranks = ranks;
    table_.user = &end_;
    table_.start = start;
    table_.test = test;
    if (!complete) return;
    table_.capabilities = TOKAVG_TRANSPORT_CAN_ANY_THREAD;
    table_.cancel = cancel;
    table_.late_ranks = late_ranks;
    table_.abort = abort_all;
    table_.describe = describe;
    table_.close = close;
  }
  ~TableTeam() override {
    if (table_.close != nullptr && opened_ != 0 && end_.closed != 1) {
      std::fprintf(stderr, "the table was closed %d times\n", end_.closed);
      std::abort();
    }
  }

  [[nodiscard]] int rank() const override { return end_.rank; }
  [[nodiscard]] int ranks() const override { return ranks_; }
  void sum(std::span<double> values) override { meeting_.sum(end_.rank, values); }

 private:
  void connect(tokavg_config_t& config) override {
    ++opened_;
    config.comm_kind = TOKAVG_COMM_CALLER;
    config.comm = &table_;
  }

  int ranks_;
  int opened_ = 0;
  End end_;
  tokavg_transport_t table_{};
  Meeting& meeting_;
};

}  // namespace

void run_on_table(int ranks, bool complete, const Body& body, const MakeMemory& make_memory) {
  const auto exchange = std::make_shared<Exchange>();
  exchange->ranks = ranks;
  Meeting meeting(ranks);
  std::vector<std::thread> threads;
  for (int rank = 0; rank < ranks; ++rank) {
    threads.emplace_back([&, rank] {
      TableTeam team(rank, ranks, complete, exchange, meeting, make_memory(rank));
      body(team);
    });
  }
  for (std::thread& thread : threads) thread.join();
}

}  // namespace contract
