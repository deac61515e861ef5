// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory>

// Buffers and what is in them.
namespace tokavg_bench {

// splitmix64: the same numbers everywhere, and fast enough to fill hundreds of megabytes.
class Random {
 public:
  explicit Random(std::uint64_t seed) : state_(seed) {}

  std::uint64_t next();
  std::int64_t below(std::int64_t end) { return static_cast<std::int64_t>(next() % static_cast<std::uint64_t>(end)); }
  // Nearly the normal distribution: the sum of four uniform numbers, with mean 0 and variance 1.
  float nearly_normal();

 private:
  std::uint64_t state_;
};

// Bytes at an address that is a multiple of 4096, so that no kernel is lucky or unlucky with it; all touched once.
class Buffer {
 public:
  Buffer() = default;
  explicit Buffer(std::size_t bytes);

  [[nodiscard]] std::size_t bytes() const { return bytes_; }
  [[nodiscard]] void* data() const { return data_.get(); }
  template <class T>
  [[nodiscard]] T* as() const {
    return reinterpret_cast<T*>(data_.get());
  }

 private:
  struct Free {
    void operator()(std::byte* data) const { std::free(data); }
  };
  std::unique_ptr<std::byte, Free> data_;
  std::size_t bytes_ = 0;
};

enum class Dtype { kF32, kBf16, kF16 };

[[nodiscard]] const char* name_of(Dtype dtype);
[[nodiscard]] std::int32_t constant_of(Dtype dtype);  // TOKAVG_DTYPE_
[[nodiscard]] std::size_t size_of(Dtype dtype);

// One value, cut off where it does not fit: what a benchmark computes with is what was stored.
void store(float value, Dtype dtype, void* to);

// As of a model at the begin of its training: most probabilities are alike.
void fill_logits(const Buffer& buffer, Dtype dtype);
// Classes below `classes`; one of eight labels is -100.
void fill_labels(const Buffer& buffer, std::int64_t classes);

}  // namespace tokavg_bench
