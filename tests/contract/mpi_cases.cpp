// SPDX-License-Identifier: Apache-2.0
#include "contract/mpi_cases.hpp"

#include "contract/cases.hpp"
#include "contract/compare.hpp"
#include "contract/mpi_team.hpp"
#include "contract/report.hpp"

namespace contract {
namespace {

// All ranks' lines on rank 0.
std::vector<std::string> gather(const std::vector<std::string>& lines, int rank, int ranks) {
  std::string mine;
  for (const std::string& line : lines) mine += line + "\n";
  if (rank != 0) {
    MPI_Send(mine.data(), static_cast<int>(mine.size()), MPI_CHAR, 0, 7, MPI_COMM_WORLD);
    return {};
  }
  std::vector<std::string> all = lines;
  for (int from = 1; from < ranks; ++from) {
    MPI_Status status;
    int size = 0;
    MPI_Probe(from, 7, MPI_COMM_WORLD, &status);
    MPI_Get_count(&status, MPI_CHAR, &size);
    std::string text(static_cast<std::size_t>(size), ' ');
    MPI_Recv(text.data(), size, MPI_CHAR, from, 7, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    for (std::size_t end = text.find('\n'); end != std::string::npos; end = text.find('\n')) {
      all.push_back(text.substr(0, end));
      text.erase(0, end + 1);
    }
  }
  return all;
}

std::vector<std::string> run_mine(const Case& the_case, Mode mode, int rank, std::int32_t transport,
                                  const MakeMemory& make_memory) {
  const bool takes_part = rank < the_case.ranks();
  MPI_Comm comm = MPI_COMM_NULL;
  MPI_Comm_split(MPI_COMM_WORLD, takes_part ? 0 : MPI_UNDEFINED, rank, &comm);
  if (!takes_part) return {};
  std::vector<std::string> lines;
  {
    MpiTeam team(comm, make_memory(rank), transport);
    lines = compare(the_case, mode, rank, run_rank(the_case, mode, team));
  }
  MPI_Comm_free(&comm);  // the library works on its own duplicate
  return lines;
}

}  // namespace

int run_mpi_cases(const char* name, const char* file, std::int32_t transport, const MakeMemory& make_memory) {
  int rank = 0;
  int ranks = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  Report report(name);
  for (const Case& the_case : read_cases(file)) {
    if (the_case.ranks() > ranks) {
      if (rank == 0) report.not_run(the_case.id, std::to_string(the_case.ranks()) + " ranks: left to threads");
      continue;
    }
    for (const Mode mode : {Mode::kBefore, Mode::kAfter}) {
      const std::vector<std::string> lines =
          gather(run_mine(the_case, mode, rank, transport, make_memory), rank, ranks);
      if (rank != 0) continue;
      if (lines.empty()) {
        report.passed(the_case.id, mode);
      } else {
        report.failed(the_case.id, mode, lines);
      }
    }
  }
  int result = rank == 0 ? report.end() : 0;
  MPI_Bcast(&result, 1, MPI_INT, 0, MPI_COMM_WORLD);
  return result;
}

}  // namespace contract
