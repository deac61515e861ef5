// SPDX-License-Identifier: Apache-2.0
#include "demo/team.hpp"

#include <vector>

namespace tokavg_tool::demo {
namespace {

class MpiTeam : public Team {
 public:
  explicit MpiTeam(const Mpi& mpi) : mpi_(mpi) {}

  [[nodiscard]] int rank() const override { return mpi_.rank(); }
  [[nodiscard]] int ranks() const override { return mpi_.ranks(); }

  /// A gather and a sum of our own: the order of MPI_Allreduce is the MPI's business.
  void sum(std::span<double> values) override {
    gathered_.resize(values.size() * static_cast<std::size_t>(ranks()));
    mpi_.gather(values, gathered_);
    for (std::size_t i = 0; i < values.size(); ++i) {
      double sum = 0.0;
      for (std::size_t at = i; at < gathered_.size(); at += values.size()) {
        sum += gathered_[at];
      }
      values[i] = sum;
    }
  }

  void fill(tokavg_config_t& config) const override {
    config.comm_kind = TOKAVG_COMM_MPI;
    config.comm = mpi_.communicator();
  }

 private:
  const Mpi& mpi_;
  std::vector<double> gathered_;
};

class Alone : public Team {
 public:
  [[nodiscard]] int rank() const override { return 0; }
  [[nodiscard]] int ranks() const override { return 1; }
  void sum(std::span<double>) override {}
  void fill(tokavg_config_t& config) const override { config.comm_kind = TOKAVG_COMM_SELF; }
};

}  // namespace

void run_on_mpi(const Mpi& mpi, const RankBody& body) {
  MpiTeam team(mpi);
  body(team);
}

void run_alone(const RankBody& body) {
  Alone team;
  body(team);
}

}  // namespace tokavg_tool::demo
