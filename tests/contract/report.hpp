// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdio>
#include <string>
#include <vector>

#include "contract/rank_run.hpp"

namespace contract {

// Prints each case as it ends and counts.
class Report {
 public:
  explicit Report(std::string transport) : transport_(std::move(transport)) {}

  void passed(const std::string& id, Mode mode) {
    ++passed_;
    std::printf("pass     %-6s  %s\n", mode_name(mode), id.c_str());
  }
  void failed(const std::string& id, Mode mode, const std::vector<std::string>& lines) {
    ++failed_;
    std::printf("FAIL     %-6s  %s\n", mode_name(mode), id.c_str());
    for (const std::string& line : lines) std::printf("           %s\n", line.c_str());
  }
  void not_run(const std::string& id, const std::string& reason) {
    ++not_run_;
    std::printf("not run          %s: %s\n", id.c_str(), reason.c_str());
  }

  // The exit status.
  int end() const {
    std::printf("contract on %s: %d passed, %d failed, %d cases not run\n", transport_.c_str(), passed_, failed_,
                not_run_);
    return failed_ == 0 && passed_ != 0 ? 0 : 1;
  }

 private:
  std::string transport_;
  int passed_ = 0;
  int failed_ = 0;
  int not_run_ = 0;
};

}  // namespace contract
