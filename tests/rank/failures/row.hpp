// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "tokavg/tokavg.h"

namespace failures {

// One row to count and to compute the cross entropy of; label may be outside the vocabulary.
struct Row {
  static constexpr std::int64_t kVocab = 4;
  std::vector<std::int64_t> labels;
  std::vector<float> logits = std::vector<float>(2 * kVocab, 0.5F);
  std::vector<float> gradient = std::vector<float>(2 * kVocab, 7.0F);
  tokavg_labels_t as_labels{};
  tokavg_cross_entropy_t ce{};

  explicit Row(std::int64_t label) : labels{1, label} {
    as_labels.struct_size = static_cast<std::uint32_t>(sizeof as_labels);
    as_labels.rows = 1;
    as_labels.cols = 2;
    as_labels.labels.data = labels.data();
    as_labels.labels.dtype = TOKAVG_DTYPE_I64;
    ce.struct_size = static_cast<std::uint32_t>(sizeof ce);
    ce.vocab = kVocab;
    ce.labels = &as_labels;
    ce.logits.data = logits.data();
    ce.logits.dtype = TOKAVG_DTYPE_F32;
    ce.gradient_out.data = gradient.data();
    ce.gradient_out.dtype = TOKAVG_DTYPE_F32;
  }
};

}  // namespace failures
