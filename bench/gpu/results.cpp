// SPDX-License-Identifier: Apache-2.0
#include "gpu/results.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <fstream>
#include <nlohmann/json.hpp>

#include "kernels/calls.hpp"

namespace tokavg_bench {
namespace {

// The lower quartile, the median and the upper quartile.
std::array<double, 3> quartiles(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  const auto at = [&](double share) {
    const double place = share * static_cast<double>(values.size() - 1);
    const auto low = static_cast<std::size_t>(place);
    const std::size_t high = std::min(low + 1, values.size() - 1);
    return values[low] + (place - std::floor(place)) * (values[high] - values[low]);
  };
  return {at(0.25), at(0.5), at(0.75)};
}

}  // namespace

void Results::add(const std::string& name, Time time, std::size_t bytes, std::int64_t elements) {
  Entry& entry = entries_[name];
  entry.us.push_back(time.us);
  if (time.host_us > 0) {
    entry.host_us.push_back(time.host_us);
  }
  entry.bytes = bytes;
  entry.elements = elements;
}

void Results::print() const {
  for (const auto& [name, entry] : entries_) {
    const double us = quartiles(entry.us)[1];
    std::printf("%-46s %12.2f us", name.c_str(), us);
    if (entry.bytes != 0) {
      std::printf(" %9.1f GB/s", static_cast<double>(entry.bytes) / us * 1e-3);
    }
    std::puts("");
  }
}

void Results::write(const std::string& path, const std::string& about) const {
  nlohmann::json all = {{"context", nlohmann::json::parse(about)}, {"benchmarks", nlohmann::json::object()}};
  for (const auto& [name, entry] : entries_) {
    const auto [low, middle, high] = quartiles(entry.us);
    nlohmann::json& one = all["benchmarks"][name];
    one = {{"us", middle}, {"us_quartiles", {low, high}}, {"repetitions", entry.us.size()}};
    if (entry.bytes != 0) {
      one["bytes"] = entry.bytes;
      one["elements"] = entry.elements;
    }
    if (!entry.host_us.empty()) {
      one["host_us"] = quartiles(entry.host_us)[1];
    }
  }
  std::ofstream file(path);
  file << all.dump(1) << '\n';
  if (!file.flush()) {
    fail("cannot write " + path);
  }
}

}  // namespace tokavg_bench
