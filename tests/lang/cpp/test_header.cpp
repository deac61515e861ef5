// SPDX-License-Identifier: Apache-2.0
// What tokavg.hpp promises beside the numbers: both kinds of errors, life, and that no span is read beyond its end.
#include <array>
#include <cstdio>
#include <stdexcept>
#include <string>
#include <thread>
#include <tokavg/tokavg.hpp>
#include <vector>

namespace {

int failures = 0;

void expect(bool truth, const char* what, int line) {
  if (truth) return;
  std::printf("line %d: %s\n", line, what);
  ++failures;
}
#define EXPECT(truth) expect(truth, #truth, __LINE__)

template <class Exception, class Call>
std::string thrown_by(Call call) {
  try {
    call();
  } catch (const Exception& error) {
    return error.what();
  }
  return {};
}

bool contains(const std::string& text, const char* part) { return text.find(part) != std::string::npos; }

tokavg::Context make() { return {tokavg::self(), {.gradient = tokavg::Gradient::mean}}; }

void errors_as_exceptions() {
  EXPECT(contains(thrown_by<tokavg::Error>(
                      [] { tokavg::Context(tokavg::self(), {.gradient = tokavg::Gradient::mean, .terms = 99}); }),
                  "config.terms is 99"));
  tokavg::Context context = make();
  EXPECT(contains(thrown_by<tokavg::Error>([&] { context.count_add(3, 1); }), "term is 3"));
  try {
    context.discard();
  } catch (const tokavg::Error& error) {
    EXPECT(error.status() == TOKAVG_ERR_STATE);
    EXPECT(error.code().category() == tokavg::category());
    EXPECT(contains(error.what(), "no microbatch to discard"));
  }
}

void errors_as_values() {
  std::error_code code;
  tokavg::Context none =
      tokavg::Context::open(tokavg::self(), {.gradient = tokavg::Gradient::sum, .in_flight = 99}, code);
  EXPECT(code.value() == TOKAVG_ERR_CONFIG && none.get() == nullptr);
  EXPECT(contains(tokavg::last_error(nullptr), "in_flight is 99"));
  none.finalize(code);
  EXPECT(code.value() == TOKAVG_ERR_HANDLE && code.message() == "TOKAVG_ERR_HANDLE");
  tokavg::Context context = tokavg::Context::open(tokavg::self(), {.gradient = tokavg::Gradient::sum}, code);
  EXPECT(!code);
  context.discard(code);
  EXPECT(code.value() == TOKAVG_ERR_STATE && contains(context.last_error(), "no microbatch to discard"));
}

void pending_and_empty_are_no_errors() {
  tokavg::Context context = make();
  const tokavg::Ticket first = context.reduce();
  EXPECT(context.wait(first).state == tokavg::State::empty);
  const std::array<std::int64_t, 3> y{1, -100, 2};
  context.count(tokavg::Labels::row_of(y));
  const tokavg::Ticket second = context.reduce({.step_id = 7});
  EXPECT(first < second);
  const std::vector<float> losses{1, 2, 4};
  const tokavg::Labels labels = tokavg::Labels::row_of(y);
  EXPECT(context.loss(second, {.losses = losses, .labels = labels}).sum == 5);
  EXPECT(context.wait(second, tokavg::Wait::loss, 0).state == tokavg::State::pending);
  context.flush();
  const tokavg::Step step = context.wait(second, tokavg::Wait::loss);
  EXPECT(step.state == tokavg::State::ready && step.result.mean_loss[0] == 2.5 && step.result.step_id == 7);
  context.finalize();
}

void spans_that_are_too_short() {
  tokavg::Context context = make();
  const std::vector<std::int32_t> y{1, 0, 2, 1};
  const std::vector<std::uint8_t> mask{1, 1, 1};
  const tokavg::Labels labels{.rows = 2, .cols = 2, .labels = y, .mask = mask};
  EXPECT(contains(thrown_by<std::invalid_argument>([&] { context.count(labels); }), "mask holds 3 elements"));
  const tokavg::Labels good{.rows = 2, .cols = 2, .labels = y};
  std::vector<float> logits(11);
  EXPECT(contains(thrown_by<std::invalid_argument>(
                      [&] { context.cross_entropy(tokavg::kOpen, {.logits = logits, .vocab = 3, .labels = good}); }),
                  "its shape needs 12"));
}

void cross_entropy_and_scale() {
  tokavg::Context context = make();
  const std::vector<std::int32_t> y{1, 0};
  const tokavg::Labels labels = tokavg::Labels::row_of(y);
  context.count(labels);
  const tokavg::Ticket step = context.reduce();
  std::vector<float> logits{0, 0, 0, 0};
  std::vector<float> lse(2);
  std::vector<std::int32_t> argmax(2);
  const tokavg::Recorded recorded = context.cross_entropy(
      step, {.logits = logits, .vocab = 2, .labels = labels, .gradient = logits, .lse = lse, .argmax = argmax});
  EXPECT(logits[0] == 0.25F && logits[1] == -0.25F && logits[2] == -0.25F);
  EXPECT(recorded.sum > 1.38 && recorded.sum < 1.39 && recorded.backward < 0.7);
  EXPECT(lse[1] > 0.69F && argmax[0] == 0);
  context.count(labels);
  const tokavg::Ticket next = context.reduce();
  std::vector<double> wide{2, 4};
  std::array<tokavg::BFloat16, 1> narrow{{{0x4080}}};  // 4
  context.scale(next, wide, narrow);
  EXPECT(wide[1] == 2 && narrow[0].bits == 0x4000 && context.factor(next) == 0.5);
  context.release(next);
  EXPECT(contains(context.describe(), "\"host\"") && contains(tokavg::Context::description_of(nullptr), "version"));
}

void life() {
  tokavg::Context first = make();
  tokavg::Context second = std::move(first);
  EXPECT(first.get() == nullptr && second.get() != nullptr);  // NOLINT(bugprone-use-after-move): that is the question
  first = std::move(second);
  second = make();
  first.finalize();
  EXPECT(thrown_by<tokavg::Error>([&] { first.reduce(); }) != "");
}

void threads() {
  tokavg::ThreadGroup group(2);
  std::array<double, 2> factors{};
  std::array<std::thread, 2> ranks;
  for (int rank = 0; rank < 2; ++rank) {
    ranks[static_cast<std::size_t>(rank)] = std::thread([&factors, &group, rank] {
      tokavg::Context context(tokavg::threads(group, rank), {.gradient = tokavg::Gradient::mean});
      context.count_add(0, 1 + 2 * rank);
      factors[static_cast<std::size_t>(rank)] = context.factor(context.reduce());
      context.finalize();
    });
  }
  for (std::thread& thread : ranks) thread.join();
  EXPECT(factors[0] == 0.5 && factors[1] == 0.5);
}

}  // namespace

int main() {
  errors_as_exceptions();
  errors_as_values();
  pending_and_empty_are_no_errors();
  spans_that_are_too_short();
  cross_entropy_and_scale();
  life();
  threads();
  std::printf("%d failures\n", failures);
  return failures == 0 ? 0 : 1;
}
