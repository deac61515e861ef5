// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "cuda/checks.hpp"
#include "cuda/patterns.hpp"

namespace cuda_test {

// One rank, and what all the tests of large arrays do with it.
class LargeTest {
 public:
  explicit LargeTest(Checks& checks);
  ~LargeTest() { tokavg_free(context_); }
  LargeTest(const LargeTest&) = delete;
  LargeTest& operator=(const LargeTest&) = delete;

  [[nodiscard]] Checks& checks() const { return checks_; }
  [[nodiscard]] tokavg_context_t* context() const { return context_; }
  [[nodiscard]] const Stream& stream() const { return stream_; }

  void ok(tokavg_status_t status, const char* call) const;
  // n, or as many elements of so many bytes as fit into the memory that is free.
  [[nodiscard]] std::int64_t fitting(const char* what, std::int64_t n, std::size_t bytes_each) const;
  [[nodiscard]] tokavg_ticket_t reduce() const;
  [[nodiscard]] tokavg_result_t result(tokavg_ticket_t ticket, std::int32_t what) const;

 private:
  Checks& checks_;
  Stream stream_;
  tokavg_context_t* context_ = nullptr;
};

// On n elements, or just over.
void large_count(const LargeTest& test, std::int64_t n);
void large_losses(const LargeTest& test, std::int64_t n);
void large_scale(const LargeTest& test, std::int64_t n);
void large_cross_entropy(const LargeTest& test, std::int64_t n);

}  // namespace cuda_test
