// SPDX-License-Identifier: Apache-2.0
/** @file array.hpp @brief Typed views of arrays, and labels made of them. Included by tokavg.hpp. */
#ifndef TOKAVG_CPP_ARRAY_HPP
#define TOKAVG_CPP_ARRAY_HPP

#include <cstdint>
#include <ranges>
#include <span>
#include <stdexcept>
#include <string>
#include <type_traits>

#include "error.hpp"

namespace tokavg {
inline namespace api1 {

/** @brief Storage of a bfloat16; the library does the arithmetic. */
struct BFloat16 {
  std::uint16_t bits; /**< as in memory */
};
/** @brief Storage of an IEEE binary16; the library does the arithmetic. */
struct Float16 {
  std::uint16_t bits; /**< as in memory */
};

/** @brief The TOKAVG_DTYPE_ constant of an element type; 0 where the library has none. */
template <class T>
inline constexpr std::int32_t kDtype = 0;
/** @cond The element types of types.h. */
template <>
inline constexpr std::int32_t kDtype<std::int32_t> = TOKAVG_DTYPE_I32;
template <>
inline constexpr std::int32_t kDtype<std::int64_t> = TOKAVG_DTYPE_I64;
template <>
inline constexpr std::int32_t kDtype<std::uint8_t> = TOKAVG_DTYPE_U8;
template <>
inline constexpr std::int32_t kDtype<float> = TOKAVG_DTYPE_F32;
template <>
inline constexpr std::int32_t kDtype<double> = TOKAVG_DTYPE_F64;
template <>
inline constexpr std::int32_t kDtype<BFloat16> = TOKAVG_DTYPE_BF16;
template <>
inline constexpr std::int32_t kDtype<Float16> = TOKAVG_DTYPE_F16;
/** @endcond */

/** @brief Where an array lies. */
enum class Memory : std::int32_t {
  automatic = TOKAVG_MEMORY_AUTO, /**< the library finds out */
  host = TOKAVG_MEMORY_HOST,      /**< the host's */
  cuda = TOKAVG_MEMORY_CUDA,      /**< a GPU's */
};

/** @brief A view of an array of any element type: what a tokavg_array_t is, made from typed pointers. */
class Array {
 public:
  /** @brief No array. */
  Array() = default;

  /** @brief Contiguous elements. @param elements a span, vector or array of them */
  template <std::ranges::contiguous_range Range>
  requires(kDtype<std::remove_cv_t<std::ranges::range_value_t<Range>>> != 0)
      Array(Range&& elements)  // NOLINT: a view is meant to be made silently
      : Array(std::ranges::data(elements)) {
    size_ = static_cast<std::int64_t>(std::ranges::size(elements));
  }

  /**
   * @brief Elements (r, c) at data + r * row_stride + c * col_stride.
   * @param data the first element, or nullptr: no array
   * @param row_stride elements from row to row; 0: contiguous
   * @param col_stride elements from column to column; 0: contiguous
   * @param memory where they lie
   */
  template <class T>
  requires(kDtype<std::remove_cv_t<T>> != 0) explicit Array(T* data, std::int64_t row_stride = 0,
                                                            std::int64_t col_stride = 0,
                                                            Memory memory = Memory::automatic)
      : array_{const_cast<std::remove_cv_t<T>*>(data), kDtype<std::remove_cv_t<T>>, static_cast<std::int32_t>(memory),
               row_stride, col_stride} {}

  /** @brief The C struct. @return a reference into this view */
  const tokavg_array_t& c() const noexcept { return array_; }

  /**
   * @brief The C struct, for an array of this shape.
   * @param what the name for the text of an error
   * @param elements how many a contiguous array must hold
   * @throws std::invalid_argument where this was made from fewer: a fault of the program, whichever way errors are told
   * @return a reference into this view
   */
  const tokavg_array_t& c(const char* what, std::int64_t elements) const {
    if (size_ >= 0 && size_ < elements) {
      throw std::invalid_argument(std::string("tokavg: ") + what + " holds " + std::to_string(size_) +
                                  " elements; its shape needs " + std::to_string(elements));
    }
    return array_;
  }

 private:
  tokavg_array_t array_{};
  std::int64_t size_ = -1;  // not known
};

/** @brief The labels of one term of one microbatch, or of a part of it: a tokavg_labels_t with names. */
struct Labels {
  std::int64_t rows = 0;        /**< rows of labels, mask and weights */
  std::int64_t cols = 0;        /**< columns of them */
  Array labels;                 /**< int32 or int64 */
  Array mask = {};              /**< uint8; none: all ones */
  Array weights = {};           /**< float or double; none: all ones */
  std::int64_t shift = 0;       /**< leading columns that are not scored; 1 for causal models */
  std::int32_t term = 0;        /**< 0 to Options::terms - 1 */
  std::int32_t label_base = 0;  /**< 1 for one-based classes */
  bool same_microbatch = false; /**< belongs to the microbatch already begun */

  /** @brief One row of contiguous labels. @param row a span, vector or array of int32 or int64 @return the labels */
  template <std::ranges::contiguous_range Range>
  static Labels row_of(Range&& row) {
    return {.rows = 1, .cols = static_cast<std::int64_t>(std::ranges::size(row)), .labels = Array(row)};
  }

  /** @brief The C struct. @throws std::invalid_argument see Array::c @return a struct that points to the same arrays */
  tokavg_labels_t c() const {
    tokavg_labels_t c_labels{};
    c_labels.struct_size = sizeof c_labels;
    c_labels.flags = same_microbatch ? static_cast<std::uint32_t>(TOKAVG_LABELS_SAME_MICROBATCH) : 0U;
    c_labels.term = term;
    c_labels.label_base = label_base;
    c_labels.shift = shift;
    c_labels.rows = rows;
    c_labels.cols = cols;
    c_labels.labels = labels.c("labels", rows * cols);
    c_labels.mask = mask.c("mask", rows * cols);
    c_labels.weights = weights.c("weights", rows * cols);
    return c_labels;
  }
};

}  // namespace api1
}  // namespace tokavg

#endif
