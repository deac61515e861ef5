// SPDX-License-Identifier: Apache-2.0
#include "contract/trainer.hpp"

namespace contract {
namespace {

// One rank of the data-parallel step.
class RankTrainer {
 public:
  RankTrainer(const Trainer& trainer, Way way, const Cells& cells, Team& team)
      : trainer_(trainer),
        way_(way),
        mine_(cells[static_cast<std::size_t>(team.rank())]),
        team_(team),
        memory_(team.memory()) {
    tokavg_config_t config;
    tokavg_config_init(&config, static_cast<std::uint32_t>(sizeof config));
    team.configure(config);
    config.gradient_reduction = trainer.averages ? TOKAVG_GRADIENT_MEAN : TOKAVG_GRADIENT_SUM;
    config.accumulation_divisor = trainer.divides_accumulation ? static_cast<double>(mine_.size()) : 1.0;
    config.divisor = trainer.weighted ? TOKAVG_DIVISOR_WEIGHTS : TOKAVG_DIVISOR_TOKENS;
    config.terms = trainer.terms;
    config.microbatch_shards = trainer.shards;
    config.timeout_ms = 60000;
    check(tokavg_init(&config, &context_), "tokavg_init");
  }
  RankTrainer(const RankTrainer&) = delete;
  RankTrainer& operator=(const RankTrainer&) = delete;
  ~RankTrainer() { tokavg_free(context_); }

  Outcome step() {
    outcome_.gradient = zeros();
    if (context_ == nullptr) return outcome_;
    if (way_ == Way::kGradientScaled) {
      for (const auto& list : mine_) accumulate(list, TOKAVG_OPEN);
      reduce();
    } else {
      for (const auto& list : mine_) {
        for (const Microbatch& batch : list) count(batch);
      }
      reduce();
      for (const auto& list : mine_) accumulate(list, ticket_);
    }
    check(tokavg_flush(context_, memory_.stream()), "tokavg_flush");
    finish();
    memory_.clear();
    return outcome_;
  }

 private:
  void check(tokavg_status_t status, const char* call) {
    if (status == TOKAVG_OK || !outcome_.fault.empty()) return;
    outcome_.fault = std::string(call) + ": " + status_text(status, context_);
  }

  template <typename Value>
  tokavg_array_t array_of(const std::vector<Value>& values, std::int32_t dtype) {
    tokavg_array_t array{};
    array.data = memory_.put(values);
    array.dtype = dtype;
    return array;
  }

  tokavg_labels_t labels_of(const Microbatch& batch, const Forward& run, int term) {
    tokavg_labels_t labels{};
    labels.struct_size = static_cast<std::uint32_t>(sizeof labels);
    labels.flags = term > 0 ? static_cast<std::uint32_t>(TOKAVG_LABELS_SAME_MICROBATCH) : 0U;
    labels.term = term;
    labels.rows = batch.rows;
    labels.cols = batch.cols;
    labels.labels = array_of(run.labels, TOKAVG_DTYPE_I64);
    if (trainer_.weighted) labels.weights = array_of(run.weights, TOKAVG_DTYPE_F64);
    return labels;
  }

  void count(const Microbatch& batch) {
    for (int term = 0; term < trainer_.terms; ++term) {
      Forward run = forward(batch, term, trainer_.weighted);
      const tokavg_labels_t labels = labels_of(batch, run, term);
      check(tokavg_count(context_, &labels, memory_.stream()), "tokavg_count");
    }
  }

  void reduce() { check(tokavg_reduce(context_, nullptr, memory_.stream(), &ticket_), "tokavg_reduce"); }

  double own_divisor() const { return trainer_.divides_accumulation ? static_cast<double>(mine_.size()) : 1.0; }

  // Forward and backward of one accumulation step; the trainer's own division is part of it.
  void accumulate(const std::vector<Microbatch>& list, tokavg_ticket_t ticket) {
    for (const Microbatch& batch : list) {
      if (ticket == TOKAVG_OPEN) count(batch);
      for (int term = 0; term < trainer_.terms; ++term) {
        Forward run = forward(batch, term, trainer_.weighted);
        const double coefficient = (term == 0 ? 1.0 : kSecondTerm) / own_divisor();
        add(outcome_.gradient, way_ == Way::kFused ? fused(batch, run, term) : recorded(batch, run, term, ticket),
            coefficient);
      }
      outcome_.batch_term += batch_level(batch) / own_divisor();
    }
  }

  // tokavg_loss, and the gradient of what it says to call backward on.
  Gradient recorded(const Microbatch& batch, Forward& run, int term, tokavg_ticket_t ticket) {
    const tokavg_labels_t labels = labels_of(batch, run, term);
    double backward = 0;
    double sum = 0;
    tokavg_loss_t loss{};
    loss.struct_size = static_cast<std::uint32_t>(sizeof loss);
    loss.kind = TOKAVG_LOSS_TOKEN_LOSSES;
    loss.term = term;
    loss.rows = batch.rows;
    loss.cols = batch.cols;
    loss.losses = array_of(run.losses, TOKAVG_DTYPE_F64);
    loss.labels = &labels;
    loss.sum_out = static_cast<double*>(memory_.put(&sum, sizeof sum));
    if (way_ != Way::kFactor) loss.backward_out = memory_.put(&backward, sizeof backward);
    check(tokavg_loss(context_, ticket, &loss, memory_.stream()), "tokavg_loss");
    memory_.get(&sum, loss.sum_out, sizeof sum);
    if (way_ != Way::kFactor) memory_.get(&backward, loss.backward_out, sizeof backward);
    double scale = sum == 0 ? 0 : backward / sum;  // d(backward) / dS
    if (way_ == Way::kFactor)
      check(tokavg_factor(context_, ticket, term, TOKAVG_FACTOR_SCALE, &scale), "tokavg_factor");
    Gradient gradient = zeros();
    add(gradient, run.sum_gradient, scale);
    return gradient;
  }

  Gradient fused(const Microbatch& batch, Forward& run, int term) {
    const tokavg_labels_t labels = labels_of(batch, run, term);
    std::vector<float> gradient(run.logits.size(), -1.0F);
    tokavg_cross_entropy_t ce{};
    ce.struct_size = static_cast<std::uint32_t>(sizeof ce);
    ce.logits = array_of(run.logits, TOKAVG_DTYPE_F32);
    ce.vocab = kVocab;
    ce.labels = &labels;
    ce.gradient_out = array_of(gradient, TOKAVG_DTYPE_F32);
    check(tokavg_cross_entropy(context_, ticket_, &ce, memory_.stream()), "tokavg_cross_entropy");
    memory_.get(gradient, ce.gradient_out.data);
    return backward(batch, gradient);
  }

  // The trainer's own reduction, then what is left to do.
  void finish() {
    std::vector<double> all = outcome_.gradient;
    all.push_back(outcome_.batch_term);
    team_.sum(all);
    if (trainer_.averages) {
      for (double& value : all) value /= team_.ranks();
    }
    double of_batches = 0;
    check(tokavg_factor(context_, ticket_, 0, TOKAVG_FACTOR_MICROBATCH, &of_batches), "tokavg_factor");
    outcome_.batch_term = all.back() * of_batches;
    all.pop_back();
    outcome_.gradient = all;
    if (way_ == Way::kGradientScaled) scale_gradient();
    tokavg_result_t result{};
    result.struct_size = static_cast<std::uint32_t>(sizeof result);
    check(tokavg_wait(context_, ticket_, TOKAVG_WAIT_LOSS, -1, &result), "tokavg_wait");
    outcome_.mean_loss = result.mean_loss[0];
    check(tokavg_finalize(context_), "tokavg_finalize");
  }

  void scale_gradient() {
    const tokavg_scale_item_t item = {memory_.put(outcome_.gradient),
                                      static_cast<std::int64_t>(outcome_.gradient.size()), TOKAVG_DTYPE_F64,
                                      memory_.kind()};
    tokavg_scale_t scale{};
    scale.struct_size = static_cast<std::uint32_t>(sizeof scale);
    scale.item_size = static_cast<std::uint32_t>(sizeof item);
    scale.items = &item;
    scale.n_items = 1;
    scale.kind = TOKAVG_FACTOR_SCALE;
    check(tokavg_scale(context_, ticket_, &scale, memory_.stream()), "tokavg_scale");
    memory_.get(outcome_.gradient, item.data);
  }

  const Trainer& trainer_;
  const Way way_;
  const std::vector<std::vector<Microbatch>>& mine_;
  Team& team_;
  Memory& memory_;
  tokavg_context_t* context_ = nullptr;
  tokavg_ticket_t ticket_ = 0;
  Outcome outcome_;
};

}  // namespace

Outcome train(const Trainer& trainer, Way way, const Cells& cells, Team& team) {
  return RankTrainer(trainer, way, cells, team).step();
}

double batch_level(const Microbatch& batch) { return 0.5 + static_cast<double>(batch.tokens.size()); }

Reference one_process(const Trainer& trainer, const Cells& cells) {
  Reference reference{zeros(), zeros()};
  double microbatches = 0;
  for (int term = 0; term < trainer.terms; ++term) {
    Gradient sum = zeros();
    double z = 0;
    double loss = 0;
    const double coefficient = term == 0 ? 1.0 : kSecondTerm;
    for (const auto& rank : cells) {
      for (const auto& list : rank) {
        for (const Microbatch& batch : list) {
          const Forward run = forward(batch, term, trainer.weighted);
          add(sum, run.sum_gradient, 1.0);
          z += run.weight;
          for (std::size_t i = 0; i < run.losses.size(); ++i) {
            if (run.labels[i] != kIgnored) loss += run.losses[i] * (trainer.weighted ? run.weights[i] : 1.0);
          }
          const auto cells_of_rank = static_cast<double>(rank.size() * list.size());
          if (run.weight > 0) {
            add(reference.local_means, run.sum_gradient,
                coefficient / run.weight / cells_of_rank / static_cast<double>(cells.size()));
          }
          if (term == 0) reference.batch_term += batch_level(batch);
          if (term == 0) microbatches += 1.0 / trainer.shards;
        }
      }
    }
    add(reference.gradient, sum, z > 0 ? coefficient / z : 0.0);
    if (term == 0) reference.loss = z > 0 ? loss / z : 0.0;
  }
  if (microbatches > 0) reference.batch_term /= microbatches;
  return reference;
}

}  // namespace contract
