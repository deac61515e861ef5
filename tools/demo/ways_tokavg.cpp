// SPDX-License-Identifier: Apache-2.0
// The two ways with tokavg, as an application would write them.
#include "common/context.hpp"
#include "demo/ways.hpp"

namespace tokavg_tool::demo {
namespace {

tokavg_config_t configure(const Setup& setup) {
  tokavg_config_t config = default_config();
  setup.team.fill(config);
  config.gradient_reduction = setup.options.sum_gradients ? TOKAVG_GRADIENT_SUM : TOKAVG_GRADIENT_MEAN;
  config.accumulation_divisor = setup.options.accumulation_divisor();
  config.ignore_index = kIgnore;
  return config;
}

/// What both ways do alike.
class TokavgStepper : public Stepper {
 public:
  explicit TokavgStepper(const Setup& setup) : setup_(setup), context_(configure(setup)) {}

 protected:
  [[nodiscard]] Microbatch part(int64_t step, int64_t index) const {
    return setup_.batches.part(step, setup_.team.ranks(), setup_.team.rank(), index);
  }

  void count(const Microbatch& batch) {
    const tokavg_labels_t labels = batch.view();
    context_.check(tokavg_count(context_.get(), &labels, nullptr), "tokavg_count");
  }

  /// Hands the losses of a microbatch over, with the labels that say which of them count.
  void record(tokavg_ticket_t ticket, const Microbatch& batch) {
    const tokavg_labels_t labels = batch.view();
    tokavg_loss_t loss{};
    loss.struct_size = sizeof loss;
    loss.kind = TOKAVG_LOSS_TOKEN_LOSSES;
    loss.rows = batch.rows;
    loss.cols = batch.cols;
    loss.losses.data = activations_.losses.data();
    loss.losses.dtype = TOKAVG_DTYPE_F64;
    loss.losses.memory = TOKAVG_MEMORY_HOST;
    loss.labels = &labels;
    context_.check(tokavg_loss(context_.get(), ticket, &loss, nullptr), "tokavg_loss");
  }

  void forward_pass(const Parameters& model, const Microbatch& batch) {
    forward(model, setup_.batches.text, batch, activations_);
  }

  void backward_pass(const Parameters& model, const Microbatch& batch, double scale, Parameters& gradient) {
    backward(model, setup_.batches.text, batch, activations_, scale, gradient);
  }

  void read_loss(tokavg_ticket_t ticket, Curve& curve) {
    const tokavg_result_t result = context_.wait(ticket, TOKAVG_WAIT_LOSS);
    curve.losses.push_back(result.mean_loss[0]);
    curve.exposed_seconds += result.exposed_seconds;
  }

  /// The trainer's own division for gradient accumulation, which the library is told of.
  [[nodiscard]] double own_scale() const { return 1.0 / setup_.options.accumulation_divisor(); }

  Setup setup_;
  Context context_;

 private:
  Activations activations_;
};

/// Counts all microbatches first; the factor scales each loss before its backward pass.
class TokavgPre : public TokavgStepper {
 public:
  using TokavgStepper::TokavgStepper;

  void step(int64_t index, const Parameters& model, Parameters& gradient, Curve& curve) override {
    std::vector<Microbatch> window;
    for (int64_t m = 0; m < setup_.batches.window; ++m) {
      window.push_back(part(index, m));
      count(window.back());
    }
    const tokavg_ticket_t ticket = context_.reduce(index);
    for (const Microbatch& batch : window) {
      forward_pass(model, batch);  // the counts are summed meanwhile
      record(ticket, batch);
      backward_pass(model, batch, own_scale() * context_.factor(ticket), gradient);
    }
    reduce_gradient(setup_, gradient);
    // Losses travel with the next reduce, so a step's mean loss is read one step later: nobody waits for it.
    if (previous_ != 0) {
      read_loss(previous_, curve);
    }
    previous_ = ticket;
  }

  void finish(Curve& curve) override {
    context_.check(tokavg_flush(context_.get(), nullptr), "tokavg_flush");
    read_loss(previous_, curve);
    context_.finalize();
  }

 private:
  tokavg_ticket_t previous_ = 0;
};

/// Counts as the data stream in; the factor scales the gradients after their reduction.
class TokavgPost : public TokavgStepper {
 public:
  using TokavgStepper::TokavgStepper;

  void step(int64_t index, const Parameters& model, Parameters& gradient, Curve& curve) override {
    tokavg_ticket_t ticket = 0;
    for (int64_t m = 0; m < setup_.batches.window; ++m) {
      const Microbatch batch = part(index, m);
      count(batch);
      forward_pass(model, batch);
      record(TOKAVG_OPEN, batch);
      if (m + 1 == setup_.batches.window) {
        ticket = context_.reduce(index);
      }
      backward_pass(model, batch, own_scale(), gradient);
    }
    reduce_gradient(setup_, gradient);
    scale(ticket, gradient);
    read_loss(ticket, curve);
  }

  void finish(Curve&) override { context_.finalize(); }

 private:
  void scale(tokavg_ticket_t ticket, Parameters& gradient) {
    std::vector<tokavg_scale_item_t> items;
    for (const std::span<double> part : gradient.parts()) {
      items.push_back({part.data(), std::ssize(part), TOKAVG_DTYPE_F64, TOKAVG_MEMORY_HOST});
    }
    tokavg_scale_t scale{};
    scale.struct_size = sizeof scale;
    scale.item_size = sizeof items[0];
    scale.items = items.data();
    scale.n_items = std::ssize(items);
    scale.kind = TOKAVG_FACTOR_SCALE;
    context_.check(tokavg_scale(context_.get(), ticket, &scale, nullptr), "tokavg_scale");
  }
};

}  // namespace

std::unique_ptr<Stepper> make_tokavg_pre(const Setup& setup) { return std::make_unique<TokavgPre>(setup); }

std::unique_ptr<Stepper> make_tokavg_post(const Setup& setup) { return std::make_unique<TokavgPost>(setup); }

}  // namespace tokavg_tool::demo
