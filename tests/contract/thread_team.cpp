// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <thread>

#include "contract/meeting.hpp"
#include "contract/team.hpp"

namespace contract {
namespace {

class ThreadTeam final : public Team {
 public:
  ThreadTeam(int rank, int ranks, tokavg_threads_t* group, Meeting& meeting, std::unique_ptr<Memory> memory)
      : Team(std::move(memory)), rank_(rank), ranks_(ranks), group_(group), meeting_(meeting) {}

  [[nodiscard]] int rank() const override { return rank_; }
  [[nodiscard]] int ranks() const override { return ranks_; }
  void sum(std::span<double> values) override { meeting_.sum(rank_, values); }

 private:
  void connect(tokavg_config_t& config) override {
    config.comm_kind = TOKAVG_COMM_THREADS;
    config.comm = group_;
    config.comm_rank = rank_;
  }

  int rank_;
  int ranks_;
  tokavg_threads_t* group_;
  Meeting& meeting_;
};

}  // namespace

void run_on_threads(int ranks, const Body& body, const MakeMemory& make_memory) {
  tokavg_threads_t* group = nullptr;
  if (tokavg_threads_create(ranks, &group) != TOKAVG_OK) {
    std::fprintf(stderr, "tokavg_threads_create: %s\n", last_error(nullptr).c_str());
    std::exit(2);
  }
  Meeting meeting(ranks);
  std::vector<std::thread> threads;
  for (int rank = 0; rank < ranks; ++rank) {
    threads.emplace_back([&, rank] {
      ThreadTeam team(rank, ranks, group, meeting, make_memory(rank));
      body(team);
    });
  }
  for (std::thread& thread : threads) thread.join();
  tokavg_threads_free(group);
}

std::string last_error(tokavg_context_t* context) {
  std::vector<char> text(4096);
  tokavg_last_error(context, text.data(), static_cast<std::int64_t>(text.size()), nullptr);
  return text.data();
}

std::string status_text(tokavg_status_t status, tokavg_context_t* context) {
  return std::string(tokavg_status_name(status)) + " (" + last_error(context) + ")";
}

}  // namespace contract
