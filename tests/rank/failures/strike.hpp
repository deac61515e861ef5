// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>

// What can be done to a process, or to a rank, whatever it is doing at the moment.
namespace failures {

enum class Fault {
  kKilled,   // SIGKILL
  kLeft,     // exit(), without a word to anybody
  kStopped,  // SIGSTOP, and SIGCONT when all others have given up
  kPaused,   // SIGSTOP, and SIGCONT before anybody does
  kLate,     // calls on when all others have given up
  kSlow,     // calls on before anybody does
  kAbsent,   // makes no call any more
};

std::optional<Fault> find_fault(const std::string& name);

// A signal or exit(), which may come at any time, and not a decision between two calls.
constexpr bool hits_process(Fault fault) { return fault <= Fault::kPaused; }

// Of those that hit the process. kKilled and kLeft do not return.
void strike_process(Fault fault, std::int64_t deadline_ms);

}  // namespace failures
