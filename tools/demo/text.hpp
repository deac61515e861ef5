// SPDX-License-Identifier: Apache-2.0
// The training data: a text, its lines, and the microbatches that each rank gets in each step.
#pragma once

#include <tokavg/tokavg.h>

#include <array>
#include <cstdint>
#include <string>
#include <vector>

namespace tokavg_tool::demo {

inline constexpr int kContext = 8;  ///< bytes that the model sees before the one it predicts
inline constexpr int kVocab = 256;
inline constexpr int32_t kIgnore = -100;

/// Lines of the text as rows, padded with kIgnore to the longest of them.
struct Microbatch {
  int64_t rows = 0;
  int64_t cols = 0;
  std::vector<int32_t> labels;  ///< rows x cols
  std::vector<int64_t> begins;  ///< where each row begins in the text

  [[nodiscard]] int64_t tokens() const;
  /// The labels as the library wants them; valid as long as this microbatch.
  [[nodiscard]] tokavg_labels_t view() const;
};

class Text {
 public:
  /// Reads a file. Empty lines are no samples; a line feed is the last label of its line.
  static Text read(const std::string& path);
  explicit Text(std::string bytes);

  /// The lines [begin, end) in a fixed random order, from its start again when it ends.
  [[nodiscard]] Microbatch lines(int64_t begin, int64_t end) const;
  /// The kContext bytes before a position; 0 before the text begins.
  [[nodiscard]] std::array<uint8_t, kContext> context(int64_t position) const;
  [[nodiscard]] int64_t line_count() const { return static_cast<int64_t>(lines_.size()); }

 private:
  struct Line {
    int64_t begin;
    int64_t end;
  };
  void shuffle();
  std::string bytes_;
  std::vector<Line> lines_;
};

/// Deals the same lines of a step to any number of ranks and microbatches.
struct Batches {
  const Text& text;
  int64_t lines_per_step;
  int64_t window;  ///< microbatches of a rank in a step

  [[nodiscard]] Microbatch whole(int64_t step) const;
  /// Microbatch `index` of rank `rank` of `ranks`.
  [[nodiscard]] Microbatch part(int64_t step, int ranks, int rank, int64_t index) const;
};

}  // namespace tokavg_tool::demo
