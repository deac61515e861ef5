// SPDX-License-Identifier: Apache-2.0
#include "common/progress.hpp"

#include <unistd.h>

#include <cstdio>
#include <utility>

namespace tokavg_tool {

using Clock = std::chrono::steady_clock;

Progress::Progress(bool shown) : shown_(shown), terminal_(isatty(STDERR_FILENO) == 1) {}

double Progress::elapsed() const { return std::chrono::duration<double>(Clock::now() - begun_).count(); }

void Progress::begin(std::string part, int steps) {
  part_ = std::move(part);
  steps_ = steps;
  begun_ = Clock::now();
  drawn_ = {};
  step(0);
}

void Progress::step(int done) {
  const Clock::time_point now = Clock::now();
  if (!shown_ || !terminal_ || now - drawn_ < std::chrono::milliseconds(100)) {
    return;
  }
  drawn_ = now;
  std::fprintf(stderr, "\r%-14s step %d of %d\033[K", part_.c_str(), done, steps_);
  std::fflush(stderr);
}

void Progress::end() {
  if (!shown_) {
    return;
  }
  std::fprintf(stderr, "%s%-14s %d steps in %.1f s%s\n", terminal_ ? "\r" : "", part_.c_str(), steps_, elapsed(),
               terminal_ ? "\033[K" : "");
}

}  // namespace tokavg_tool
