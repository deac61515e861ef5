// SPDX-License-Identifier: Apache-2.0
#include "demo/text.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <random>
#include <sstream>
#include <utility>

#include "common/failure.hpp"

namespace tokavg_tool::demo {

int64_t Microbatch::tokens() const {
  return std::count_if(labels.begin(), labels.end(), [](int32_t label) { return label != kIgnore; });
}

tokavg_labels_t Microbatch::view() const {
  tokavg_labels_t view{};
  view.struct_size = sizeof view;
  view.rows = rows;
  view.cols = cols;
  // The library only reads labels, but an array of the interface may also be an output.
  view.labels.data = const_cast<int32_t*>(labels.data());
  view.labels.dtype = TOKAVG_DTYPE_I32;
  view.labels.memory = TOKAVG_MEMORY_HOST;
  return view;
}

Text Text::read(const std::string& path) {
  if (std::filesystem::is_directory(path)) {
    throw UsageError("the text '" + path + "' is a folder; name a file with --text FILE");
  }
  errno = 0;
  std::ifstream file(path, std::ios::binary);
  std::ostringstream content;
  if (file) {
    content << file.rdbuf();
  }
  // An empty file leaves the failbit alone.
  if (!file || content.bad()) {
    throw UsageError("cannot read the text '" + path + "': " + std::strerror(errno) +
                     "; name another with --text FILE");
  }
  Text text(content.str());
  if (text.lines_.empty()) {
    throw UsageError("the text '" + path + "' has no line to learn from");
  }
  return text;
}

Text::Text(std::string bytes) : bytes_(std::move(bytes)) {
  std::size_t begin = 0;
  while (begin < bytes_.size()) {
    const std::size_t feed = std::min(bytes_.find('\n', begin), bytes_.size());
    const std::size_t end = std::min(feed + 1, bytes_.size());
    if (feed > begin) {
      lines_.push_back({static_cast<int64_t>(begin), static_cast<int64_t>(end)});
    }
    begin = end;
  }
  shuffle();
}

/// Lines in the order of the text would make steps that are all headings or all prose. Not std::shuffle: its result
/// differs between standard libraries.
void Text::shuffle() {
  std::mt19937_64 bits(1);
  for (std::size_t left = lines_.size(); left > 1; --left) {
    std::swap(lines_[left - 1], lines_[bits() % left]);
  }
}

Microbatch Text::lines(int64_t begin, int64_t end) const {
  Microbatch batch;
  batch.rows = end - begin;
  const auto line = [&](int64_t row) { return lines_[static_cast<std::size_t>((begin + row) % line_count())]; };
  for (int64_t row = 0; row < batch.rows; ++row) {
    batch.cols = std::max(batch.cols, line(row).end - line(row).begin);
    batch.begins.push_back(line(row).begin);
  }
  batch.labels.assign(static_cast<std::size_t>(batch.rows * batch.cols), kIgnore);
  for (int64_t row = 0; row < batch.rows; ++row) {
    const auto first = bytes_.begin() + line(row).begin;
    const auto last = bytes_.begin() + line(row).end;
    std::transform(first, last, batch.labels.begin() + row * batch.cols,
                   [](char byte) { return static_cast<int32_t>(static_cast<uint8_t>(byte)); });
  }
  return batch;
}

std::array<uint8_t, kContext> Text::context(int64_t position) const {
  std::array<uint8_t, kContext> bytes{};
  for (int64_t i = std::max<int64_t>(0, kContext - position); i < kContext; ++i) {
    const auto from = static_cast<std::size_t>(position - kContext + i);
    bytes[static_cast<std::size_t>(i)] = static_cast<uint8_t>(bytes_[from]);
  }
  return bytes;
}

Microbatch Batches::whole(int64_t step) const { return text.lines(step * lines_per_step, (step + 1) * lines_per_step); }

Microbatch Batches::part(int64_t step, int ranks, int rank, int64_t index) const {
  const int64_t parts = ranks * window;
  const int64_t own = rank * window + index;
  const int64_t first = step * lines_per_step;
  return text.lines(first + own * lines_per_step / parts, first + (own + 1) * lines_per_step / parts);
}

}  // namespace tokavg_tool::demo
