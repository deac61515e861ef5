// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace tokavg_bench {

// What was measured, by name.
class Results {
 public:
  struct Time {
    double us = 0;       // on the GPU
    double host_us = 0;  // until the call returned; 0: not measured
  };
  void add(const std::string& name, Time time, std::size_t bytes, std::int64_t elements);
  // Of a step, or a call: neither bytes nor elements.
  void add(const std::string& name, double us) { add(name, {us, 0}, 0, 0); }

  // A line for each benchmark.
  void print() const;
  // `about`: a JSON object that becomes "context".
  void write(const std::string& path, const std::string& about) const;

 private:
  struct Entry {
    std::vector<double> us;
    std::vector<double> host_us;
    std::size_t bytes = 0;
    std::int64_t elements = 0;
  };
  std::map<std::string, Entry> entries_;
};

}  // namespace tokavg_bench
