// SPDX-License-Identifier: Apache-2.0
// Log-softmax of oneDNN, its gradient, and the little that makes a cross entropy of them.
#include <dnnl.hpp>

#include <algorithm>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "peer.hpp"

namespace tokavg::peers {
namespace {

using dnnl::memory;

memory::data_type data_type(Dtype dtype) {
  return dtype == Dtype::kF32 ? memory::data_type::f32 : memory::data_type::bf16;
}

// The rows are worked off in blocks, whose log-probabilities and upstream gradients are one block large: with all rows
// as one block this is the ordinary use, with a few rows they stay in the cache.
class OneDnn final : public Peer {
 public:
  OneDnn(const Problem& p, std::int64_t block_rows, Dtype output)
      : Peer({"onednn", describe(p, block_rows, output), output == Dtype::kF32 ? 1e-4 : 1e-2, tolerance(p, output)}),
        block_rows_(block_rows),
        output_(output),
        engine_(dnnl::engine::kind::cpu, 0),
        stream_(engine_),
        logits_desc_(block(p, p.dtype)),
        output_desc_(block(p, output)),
        log_probs_(output_desc_.get_size()),
        upstream_(output_desc_.get_size()),
        logits_memory_(logits_desc_, engine_, p.logits),
        log_probs_memory_(output_desc_, engine_, log_probs_.data()),
        upstream_memory_(output_desc_, engine_, upstream_.data()) {
    const dnnl::softmax_v2_forward::desc desc(dnnl::prop_kind::forward_training, dnnl::algorithm::softmax_log,
                                              logits_desc_, output_desc_, 1);
    const dnnl::softmax_v2_forward::primitive_desc forward_desc(desc, engine_);
    forward_ = dnnl::softmax_v2_forward(forward_desc);
    const dnnl::softmax_v2_backward::desc back(dnnl::algorithm::softmax_log, logits_desc_, output_desc_, output_desc_,
                                               1);
    backward_ = dnnl::softmax_v2_backward(dnnl::softmax_v2_backward::primitive_desc(back, engine_, forward_desc));
  }

  double forward(const Problem& p) override { return step(p, false); }
  double forward_backward(const Problem& p) override { return step(p, true); }

 private:
  static std::string describe(const Problem& p, std::int64_t block_rows, Dtype output) {
    std::string text = "softmax_log";
    text += block_rows == p.rows ? ", all rows at once" : ", blocks of " + std::to_string(block_rows) + " rows";
    if (p.dtype != output) text += ", fp32 log-probabilities";
    return text;
  }

  static double tolerance(const Problem& p, Dtype output) {
    if (p.dtype == Dtype::kF32) return 1e-4;
    // exp of a log-probability that was rounded to 8 bits
    return output == Dtype::kF32 ? 1e-2 : 1e-1;
  }

  [[nodiscard]] memory::desc block(const Problem& p, Dtype dtype) const {
    return {{block_rows_, p.vocab}, data_type(dtype), memory::format_tag::ab};
  }

  void execute(const Problem& p, std::int64_t first, bool train) {
    logits_memory_.set_data_handle(static_cast<char*>(p.logits) + static_cast<std::size_t>(first) * p.row_bytes());
    forward_.execute(stream_, {{DNNL_ARG_SRC, logits_memory_}, {DNNL_ARG_DST, log_probs_memory_}});
    stream_.wait();
    if (!train) return;
    set_upstream(p, first, -p.factor);
    backward_.execute(stream_, {{DNNL_ARG_DST, log_probs_memory_},
                                {DNNL_ARG_DIFF_DST, upstream_memory_},
                                {DNNL_ARG_DIFF_SRC, logits_memory_}});
    stream_.wait();
    set_upstream(p, first, 0.0F);
  }

  double step(const Problem& p, bool train) {
    double total = 0;
    for (std::int64_t first = 0; first < p.rows; first += block_rows_) {
      execute(p, first, train);
      for (std::int64_t r = 0; r < block_rows_; r++) total -= get(log_probs_, r * p.vocab + p.labels[first + r]);
    }
    return total;
  }

  // The upstream gradient of the log-probabilities is zero but for the label's: that is all that has to be written.
  void set_upstream(const Problem& p, std::int64_t first, float value) {
    for (std::int64_t r = 0; r < block_rows_; r++) put(upstream_, r * p.vocab + p.labels[first + r], value);
  }

  [[nodiscard]] double get(const Buffer& buffer, std::int64_t i) const {
    if (output_ == Dtype::kF32) return static_cast<double>(static_cast<const float*>(buffer.data())[i]);
    const std::uint32_t bits = static_cast<std::uint32_t>(static_cast<const std::uint16_t*>(buffer.data())[i]) << 16;
    float value = 0;
    std::memcpy(&value, &bits, sizeof value);
    return static_cast<double>(value);
  }

  void put(const Buffer& buffer, std::int64_t i, float value) const {
    if (output_ == Dtype::kF32) {
      static_cast<float*>(buffer.data())[i] = value;
      return;
    }
    // Exact: the factor is a power of two.
    std::uint32_t bits = 0;
    std::memcpy(&bits, &value, sizeof bits);
    static_cast<std::uint16_t*>(buffer.data())[i] = static_cast<std::uint16_t>(bits >> 16);
  }

  std::int64_t block_rows_;
  Dtype output_;
  dnnl::engine engine_;
  dnnl::stream stream_;
  memory::desc logits_desc_;
  memory::desc output_desc_;
  Buffer log_probs_;
  Buffer upstream_;
  memory logits_memory_;
  memory log_probs_memory_;
  memory upstream_memory_;
  dnnl::softmax_v2_forward forward_;
  dnnl::softmax_v2_backward backward_;
};

}  // namespace

void add_onednn(const Problem& problem, Peers& peers, std::vector<std::string>& notes) {
  constexpr std::int64_t kBlockRows = 8;
  std::vector<Dtype> outputs{problem.dtype};
  if (problem.dtype != Dtype::kF32) outputs.push_back(Dtype::kF32);
  for (const Dtype output : outputs) {
    for (const std::int64_t block_rows : {problem.rows, std::min(kBlockRows, problem.rows)}) {
      try {
        peers.push_back(std::make_unique<OneDnn>(problem, block_rows, output));
      } catch (const dnnl::error& error) {
        notes.push_back(std::string("onednn: skipped a configuration that it does not have: ") +
                        (problem.dtype == Dtype::kF32 ? "f32" : "bf16") + " logits, " +
                        (output == Dtype::kF32 ? "f32" : "bf16") + " output: " + error.what());
        break;
      }
    }
  }
}

std::string onednn_version() {
  const dnnl_version_t* version = dnnl::version();
  return std::to_string(version->major) + "." + std::to_string(version->minor) + "." + std::to_string(version->patch);
}

}  // namespace tokavg::peers
