// SPDX-License-Identifier: Apache-2.0
#include "gpu/contest.hpp"

#include <algorithm>
#include <chrono>
#include <random>

#include "gpu/yardsticks.hpp"

namespace tokavg_bench {
namespace {

constexpr int kWarmUps = 2;
constexpr std::uint64_t kAheadNs = 50000;  // longer than the host needs to enqueue a call

}  // namespace

// .../gradient/bf16/32000 and .../gradient_again/bf16/32000
void Contest::add_twice(Entry entry) {
  Entry again = entry;
  const std::size_t what = entry.name.find('/') + 1;
  again.name.insert(entry.name.find('/', what), "_again");
  add(std::move(entry));
  add(std::move(again));
}

void Contest::run(int rounds) {
  std::mt19937 random(1);
  std::vector<std::size_t> order(entries_.size());
  for (std::size_t i = 0; i < order.size(); ++i) {
    order[i] = i;
  }
  for (int round = -kWarmUps; round < rounds; ++round) {
    std::shuffle(order.begin(), order.end(), random);
    for (const std::size_t i : order) {
      time_one(entries_[i], round >= 0);
    }
  }
  entries_.clear();
}

void Contest::time_one(const Entry& entry, bool keep) {
  using Clock = std::chrono::steady_clock;
  if (entry.prepare) {
    entry.prepare();
  }
  stream_.wait();
  launch_delay(kAheadNs, stream_.get());
  begin_.record(stream_);
  const Clock::time_point start = Clock::now();
  entry.run();
  const double host_us = std::chrono::duration<double, std::micro>(Clock::now() - start).count();
  end_.record(stream_);
  stream_.wait();
  if (keep) {
    results_.add(entry.name, {end_.microseconds_since(begin_), host_us}, entry.bytes, entry.elements);
  }
}

}  // namespace tokavg_bench
