// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <type_traits>

// Turns the bytes of a fuzzer into values. The compiler's FuzzedDataProvider does the same, but comes with Clang alone,
// and the corpora are replayed in builds of every compiler. When the bytes are used up everything is zero.
namespace fuzz {

class Reader {
 public:
  Reader(const std::uint8_t* data, std::size_t size) : rest_(data, size) {}

  [[nodiscard]] bool empty() const noexcept { return rest_.empty(); }

  template <typename Value>
  Value value() {
    static_assert(std::is_trivially_copyable_v<Value>);
    Value value{};
    const std::size_t length = std::min(sizeof value, rest_.size());
    if (length != 0) std::memcpy(&value, rest_.data(), length);
    rest_ = rest_.subspan(length);
    return value;
  }
  std::uint8_t byte() { return value<std::uint8_t>(); }
  bool coin() { return (byte() & 1U) != 0; }
  // True about once in n, and never when the bytes are used up.
  bool one_in(std::uint8_t n) { return byte() % n == n - 1; }
  // 0 to n - 1, n <= 256.
  std::size_t below(std::size_t n) { return byte() % n; }

  template <typename Value, std::size_t N>
  Value pick(const Value (&values)[N]) {
    static_assert(N <= 256);
    return values[below(N)];
  }
  // Mostly one of the values that are likely to matter, else anything.
  template <typename Value, std::size_t N>
  Value pick_or_any(const Value (&values)[N]) {
    static_assert(N < 255);
    const std::size_t index = below(N + 1);
    return index < N ? values[index] : value<Value>();
  }

  std::string text(std::size_t most) {
    const std::size_t length = std::min({std::size_t{byte()}, most, rest_.size()});
    std::string text(reinterpret_cast<const char*>(rest_.data()), length);
    rest_ = rest_.subspan(length);
    return text;
  }

 private:
  std::span<const std::uint8_t> rest_;
};

}  // namespace fuzz
