// SPDX-License-Identifier: Apache-2.0
#include "failures/strike.hpp"

#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <ctime>

namespace failures {
namespace {

// Somebody else has to let it go on: a child that does nothing but sleep and send one signal.
void stop_for(std::int64_t ms) {
  const pid_t self = getpid();
  if (fork() == 0) {
    const timespec duration = {ms / 1000, (ms % 1000) * 1000000};
    nanosleep(&duration, nullptr);
    kill(self, SIGCONT);
    _exit(0);
  }
  raise(SIGSTOP);
}

}  // namespace

std::optional<Fault> find_fault(const std::string& name) {
  struct Known {
    const char* name;
    Fault fault;
  };
  constexpr Known kKnown[] = {{"killed", Fault::kKilled}, {"left", Fault::kLeft}, {"stopped", Fault::kStopped},
                              {"paused", Fault::kPaused}, {"late", Fault::kLate}, {"slow", Fault::kSlow},
                              {"absent", Fault::kAbsent}};
  for (const Known& known : kKnown) {
    if (name == known.name) return known.fault;
  }
  return std::nullopt;
}

void strike_process(Fault fault, std::int64_t deadline_ms) {
  switch (fault) {
    case Fault::kKilled: raise(SIGKILL); break;
    case Fault::kLeft: std::exit(0);
    case Fault::kStopped: return stop_for(2 * deadline_ms + 300);
    default: return stop_for(deadline_ms / 3);
  }
}

}  // namespace failures
