// SPDX-License-Identifier: Apache-2.0
// One rank fails in its own call: the others learn it on the ticket, and the next step is fine.
#include <cmath>

#include "failures/row.hpp"
#include "failures/scenarios.hpp"

namespace failures {
namespace {

class Failures {
 public:
  explicit Failures(Play& play) : play_(play), context_(play.init()) {}

  // `breaks` is what the victim does in an otherwise good step.
  template <typename Breaks>
  void in_step(const std::string& name, const Breaks& breaks) {
    play_.call(name + ".count", context_, [&] { return tokavg_count_add(context_, 0, 2, 0.0, 1); });
    if (play_.is_victim()) breaks();
    finish(name, play_.reduce(name + ".reduce", context_, ++step_));
  }

  void bad_options(const std::string& name, const tokavg_reduce_t& options, bool with_ticket) {
    tokavg_ticket_t ticket = 0;
    if (play_.is_victim()) {
      play_.call(name, context_,
                 [&] { return tokavg_reduce(context_, &options, nullptr, with_ticket ? &ticket : nullptr); });
      ++step_;
      // Without a place for it the ticket still counts.
      finish(name, with_ticket ? ticket : newest_ + 1);
    } else {
      finish(name, play_.reduce(name + ".reduce", context_, ++step_));
    }
  }

  // Found on a ticket whose message has left: told with the next one.
  void late_label() {
    Row row(play_.is_victim() ? 99 : 3);
    play_.call("late_label.count", context_, [&] { return tokavg_count(context_, &row.as_labels, nullptr); });
    const tokavg_ticket_t ticket = play_.reduce("late_label.reduce", context_, ++step_);
    play_.wait("late_label.counts", context_, ticket);
    ++newest_;
    play_.call("late_label", context_, [&] { return tokavg_cross_entropy(context_, ticket, &row.ce, nullptr); });
    play_.also("untouched", row.gradient.front() == 7.0F);
    finish("late_label", play_.reduce("late_label.next_reduce", context_, ++step_));
  }

  void late_label_flushed() {
    Row row(play_.is_victim() ? 99 : 3);
    play_.call("flushed.count", context_, [&] { return tokavg_count(context_, &row.as_labels, nullptr); });
    const tokavg_ticket_t ticket = play_.reduce("flushed.reduce", context_, ++step_);
    ++newest_;
    play_.call("flushed", context_, [&] { return tokavg_cross_entropy(context_, ticket, &row.ce, nullptr); });
    play_.call("flushed.flush", context_, [&] { return tokavg_flush(context_, nullptr); });
    play_.wait("flushed.wait", context_, ticket, TOKAVG_WAIT_LOSS);
    // Told again by the next step, where every rank looks.
    finish("flushed_again", play_.reduce("flushed_again.reduce", context_, ++step_));
  }

  // Nobody is to blame alone: every rank gets the same error.
  void on_all(const std::string& name, std::int64_t tokens, double weight_sum) {
    play_.call(name + ".count", context_, [&] { return tokavg_count_add(context_, 0, tokens, weight_sum, 1); });
    finish(name, play_.reduce(name + ".reduce", context_, ++step_));
  }

  void on_two_ranks() {
    const bool fails = play_.is_victim() || play_.rank() == (play_.options().victim + 1) % play_.ranks();
    if (fails) play_.call("two_fail", context_, [&] { return tokavg_count(context_, nullptr, nullptr); });
    finish("two_fail", play_.reduce("two_fail.reduce", context_, ++step_));
  }

  void end() {
    play_.call("finalize", context_, [&] { return tokavg_finalize(context_); });
    play_.free("free", context_);
  }

  [[nodiscard]] tokavg_context_t* context() const { return context_; }
  [[nodiscard]] Play& play() const { return play_; }

 private:
  void finish(const std::string& name, tokavg_ticket_t ticket) {
    ++newest_;
    play_.wait(name + ".wait", context_, ticket);
    double factor = 0;
    play_.call(name + ".factor", context_,
               [&] { return tokavg_factor(context_, ticket, 0, TOKAVG_FACTOR_SCALE, &factor); });
    good(name + ".next");
  }

  void good(const std::string& tag) {
    ++newest_;
    play_.good_step(tag, context_, ++step_);
  }

  Play& play_;
  tokavg_context_t* context_;
  std::int64_t step_ = 0;
  tokavg_ticket_t newest_ = 0;
};

void break_steps(Failures& failures) {
  Play& play = failures.play();
  tokavg_context_t* context = failures.context();
  Row bad(99);
  failures.in_step("bad_label", [&] {
    play.call("bad_label", context, [&] { return tokavg_cross_entropy(context, TOKAVG_OPEN, &bad.ce, nullptr); });
    play.also("untouched", bad.gradient.front() == 7.0F);
  });
  failures.in_step("bad_shape", [&] {
    Row row(1);
    row.as_labels.rows = -1;
    play.call("bad_shape", context, [&] { return tokavg_count(context, &row.as_labels, nullptr); });
  });
  failures.in_step("no_labels",
                   [&] { play.call("no_labels", context, [&] { return tokavg_count(context, nullptr, nullptr); }); });
  failures.in_step("bad_weight", [&] {
    play.call("bad_weight", context, [&] { return tokavg_count_add(context, 0, 3, std::nan(""), 1); });
  });
  failures.in_step("overflow", [&] {
    play.call("overflow", context, [&] { return tokavg_count_add(context, 0, INT64_MAX, 0.0, 1); });
  });
  failures.in_step("bad_loss", [&] {
    tokavg_loss_t loss{};
    loss.struct_size = static_cast<std::uint32_t>(sizeof loss);
    play.call("bad_loss", context, [&] { return tokavg_loss(context, TOKAVG_OPEN, &loss, nullptr); });
  });
  failures.in_step("second_discard", [&] {
    play.call("first_discard", context, [&] { return tokavg_discard(context); });
    play.call("second_discard", context, [&] { return tokavg_discard(context); });
  });
}

}  // namespace

void local_failures(Play& play) {
  Failures failures(play);
  break_steps(failures);
  tokavg_reduce_t options{};
  options.struct_size = static_cast<std::uint32_t>(sizeof options);
  options.accumulation_divisor = -1;
  failures.bad_options("bad_divisor", options, true);
  options.accumulation_divisor = 0;
  options.flags = 64;
  failures.bad_options("bad_flags", options, true);
  options.flags = 0;
  failures.bad_options("no_ticket", options, false);
  failures.late_label();
  failures.late_label_flushed();
  failures.on_all("too_many_tokens", INT64_MAX, 0.0);
  failures.on_all("too_much_weight", 3, 0x1p54);
  if (play.ranks() > 2) failures.on_two_ranks();
  failures.end();
}

}  // namespace failures
