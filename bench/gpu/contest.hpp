// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "gpu/cuda.hpp"
#include "gpu/results.hpp"

namespace tokavg_bench {

// Benchmarks that are divided by one another. They take turns, each round in another order: a slow moment of the
// machine then meets all of them alike.
class Contest {
 public:
  struct Entry {
    std::string name;               // GROUP/WHAT/TYPE/SIZE
    std::size_t bytes = 0;          // that it has to read and write
    std::int64_t elements = 0;      // that it works on
    std::function<void()> run;      // enqueues what is timed
    std::function<void()> prepare;  // before, not timed; may be empty
  };

  Contest(const Stream& stream, Results& results) : stream_(stream), results_(results) {}
  void add(Entry entry) { entries_.push_back(std::move(entry)); }
  // The same again under another name: what the two differ by is noise.
  void add_twice(Entry entry);
  void run(int rounds);

 private:
  void time_one(const Entry& entry, bool keep);

  const Stream& stream_;
  Results& results_;
  Event begin_;
  Event end_;
  std::vector<Entry> entries_;
};

}  // namespace tokavg_bench
