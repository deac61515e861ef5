// SPDX-License-Identifier: Apache-2.0
// soak STEPS threads RANKS, or under mpiexec: soak STEPS mpi
// Contexts that live through random steps, one after the other, until there were STEPS in all; memory, threads and open
// files of the process must not have grown meanwhile.
#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <string>

#include "life/process.hpp"
#include "soak/player.hpp"
#ifdef TOKAVG_SOAK_MPI
#include "contract/mpi_team.hpp"
#endif

namespace {

constexpr int kMostSteps = 2000;  // of a life; each tenth may have a fifth of all
constexpr std::uint64_t kLongLife = 10;
constexpr long kMostKib = 4096;  // that allocators may keep more after the first tenth of the steps

class Soak {
 public:
  explicit Soak(std::int64_t steps) : steps_(steps) {}

  // All ranks draw the same lives, so they end together.
  void run(contract::Team& team) {
    const bool watches = team.rank() == 0;
    std::int64_t done = 0;
    life::Usage before;
    try {
      for (std::uint64_t seed = 1; done < steps_; ++seed) {
        const std::int64_t most = seed % kLongLife == 0 ? steps_ / 5 : kMostSteps;
        const auto steps = static_cast<int>(std::min<std::int64_t>(most, steps_ - done));
        soak::Player player(team, soak::draw_life(seed, team.ranks(), steps));
        done += player.run();
        if (!watches) continue;
        lives_ = static_cast<std::int64_t>(seed);
        if (before.threads == 0 && done >= steps_ / 10) before = life::usage();
        if (before.threads != 0 && seed % kLongLife == 0) look_for_growth(before);  // while the context is there
        if (seed % 50 == 0) std::fprintf(stderr, "soak: %lld of %lld steps\n", show(done), show(steps_));
      }
    } catch (const std::exception& error) {
      std::fprintf(stderr, "soak: %s\n", error.what());
      failed_ = true;
      return;
    }
    if (!watches) return;
    done_ = done;
    look_for_growth(before);
  }

  int end(const char* where, int ranks) const {
    std::printf("soak on %s, %d ranks: %lld steps in %lld contexts: %s\n", where, ranks, show(done_), show(lives_),
                failed_ ? "FAILED" : "as the contract says, nothing has grown");
    return failed_ ? 1 : 0;
  }
  [[nodiscard]] bool failed() const { return failed_; }

 private:
  void look_for_growth(const life::Usage& before) {
    const std::string growth = life::growth_since(before, kMostKib);
    if (growth.empty()) return;
    std::fprintf(stderr, "soak: grown: %s\n", growth.c_str());
    failed_ = true;
  }
  static long long show(std::int64_t value) { return static_cast<long long>(value); }

  const std::int64_t steps_;
  std::int64_t done_ = 0;
  std::int64_t lives_ = 0;
  std::atomic<bool> failed_{false};
};

int usage(const char* program) {
  std::fprintf(stderr, "usage: %s STEPS threads RANKS | STEPS mpi\n", program);
  return 2;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 3) return usage(argv[0]);
  Soak soak(std::atoll(argv[1]));
#ifdef TOKAVG_SOAK_MPI
  if (std::string(argv[2]) != "mpi") return usage(argv[0]);
  int level = MPI_THREAD_SINGLE;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &level);
  int status = 0;
  {
    contract::MpiTeam team(MPI_COMM_WORLD);
    soak.run(team);
    if (soak.failed()) MPI_Abort(MPI_COMM_WORLD, 1);
    if (team.rank() == 0) status = soak.end("MPI", team.ranks());
  }
  MPI_Finalize();
  return status;
#else
  if (argc != 4 || std::string(argv[2]) != "threads") return usage(argv[0]);
  const int ranks = std::atoi(argv[3]);
  contract::run_on_threads(ranks, [&](contract::Team& team) { soak.run(team); });
  return soak.end("threads", ranks);
#endif
}
