// SPDX-License-Identifier: Apache-2.0
// The columns of a row of logits in groups of 64, and sums over them that are the same for vectors of any length.
// Included once for each target.
#if defined(TOKAVG_HOST_SIMD_GROUP_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef TOKAVG_HOST_SIMD_GROUP_INL_H
#undef TOKAVG_HOST_SIMD_GROUP_INL_H
#else
#define TOKAVG_HOST_SIMD_GROUP_INL_H
#endif

#include <algorithm>
#include <cstring>

#include "device/host/cross_entropy_row.hpp"
#include "device/host/simd/lanes-inl.h"

HWY_BEFORE_NAMESPACE();
namespace tokavg::host::HWY_NAMESPACE {

constexpr std::size_t kGroupColumns = 64;
constexpr std::size_t kLanes = hn::MaxLanes(Floats());
constexpr std::size_t kGroupVecs = kGroupColumns / kLanes;
constexpr std::size_t kBlockGroups = static_cast<std::size_t>(kBlockColumns) / kGroupColumns;

// 64 floats. Which column is in which lane depends on the stored type alone, and not on the length of a vector:
// lane j of float and half is column j; bfloat16 comes in words of two columns, whose halves go apart, so that lanes 0
// to 15 are the even columns of the first 32 and lanes 16 to 31 the odd ones.
struct Group {
  FloatVec v[kGroupVecs];

  HWY_INLINE void clear() {
    for (FloatVec& x : v) x = hn::Zero(Floats());
  }
};

// Two vectors of a group at a time, 0 <= pair < kGroupPairs; these are their places.
constexpr std::size_t kGroupPairs = kGroupVecs / 2;
struct Places {
  std::size_t first;
  std::size_t second;
};

template <class Stored>
constexpr Places places_of(std::size_t pair) {
  return {2 * pair, 2 * pair + 1};
}
template <>
constexpr Places places_of<hwy::bfloat16_t>(std::size_t pair) {
  constexpr std::size_t kHalf = kGroupPairs / 2;  // pairs that make up 32 columns
  const std::size_t first = pair / kHalf * 2 * kHalf + pair % kHalf;
  return {first, first + kHalf};
}

template <class Stored>
HWY_INLINE void load_pair(const Stored* group, std::size_t pair, FloatVec& first, FloatVec& second) {
  first = load_floats(group + 2 * pair * kLanes);
  second = load_floats(group + (2 * pair + 1) * kLanes);
}

HWY_INLINE void load_pair(const hwy::bfloat16_t* group, std::size_t pair, FloatVec& even, FloatVec& odd) {
  const hn::RebindToUnsigned<Floats> words;
  const auto word = hn::LoadU(words, reinterpret_cast<const std::uint32_t*>(group + 2 * pair * kLanes));
  even = hn::BitCast(Floats(), hn::ShiftLeft<16>(word));
  odd = hn::BitCast(Floats(), hn::And(word, hn::Set(words, 0xffff0000U)));
}

template <class Stored>
HWY_INLINE void store_pair(FloatVec first, FloatVec second, std::size_t pair, Stored* group) {
  store_floats(first, group + 2 * pair * kLanes);
  store_floats(second, group + (2 * pair + 1) * kLanes);
}

HWY_INLINE void store_pair(FloatVec even, FloatVec odd, std::size_t pair, hwy::bfloat16_t* group) {
  const hn::RebindToUnsigned<Floats> words;
  const auto low = hn::ShiftRight<16>(rounded_to_bf16(even));
  const auto high = hn::And(rounded_to_bf16(odd), hn::Set(words, 0xffff0000U));
  hn::StoreU(hn::Or(low, high), words, reinterpret_cast<std::uint32_t*>(group + 2 * pair * kLanes));
}

// Sums of groups, block by block, in 16 lanes of double.
class LaneSums {
 public:
  LaneSums() {
    for (DoubleVec& x : v_) x = hn::Zero(Doubles());
  }

  // (column 0 + column 32) + (column 16 + column 48), and so on, in float; from there on in double.
  HWY_INLINE void add(const Group& sums) {
    constexpr std::size_t kQuarter = kGroupVecs / 4;
    const Doubles d;
    for (std::size_t k = 0; k < kQuarter; ++k) {
      const FloatVec folded = hn::Add(hn::Add(sums.v[k], sums.v[k + 2 * kQuarter]),
                                      hn::Add(sums.v[k + kQuarter], sums.v[k + 3 * kQuarter]));
#if HWY_TARGET == HWY_SCALAR
      v_[k] = hn::Add(v_[k], hn::PromoteTo(d, folded));
#else
      const hn::Half<Floats> half;
      v_[2 * k] = hn::Add(v_[2 * k], hn::PromoteTo(d, hn::LowerHalf(half, folded)));
      v_[2 * k + 1] = hn::Add(v_[2 * k + 1], hn::PromoteTo(d, hn::UpperHalf(half, folded)));
#endif
    }
  }

  void scale(double factor) {
    for (DoubleVec& x : v_) x = hn::Mul(x, hn::Set(Doubles(), factor));
  }

  [[nodiscard]] double total() const {
    HWY_ALIGN double lanes[kSums];
    for (std::size_t k = 0; k < kVecs; ++k) hn::Store(v_[k], Doubles(), lanes + k * hn::MaxLanes(Doubles()));
    for (std::size_t width = kSums / 2; width > 0; width /= 2) {
      for (std::size_t i = 0; i < width; ++i) lanes[i] += lanes[i + width];
    }
    return lanes[0];
  }

 private:
  static constexpr std::size_t kSums = 16;
  static constexpr std::size_t kVecs = kSums / hn::MaxLanes(Doubles());
  DoubleVec v_[kVecs];
};

// One row. Two groups are read from copies: the one with the label, if there is a label, where it is replaced by
// `instead`, and the last one if it is not full, where `instead` follows the row.
template <class Stored>
class Columns {
 public:
  static constexpr std::size_t kNone = SIZE_MAX;

  Columns(const Stored* row, std::size_t vocab, std::size_t label, float instead)
      : row_(row), vocab_(vocab), label_(label) {
    Stored stored;
    store_double(static_cast<double>(instead), &stored);
    if (label_ != kNone) {
      label_group_ = label_ / kGroupColumns;
      copy_group(label_group_, stored, label_copy_);
    }
    if (vocab_ % kGroupColumns != 0) {
      tail_group_ = vocab_ / kGroupColumns;
      copy_group(tail_group_, stored, tail_copy_);
    }
  }

  [[nodiscard]] std::size_t size() const { return vocab_; }
  [[nodiscard]] std::size_t groups() const { return (vocab_ + kGroupColumns - 1) / kGroupColumns; }
  [[nodiscard]] std::size_t blocks() const { return (groups() + kBlockGroups - 1) / kBlockGroups; }
  [[nodiscard]] std::size_t first_group(std::size_t block) const { return std::min(block * kBlockGroups, groups()); }

  // 64 values.
  [[nodiscard]] HWY_INLINE const Stored* group(std::size_t g) const {
    if (HWY_UNLIKELY(g == label_group_)) return label_copy_;
    if (HWY_UNLIKELY(g == tail_group_)) return tail_copy_;
    return row_ + g * kGroupColumns;
  }

  // With zeros for the label and beyond the row.
  void load_zeros_instead(std::size_t g, Group& group) const {
    Stored copy[kGroupColumns];
    Stored zero;
    store_double(0, &zero);
    copy_group(g, zero, copy);
    for (std::size_t i = 0; i < kGroupPairs; ++i) {
      const Places at = places_of<Stored>(i);
      load_pair(copy, i, group.v[at.first], group.v[at.second]);
    }
  }

  // Whether a row of the same length ends inside group g. Only so much of a group may be touched there.
  [[nodiscard]] HWY_INLINE bool ends_in(std::size_t g) const { return g == tail_group_; }
  [[nodiscard]] std::size_t width(std::size_t g) const { return std::min(kGroupColumns, vocab_ - g * kGroupColumns); }

 private:
  void copy_group(std::size_t g, Stored instead, Stored (&copy)[kGroupColumns]) const {
    std::fill_n(copy, kGroupColumns, instead);
    std::memcpy(copy, row_ + g * kGroupColumns, width(g) * sizeof(Stored));
    if (g == label_group_) copy[label_ % kGroupColumns] = instead;
  }

  const Stored* row_;
  std::size_t vocab_;
  std::size_t label_;
  std::size_t label_group_ = kNone;
  std::size_t tail_group_ = kNone;
  Stored label_copy_[kGroupColumns];
  Stored tail_copy_[kGroupColumns];
};

}  // namespace tokavg::host::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif
