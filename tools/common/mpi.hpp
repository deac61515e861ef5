// SPDX-License-Identifier: Apache-2.0
// MPI, loaded at run time (see mpi/tool_mpi.h).
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>

#include "mpi/tool_mpi.h"

namespace tokavg_tool {

/// MPI from MPI_Init_thread to MPI_Finalize.
class Mpi {
 public:
  /// Loads the module of a flavour and starts MPI.
  explicit Mpi(const std::string& flavour);
  ~Mpi();
  Mpi(const Mpi&) = delete;
  Mpi& operator=(const Mpi&) = delete;

  [[nodiscard]] const std::string& flavour() const { return flavour_; }
  [[nodiscard]] int rank() const { return table_->rank(); }
  [[nodiscard]] int ranks() const { return table_->ranks(); }
  [[nodiscard]] const void* communicator() const { return table_->communicator(); }
  [[noreturn]] void abort(int code) const;

  void barrier() const;
  void sleeping_barrier() const;
  void sum(std::span<double> values) const;
  void max(std::span<double> values) const;
  void sum_counts(std::span<int64_t> values) const;
  /// @param all receives mine.size() * ranks() values, in rank order
  void gather(std::span<const double> mine, std::span<double> all) const;
  void start_sum_counts(std::span<const int64_t> mine, std::span<int64_t> sums) const;
  void wait() const;

 private:
  void check(int code, const char* call) const;

  std::string flavour_;
  const tokavg_tool_mpi_t* table_ = nullptr;
};

/// Runs `body` under MPI and returns its exit code. A failure of one rank ends the whole job: MPI_Finalize would wait
/// for ranks that wait for that one.
int run_mpi(const std::string& flavour, const std::function<int(const Mpi&)>& body);

}  // namespace tokavg_tool
