// SPDX-License-Identifier: Apache-2.0
#include "kernels/yardsticks.hpp"

// The same targets as the library's kernels: a quotient of different instructions would say nothing.
#include "device/host/simd/targets.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/yardsticks.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "device/host/simd/exp-inl.h"

HWY_BEFORE_NAMESPACE();
namespace tokavg_bench::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

using Words = hn::ScalableTag<std::uint64_t>;

// Four accumulators, so that no load waits for an addition; their loads are `apart` words from each other.
HWY_INLINE std::uint64_t sum(const std::uint64_t* from, std::size_t count, std::size_t apart, std::size_t step) {
  const Words d;
  auto sum0 = hn::Zero(d);
  auto sum1 = sum0;
  auto sum2 = sum0;
  auto sum3 = sum0;
  for (std::size_t i = 0; i < count; i += step) {
    sum0 = hn::Add(sum0, hn::LoadU(d, from + i));
    sum1 = hn::Add(sum1, hn::LoadU(d, from + i + apart));
    sum2 = hn::Add(sum2, hn::LoadU(d, from + i + 2 * apart));
    sum3 = hn::Add(sum3, hn::LoadU(d, from + i + 3 * apart));
  }
  return hn::GetLane(hn::SumOfLanes(d, hn::Add(hn::Add(sum0, sum1), hn::Add(sum2, sum3))));
}

std::uint64_t read(const void* data, std::size_t bytes) {
  const std::size_t lanes = hn::Lanes(Words());
  return sum(static_cast<const std::uint64_t*>(data), bytes / sizeof(std::uint64_t), lanes, 4 * lanes);
}

std::uint64_t read_streams(const void* data, std::size_t bytes) {
  const std::size_t quarter = bytes / sizeof(std::uint64_t) / 4;
  return sum(static_cast<const std::uint64_t*>(data), quarter, quarter, hn::Lanes(Words()));
}

void read_write(void* data, std::size_t bytes, std::uint64_t flip) {
  const Words d;
  const std::size_t lanes = hn::Lanes(d);
  const std::size_t words = bytes / sizeof(std::uint64_t);
  const auto mask = hn::Set(d, flip);
  auto* at = static_cast<std::uint64_t*>(data);
  for (std::size_t i = 0; i < words; i += 4 * lanes) {
    for (std::size_t k = 0; k < 4; ++k) {
      hn::StoreU(hn::Xor(hn::LoadU(d, at + i + k * lanes), mask), d, at + i + k * lanes);
    }
  }
}

void exp(const float* from, float* to, std::size_t n) {
  using tokavg::host::HWY_NAMESPACE::exp_floats;
  const hn::ScalableTag<float> d;
  const std::size_t lanes = hn::Lanes(d);
  for (std::size_t i = 0; i < n; i += 4 * lanes) {
    for (std::size_t k = 0; k < 4; ++k) {
      hn::StoreU(exp_floats(hn::LoadU(d, from + i + k * lanes)), d, to + i + k * lanes);
    }
  }
}

constexpr Yardsticks kYardsticks{tokavg::host::HWY_NAMESPACE::kTargetName, read, read_streams, read_write, exp};

const Yardsticks* table() { return &kYardsticks; }

}  // namespace tokavg_bench::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE

namespace tokavg_bench {
namespace {

HWY_EXPORT(table);

// Without Highway's own choice, which is one for the whole process.
const Yardsticks& table_of(std::int64_t target) {
  hwy::ChosenTarget chosen;
  chosen.Update(target);
  return *HWY_DISPATCH_TABLE(table)[chosen.GetIndex()]();
}

}  // namespace

const Yardsticks* find_yardsticks(const std::string& simd) {
  for (const std::int64_t target : hwy::SupportedAndGeneratedTargets()) {
    const Yardsticks& yardsticks = table_of(target);
    if (simd.empty() || simd == "auto" || simd == yardsticks.simd) {
      return &yardsticks;
    }
  }
  return nullptr;
}

std::vector<std::string> simd_targets() {
  std::vector<std::string> names;
  for (const std::int64_t target : hwy::SupportedAndGeneratedTargets()) {
    names.emplace_back(table_of(target).simd);
  }
  return names;
}

}  // namespace tokavg_bench
#endif
