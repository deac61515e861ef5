// SPDX-License-Identifier: Apache-2.0
// How far a run has come, on stderr.
#pragma once

#include <chrono>
#include <string>

namespace tokavg_tool {

/// One line that is rewritten on a terminal; elsewhere (a log, the pipe of mpiexec) one line at the end of each part.
class Progress {
 public:
  /// @param shown false: says nothing (another rank does, or the user wants none)
  explicit Progress(bool shown);

  void begin(std::string part, int steps);
  void step(int done);
  void end();

 private:
  [[nodiscard]] double elapsed() const;

  bool shown_;
  bool terminal_;
  std::string part_;
  int steps_ = 0;
  std::chrono::steady_clock::time_point begun_;
  std::chrono::steady_clock::time_point drawn_;
};

}  // namespace tokavg_tool
