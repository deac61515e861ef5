// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "contract/memory.hpp"
#include "tokavg/tokavg.h"

// Ranks that can come together: the same test runs on threads, on a caller's table and under MPI.
namespace contract {

class Team {
 public:
  explicit Team(std::unique_ptr<Memory> memory = host_memory(0)) : memory_(std::move(memory)) {}
  Team(const Team&) = delete;
  Team& operator=(const Team&) = delete;
  virtual ~Team() = default;

  [[nodiscard]] virtual int rank() const = 0;
  [[nodiscard]] virtual int ranks() const = 0;
  // Sets the fields that say how the ranks reach one another, and where the data lives.
  void configure(tokavg_config_t& config) {
    memory_->configure(config);
    connect(config);
  }
  [[nodiscard]] Memory& memory() { return *memory_; }
  // The trainer's own all-reduce: adds the values of all ranks, in place, in the order of ranks.
  virtual void sum(std::span<double> values) = 0;

 private:
  virtual void connect(tokavg_config_t& config) = 0;
  std::unique_ptr<Memory> memory_;
};

// Runs body on every rank, each a thread; returns when all are done.
using Body = std::function<void(Team&)>;
void run_on_threads(int ranks, const Body& body, const MakeMemory& make_memory = host_memory);
// One after the other, each with contexts of its own.
void run_on_self(int ranks, const Body& body, const MakeMemory& make_memory = host_memory);
// The same, but the library gets a table of ours; `complete` says whether the table has its optional entries.
void run_on_table(int ranks, bool complete, const Body& body, const MakeMemory& make_memory = host_memory);

// tokavg_last_error as a string; nullptr: of this thread.
std::string last_error(tokavg_context_t* context);
std::string status_text(tokavg_status_t status, tokavg_context_t* context);

}  // namespace contract
