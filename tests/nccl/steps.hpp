// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tokavg/tokavg.h"

namespace nccl_test {

// Averaged gradients, data on the host, a deadline of ten seconds.
tokavg_config_t host_config();

// A context and what one does with it. Each function returns what is wrong, or nothing.
class Context {
 public:
  Context() = default;
  ~Context() { tokavg_free(context_); }
  Context(const Context&) = delete;
  Context& operator=(const Context&) = delete;

  std::string init(const tokavg_config_t& config);
  // It fails with this status, and its text has each word.
  std::string init_fails(const tokavg_config_t& config, tokavg_status_t status, const std::vector<std::string>& words);
  // Each rank counts rank + 1 tokens a step; two steps are in flight.
  std::string steps(int rank, int ranks, int n_steps);
  std::string step_fails(tokavg_status_t status, const std::vector<std::string>& words, std::int64_t step_id = 0);
  std::string reduce_only();
  std::string finalize();
  [[nodiscard]] std::string describe() const;

 private:
  [[nodiscard]] std::string said(const char* call, tokavg_status_t status) const;
  tokavg_context_t* context_ = nullptr;
};

}  // namespace nccl_test
