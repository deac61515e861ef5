// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdio>
#include <mutex>
#include <string>

namespace cuda_test {

// What was expected and what came; from any thread.
class Checks {
 public:
  void expect(bool fine, const std::string& what) {
    const std::lock_guard lock(mutex_);
    ++checked_;
    if (fine) return;
    ++failed_;
    std::printf("FAIL %s\n", what.c_str());
  }
  template <typename Value>
  void equal(const Value& got, const Value& wanted, const std::string& what) {
    expect(got == wanted, what + ": " + std::to_string(got) + ", not " + std::to_string(wanted));
  }
  // Prints, and returns the exit status.
  int end(const char* name) {
    std::printf("%s: %d checked, %d failed\n", name, checked_, failed_);
    return failed_ == 0 && checked_ != 0 ? 0 : 1;
  }

 private:
  std::mutex mutex_;
  int checked_ = 0;
  int failed_ = 0;
};

}  // namespace cuda_test
