// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <condition_variable>
#include <mutex>
#include <span>
#include <vector>

namespace contract {

// Threads that add up vectors of doubles. Every thread adds in the order of ranks, so all get the same bits.
class Meeting {
 public:
  explicit Meeting(int ranks) : parts_(static_cast<std::size_t>(ranks)) {}

  void sum(int rank, std::span<double> values) {
    parts_[static_cast<std::size_t>(rank)] = values;
    wait();
    std::vector<double> total(values.size(), 0.0);
    for (const std::span<double> part : parts_) {
      for (std::size_t i = 0; i < total.size(); ++i) total[i] += part[i];
    }
    wait();
    std::copy(total.begin(), total.end(), values.begin());
  }

 private:
  void wait() {
    std::unique_lock lock(mutex_);
    const unsigned round = round_;
    if (++here_ == parts_.size()) {
      here_ = 0;
      ++round_;
      all_here_.notify_all();
      return;
    }
    all_here_.wait(lock, [&] { return round_ != round; });
  }

  std::mutex mutex_;
  std::condition_variable all_here_;
  std::size_t here_ = 0;
  unsigned round_ = 0;
  std::vector<std::span<double>> parts_;
};

}  // namespace contract
