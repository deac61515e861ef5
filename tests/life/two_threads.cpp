// SPDX-License-Identifier: Apache-2.0
// Two contexts on overlapping communicators, each used from a thread of its own, while the main thread sends messages
// and sums of the application's on the parent communicator. None may meet another's messages.
#include <atomic>
#include <cstdio>
#include <thread>
#include <vector>

#include "contract/mpi_team.hpp"

namespace {

constexpr int kSteps = 2000;

std::atomic<int> wrong{0};

void expect(bool fine, const char* what) {
  if (!fine && wrong++ == 0) std::fprintf(stderr, "two_threads: %s\n", what);
}

// Step i: each rank of `comm` counts `mine` + i tokens.
void steps_on(MPI_Comm comm, std::int64_t mine, std::int64_t all, int ranks) {
  tokavg_config_t config;
  tokavg_config_init(&config, static_cast<std::uint32_t>(sizeof config));
  config.comm_kind = TOKAVG_COMM_MPI;
  config.comm = &comm;
  config.gradient_reduction = TOKAVG_GRADIENT_SUM;
  tokavg_context_t* context = nullptr;
  if (tokavg_init(&config, &context) != TOKAVG_OK) return expect(false, contract::last_error(nullptr).c_str());
  for (int i = 0; i < kSteps && wrong == 0; ++i) {
    tokavg_ticket_t ticket = 0;
    tokavg_result_t result{};
    result.struct_size = static_cast<std::uint32_t>(sizeof result);
    expect(tokavg_count_add(context, 0, mine + i, 0, 1) == TOKAVG_OK, "tokavg_count_add");
    expect(tokavg_reduce(context, nullptr, nullptr, &ticket) == TOKAVG_OK, "tokavg_reduce");
    expect(tokavg_wait(context, ticket, TOKAVG_WAIT_COUNT, -1, &result) == TOKAVG_OK, "tokavg_wait");
    expect(result.tokens[0] == all + static_cast<std::int64_t>(i) * ranks, "tokens");
  }
  expect(tokavg_finalize(context) == TOKAVG_OK, "tokavg_finalize");
  tokavg_free(context);
}

// Messages with every tag that the library uses too, and sums, on the parent.
void traffic(int rank, int ranks, const std::atomic<bool>& ends) {
  const int next = (rank + 1) % ranks;
  const int before = (rank + ranks - 1) % ranks;
  int stop = 0;
  for (int i = 0; stop < ranks; ++i) {
    int got = -1;
    const int tag = i % 100;
    MPI_Sendrecv(&i, 1, MPI_INT, next, tag, &got, 1, MPI_INT, before, tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    expect(got == i, "a message of the application");
    const int mine = ends ? 1 : 0;
    MPI_Allreduce(&mine, &stop, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  }
}

}  // namespace

int main(int argc, char** argv) {
  int level = MPI_THREAD_SINGLE;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &level);
  if (level < MPI_THREAD_MULTIPLE) return 77;
  int rank = 0;
  int ranks = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  MPI_Comm half = MPI_COMM_NULL;
  MPI_Comm_split(MPI_COMM_WORLD, rank % 2, rank, &half);
  int half_ranks = 0;
  MPI_Comm_size(half, &half_ranks);
  std::int64_t in_half = 0;
  const std::int64_t mine = 10 * rank + 1;
  MPI_Allreduce(&mine, &in_half, 1, MPI_INT64_T, MPI_SUM, half);
  const std::int64_t in_world = std::int64_t{5} * ranks * (ranks - 1) + ranks;

  std::atomic<int> running{2};
  std::atomic<bool> ends{false};
  const auto run = [&](MPI_Comm comm, std::int64_t all, int n) {
    steps_on(comm, mine, all, n);
    if (--running == 0) ends = true;
  };
  std::thread on_world(run, MPI_COMM_WORLD, in_world, ranks);
  std::thread on_half(run, half, in_half, half_ranks);
  traffic(rank, ranks, ends);
  on_world.join();
  on_half.join();
  if (wrong != 0) MPI_Abort(MPI_COMM_WORLD, 1);
  MPI_Comm_free(&half);
  MPI_Finalize();
  return 0;
}
