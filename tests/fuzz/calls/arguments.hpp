// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstring>
#include <initializer_list>

#include "base/struct_sizes.hpp"
#include "calls/memory.hpp"
#include "reader.hpp"
#include "tokavg/tokavg.h"

namespace fuzz {

struct Shape {
  std::int64_t rows = 0;
  std::int64_t cols = 0;
  std::int64_t depth = 1;
  bool strided = true;  // strides may be given
};

// What an array is filled with: `base` to `base + classes - 1` and `ignored` are good labels.
struct Content {
  std::int64_t ignored = -100;
  std::int64_t base = 0;
  std::int64_t classes = 4;
};

// Makes the arguments of one call. Wrong addresses cannot be survived, so whatever does not fit into its memory is
// given a further fault that the library must find before it looks at memory at all.
class Arguments {
 public:
  explicit Arguments(Reader& in) : in_(in) {}

  // The call cannot be right: only refusing it will do.
  void spoil() noexcept { must_fail_ = true; }
  [[nodiscard]] bool must_fail() const noexcept { return must_fail_; }
  Memory& memory() noexcept { return memory_; }

  // Mostly small; else values at which arithmetic ends.
  std::int64_t length();
  std::int32_t term(std::int32_t terms);
  double multiplier();

  // An array of that shape of one of the dtypes, or something wrong with it. Not always there at all.
  tokavg_array_t array(const Shape& shape, std::initializer_list<std::int32_t> dtypes, Use use, const Content& content,
                       std::uint8_t missing_one_in);
  // One value to be written, or none.
  template <typename Value>
  Value* output() {
    return in_.coin() ? reinterpret_cast<Value*>(memory_.block(sizeof(Value), Use::kOutput)) : nullptr;
  }
  // Has no business in a call on host memory.
  const float* device_pointer();

  tokavg_labels_t labels(const tokavg_config_t& config, std::int64_t rows, std::int64_t cols, std::int64_t classes);

  // The bytes of a struct, of a size that may be wrong, with a tail that may be.
  template <typename Struct>
  Struct* present(Struct value, Use use = Use::kInput) {
    static constexpr std::uint32_t kOwn = sizeof(Struct);
    static constexpr std::uint32_t kSizes[] = {
        kOwn + 8, tokavg::kSize10<Struct>, kOwn + 1, 0, 4, kOwn - 8, 65536, 65537, ~0U};
    value.struct_size = in_.one_in(16) ? in_.pick(kSizes) : kOwn;
    return reinterpret_cast<Struct*>(bytes_of(&value, kOwn, value.struct_size, tokavg::kSize10<Struct>, use));
  }

 private:
  std::byte* bytes_of(const void* value, std::uint32_t own, std::uint32_t size, std::uint32_t smallest, Use use);
  void resolve(tokavg_array_t& array, const Shape& shape, Use use, const Content& content);
  void fill(std::byte* data, std::size_t count, std::int32_t dtype, const Content& content);

  Reader& in_;
  Memory memory_;
  bool must_fail_ = false;
};

std::int64_t bytes_each(std::int32_t dtype) noexcept;

// How many tokens of labels that were counted are scored.
std::int64_t count_scored(const tokavg_labels_t& labels, std::int64_t ignore_index);

}  // namespace fuzz
