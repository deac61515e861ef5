// SPDX-License-Identifier: Apache-2.0
#pragma once

// The C++ bindings that MPI dropped would have to be linked.
#ifndef OMPI_SKIP_MPICXX
#define OMPI_SKIP_MPICXX 1
#endif
#ifndef MPICH_SKIP_MPICXX
#define MPICH_SKIP_MPICXX 1
#endif
#include <mpi.h>

#include "contract/team.hpp"

namespace contract {

class MpiTeam final : public Team {
 public:
  explicit MpiTeam(MPI_Comm comm, std::unique_ptr<Memory> memory = host_memory(0),
                   std::int32_t transport = TOKAVG_TRANSPORT_AUTO)
      : Team(std::move(memory)), comm_(comm), transport_(transport) {
    MPI_Comm_rank(comm_, &rank_);
    MPI_Comm_size(comm_, &ranks_);
  }

  [[nodiscard]] int rank() const override { return rank_; }
  [[nodiscard]] int ranks() const override { return ranks_; }
  void sum(std::span<double> values) override {
    MPI_Allreduce(MPI_IN_PLACE, values.data(), static_cast<int>(values.size()), MPI_DOUBLE, MPI_SUM, comm_);
  }

 private:
  void connect(tokavg_config_t& config) override {
    config.comm_kind = TOKAVG_COMM_MPI;
    config.comm = &comm_;
    config.transport = transport_;
  }

  MPI_Comm comm_;
  std::int32_t transport_;
  int rank_ = 0;
  int ranks_ = 0;
};

}  // namespace contract
