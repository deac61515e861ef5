// SPDX-License-Identifier: Apache-2.0
#include "failures/mpi_scenarios.hpp"

#include <list>

#include "contract/mpi_team.hpp"
#include "failures/memory.hpp"

namespace failures {
namespace {

struct Part {
  MPI_Comm comm = MPI_COMM_NULL;
  tokavg_context_t* context = nullptr;
  int ranks = 0;
  std::int64_t expected = 0;  // tokens, when each rank counts its place in the world + 1
};

Part open_part(Play& play, const char* tag, int color) {
  Part part;
  MPI_Comm_split(MPI_COMM_WORLD, color, play.rank(), &part.comm);
  MPI_Comm_size(part.comm, &part.ranks);
  std::int64_t mine = play.rank() + 1;
  MPI_Allreduce(&mine, &part.expected, 1, MPI_INT64_T, MPI_SUM, part.comm);
  tokavg_config_t config = play.config();
  config.comm = &part.comm;
  part.context = play.init(tag, config);
  return part;
}

// Rows, columns and the whole: every rank is in three groups, whose messages are in flight at once.
void overlapping_groups(Play& play) {
  Part parts[3] = {open_part(play, "init.row", play.rank() / 2), open_part(play, "init.column", play.rank() % 2),
                   open_part(play, "init.world", 0)};
  std::int64_t wrong = 0;
  for (int round = 0; round < 100; ++round) {
    tokavg_ticket_t tickets[3] = {0, 0, 0};
    for (int i = 0; i < 3; ++i) {
      const int which = (i + play.rank() + round) % 3;
      tokavg_count_add(parts[which].context, 0, play.rank() + 1, 0.0, 1);
      tokavg_reduce(parts[which].context, nullptr, nullptr, &tickets[which]);
    }
    for (int i = 0; i < 3; ++i) {
      tokavg_result_t result{};
      result.struct_size = static_cast<std::uint32_t>(sizeof result);
      const tokavg_status_t status = tokavg_wait(parts[i].context, tickets[i], TOKAVG_WAIT_COUNT, -1, &result);
      if (status != TOKAVG_OK || result.tokens[0] != parts[i].expected) ++wrong;
    }
  }
  play.call("rounds", parts[0].context, [] { return static_cast<tokavg_status_t>(TOKAVG_OK); });
  play.also("wrong", wrong);
  for (Part& part : parts) {
    play.call("finalize", part.context, [&] { return tokavg_finalize(part.context); });
    play.free("free", part.context);
    MPI_Comm_free(&part.comm);
  }
}

// The application ends MPI with contexts still open, one of them with a sum in flight that the victim never joins.
void free_after_finalize(Play& play) {
  tokavg_context_t* idle = play.init("init.idle");
  tokavg_context_t* busy = play.init("init.busy");
  play.good_step("good", idle, 1);
  play.good_step("good", busy, 1);
  tokavg_ticket_t ticket = 0;
  if (!play.is_victim()) ticket = play.reduce("reduce", busy, 2);
  play.call("MPI_Finalize", nullptr, [] { return static_cast<tokavg_status_t>(MPI_Finalize()); });
  const tokavg_ticket_t late = play.reduce("closed.reduce", idle, 2);
  if (late != 0) play.wait("closed.wait", idle, late);
  if (ticket != 0) play.wait("closed.busy", busy, ticket);
  play.call("closed.finalize", busy, [&] { return tokavg_finalize(busy); });
  play.init("closed.init");
  play.free("free", idle);
  play.free("free", busy);
  play.free("twice", idle);
  play.free("null", nullptr);
}

// A communicator for each context: who fails before the others hear of it leaves them alone with what they began on it.
void memory_init(Play& play) {
  std::list<MPI_Comm> comms;
  sweep_call(play, "init", [&] {
    MPI_Comm_dup(MPI_COMM_WORLD, &comms.emplace_back());
    tokavg_config_t config = play.config();
    config.comm = &comms.back();
    return config;
  });
}

}  // namespace

Scenario find_mpi_scenario(const std::string& name) {
  if (name == "overlapping_groups") return overlapping_groups;
  if (name == "free_after_finalize") return free_after_finalize;
  if (name == "memory_init") return memory_init;
  return nullptr;
}

}  // namespace failures
