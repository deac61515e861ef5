// SPDX-License-Identifier: Apache-2.0
// Counting labels. Included once for each target.
#if defined(TOKAVG_HOST_SIMD_COUNT_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef TOKAVG_HOST_SIMD_COUNT_INL_H
#undef TOKAVG_HOST_SIMD_COUNT_INL_H
#else
#define TOKAVG_HOST_SIMD_COUNT_INL_H
#endif

#include <algorithm>

#include "device/host/simd/lanes-inl.h"

HWY_BEFORE_NAMESPACE();
namespace tokavg::host::HWY_NAMESPACE {

// Accumulators have the labels' width; a block is small enough for 32 bits.
template <class Label>
std::int64_t count_labels(const Label* labels, std::int64_t n, Label ignored) {
  constexpr std::size_t kUnroll = 4;
  constexpr std::size_t kBlock = std::size_t{1} << 14;
  const hn::ScalableTag<Label> d;
  const std::size_t lanes = hn::Lanes(d);
  const auto skip = hn::Set(d, ignored);
  const auto size = static_cast<std::size_t>(n);
  std::int64_t ignored_count = 0;
  std::size_t i = 0;
  while (i + kUnroll * lanes <= size) {
    const std::size_t end = std::min(size, i + kBlock);
    auto sum0 = hn::Zero(d);
    auto sum1 = sum0;
    auto sum2 = sum0;
    auto sum3 = sum0;
    for (; i + kUnroll * lanes <= end; i += kUnroll * lanes) {
      // A mask as a vector is -1 where it is set.
      sum0 = hn::Sub(sum0, hn::VecFromMask(d, hn::Eq(hn::LoadU(d, labels + i), skip)));
      sum1 = hn::Sub(sum1, hn::VecFromMask(d, hn::Eq(hn::LoadU(d, labels + i + lanes), skip)));
      sum2 = hn::Sub(sum2, hn::VecFromMask(d, hn::Eq(hn::LoadU(d, labels + i + 2 * lanes), skip)));
      sum3 = hn::Sub(sum3, hn::VecFromMask(d, hn::Eq(hn::LoadU(d, labels + i + 3 * lanes), skip)));
    }
    ignored_count += hn::GetLane(hn::SumOfLanes(d, hn::Add(hn::Add(sum0, sum1), hn::Add(sum2, sum3))));
  }
  for (; i < size; ++i) ignored_count += labels[i] == ignored ? 1 : 0;
  return n - ignored_count;
}

template <class Bytes>
HWY_INLINE hn::Vec<hn::Rebind<std::int32_t, Bytes>> widen(hn::Rebind<std::int32_t, Bytes> d, hn::Vec<Bytes> mask) {
  return hn::PromoteTo(d, mask);
}
template <class Bytes>
HWY_INLINE hn::Vec<hn::Rebind<std::int64_t, Bytes>> widen(hn::Rebind<std::int64_t, Bytes> d, hn::Vec<Bytes> mask) {
  return hn::PromoteTo(d, hn::PromoteTo(hn::Rebind<std::int32_t, Bytes>(), mask));
}

// One byte of mask for each label.
template <class Label>
std::int64_t count_masked_labels(const Label* labels, const std::uint8_t* mask, std::int64_t n, Label ignored) {
  const hn::ScalableTag<Label> d;
  const hn::Rebind<std::uint8_t, decltype(d)> d8;
  const std::size_t lanes = hn::Lanes(d);
  const auto skip = hn::Set(d, ignored);
  const auto zero = hn::Zero(d);
  const auto size = static_cast<std::size_t>(n);
  std::size_t count = 0;
  std::size_t i = 0;
  for (; i + lanes <= size; i += lanes) {
    const auto masked = widen<hn::Rebind<std::uint8_t, hn::ScalableTag<Label>>>(d, hn::LoadU(d8, mask + i));
    const auto out = hn::Or(hn::Eq(masked, zero), hn::Eq(hn::LoadU(d, labels + i), skip));
    count += lanes - hn::CountTrue(d, out);
  }
  for (; i < size; ++i) count += labels[i] != ignored && mask[i] != 0 ? 1U : 0U;
  return static_cast<std::int64_t>(count);
}

}  // namespace tokavg::host::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif
