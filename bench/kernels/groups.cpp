// SPDX-License-Identifier: Apache-2.0
#include "kernels/groups.hpp"

#include <utility>

namespace tokavg_bench {

benchmark::internal::Benchmark* add(std::initializer_list<std::string> name, Body body) {
  std::string joined;
  for (const std::string& part : name) {
    joined += (joined.empty() ? "" : "/") + part;
  }
  return benchmark::RegisterBenchmark(joined.c_str(), std::move(body));
}

void set_size(benchmark::State& state, std::size_t bytes, std::int64_t elements) {
  state.counters["bytes"] = static_cast<double>(bytes);
  state.counters["elements"] = static_cast<double>(elements);
}

}  // namespace tokavg_bench
