// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "tokavg/types.h"

// tests/data/contract.jsonl in memory; tests/data/README.md says what the fields mean.
namespace contract {

struct Call {
  std::int64_t rows = 0;
  std::int64_t cols = 0;
  std::vector<std::int64_t> labels;
  std::optional<std::vector<double>> losses;
  std::optional<std::vector<double>> weights;
  std::optional<std::vector<std::uint8_t>> mask;
  std::int64_t shift = 0;
  std::int32_t term = 0;
  std::int32_t label_dtype = 0;
  std::int32_t loss_dtype = 0;
  std::int32_t weights_dtype = 0;
  bool same = false;
  bool discard = false;
};

struct RankInput {
  std::vector<Call> calls;
  bool done = false;
  bool asks_only = false;
};

struct Expect {
  tokavg_status_t status = TOKAVG_OK;
  bool has_numbers = false;  // an error has none
  std::vector<std::int64_t> tokens;
  std::vector<std::int64_t> nonfinite;
  std::vector<double> weight_sum;
  std::vector<double> factor;
  std::vector<double> mean_loss;
  std::vector<std::vector<double>> backward;  // by rank, by term
  std::int64_t microbatches = 0;
  double microbatch_factor = 0;
  std::int32_t empty_ranks = 0;
  std::int32_t done_ranks = 0;
};

struct Step {
  std::vector<RankInput> ranks;
  std::vector<Expect> expect;  // one, or one a rank where each has its own context

  [[nodiscard]] bool has_losses() const;
};

struct Case {
  std::string id;
  bool self = false;       // every rank has a context on COMM_SELF
  tokavg_config_t config;  // without the communicator
  std::vector<Step> steps;

  [[nodiscard]] int ranks() const { return static_cast<int>(steps.front().ranks.size()); }
};

// Exits with a text when the file is not what its README says.
std::vector<Case> read_cases(const std::string& path);

}  // namespace contract
