// SPDX-License-Identifier: Apache-2.0
// A context whose other ranks agree with it on the step, and send any numbers at all.
#include <cmath>

#include "base/message_words.hpp"
#include "core/agreement.hpp"
#include "message/parts.hpp"
#include "tokavg/tokavg.h"
#include "tokavg/transport_plugin.h"

namespace fuzz {
namespace {

using namespace tokavg;

// All ranks have said what this one says: {v, v*(rank+1), v*(rank+1)^2} becomes the sums over them.
void say_by_all(std::uint64_t* words, std::int32_t ranks) {
  const std::array<std::uint64_t, kRollWords> nobody{};
  const auto places = sums_of_places(nobody.data(), ranks);
  const std::uint64_t value = words[0];
  for (std::size_t i = 0; i < kRollWords; ++i) words[i] = value * places[i];
}

// The other ranks, as a table that this process makes up. This rank is 0, so that its words are v, v, v.
struct Others {
  Reader* in;
  std::int32_t ranks;
  std::uint64_t* words = nullptr;
  std::int64_t n_words = 0;
  bool met = false;

  void answer_handshake() {
    for (std::size_t at = 16; at + kRollWords <= kHandshakeWords; at += kRollWords) say_by_all(words + at, ranks);
    say_by_all(words, ranks);
    for (int at = 6; at <= 7; ++at) words[at] *= static_cast<std::uint64_t>(ranks);  // label ranks, copy indices
  }
  void answer() {
    say_by_all(words + kRollAt, ranks);
    for (std::size_t n = in->below(12); n > 0; --n) {
      const std::size_t at = kFailedAt + in->value<std::uint16_t>() % (static_cast<std::size_t>(n_words) - kFailedAt);
      words[at] += word(*in);
    }
  }
};

tokavg_status_t start(void* user, std::uint64_t* words, std::int64_t n_words, void** request_out) noexcept {
  auto* others = static_cast<Others*>(user);
  others->words = words;
  others->n_words = n_words;
  *request_out = others;
  others->met ? others->answer() : others->answer_handshake();
  others->met = true;
  return TOKAVG_OK;
}

tokavg_status_t test(void* /*user*/, void* /*request*/, std::int32_t* done_out) noexcept {
  *done_out = 1;
  return TOKAVG_OK;
}

void check(tokavg_status_t status) {
  EXPECT(status <= TOKAVG_EMPTY && status > TOKAVG_ERR_INTERNAL, "status %d", status);
}

void check_result(tokavg_context_t* ctx, tokavg_ticket_t ticket, std::int32_t terms, std::int32_t ranks) {
  tokavg_result_t result{};
  result.struct_size = sizeof result;
  check(tokavg_wait(ctx, ticket, TOKAVG_WAIT_LOSS, 0, &result));
  if (result.ticket == 0) return;
  for (std::int32_t t = 0; t < terms; ++t) {
    const std::int64_t least = std::min({result.tokens[t], result.local_tokens[t], result.loss_tokens[t],
                                         result.nonfinite[t], result.invalid_labels[t]});
    EXPECT(least >= 0, "a number of term %d is %lld", t, static_cast<long long>(least));
    EXPECT(!std::isnan(result.factor[t]) && std::isfinite(result.weight_sum[t]), "the factor of term %d", t);
  }
  const std::int64_t least = std::min({result.microbatches, result.audit_counted, result.audit_recorded});
  EXPECT(least >= 0, "a number of the step is %lld", static_cast<long long>(least));
  EXPECT(result.ranks == ranks && result.label_ranks == ranks, "%d ranks", result.ranks);
  EXPECT(std::min({result.empty_ranks, result.done_ranks, result.failed_ranks}) >= 0, "a number of ranks");
  EXPECT(result.first_failed_rank >= -1, "rank %d", result.first_failed_rank);
}

void do_something(Reader& in, tokavg_context_t* ctx, const tokavg_config_t& config, std::int32_t ranks,
                  tokavg_ticket_t& newest) {
  const auto term = static_cast<std::int32_t>(in.below(static_cast<std::size_t>(config.terms)));
  const auto older = newest - static_cast<tokavg_ticket_t>(in.below(4));
  const double value = 0.5;
  tokavg_loss_t loss{};
  switch (in.below(6)) {
    case 0: check(tokavg_count_add(ctx, term, static_cast<std::int64_t>(word(in) & INT64_MAX), 0, 1)); break;
    case 1:
      loss.struct_size = sizeof loss;
      loss.kind = TOKAVG_LOSS_SUM;
      loss.term = term;
      loss.tokens = static_cast<std::int64_t>(word(in) & INT64_MAX);
      loss.losses.data = const_cast<double*>(&value);
      loss.losses.dtype = TOKAVG_DTYPE_F64;
      check(tokavg_loss(ctx, in.coin() ? older : tokavg_ticket_t{TOKAVG_OPEN}, &loss, nullptr));
      break;
    case 2:
      check(tokavg_reduce(ctx, nullptr, nullptr, &newest));
      if (newest != 0) check_result(ctx, newest, config.terms, ranks);
      break;
    case 3: check(tokavg_flush(ctx, nullptr)); break;
    case 4: check(tokavg_progress(ctx)); break;
    default: check_result(ctx, older, config.terms, ranks);
  }
}

}  // namespace

void receive_in_a_context(Reader& in) {
  Others others{&in, static_cast<std::int32_t>(1 + in.below(5))};
  tokavg_transport_t table{};
  table.struct_size = sizeof table;
  table.version = TOKAVG_TRANSPORT_VERSION;
  table.ranks = others.ranks;
  table.user = &others;
  table.start = start;
  table.test = test;
  tokavg_config_t config{};
  config.struct_size = sizeof config;
  config.comm_kind = TOKAVG_COMM_CALLER;
  config.comm = &table;
  config.device = TOKAVG_DEVICE_HOST;
  config.gradient_reduction = TOKAVG_GRADIENT_MEAN;
  config.divisor = in.coin() ? TOKAVG_DIVISOR_TOKENS : TOKAVG_DIVISOR_WEIGHTS;
  config.terms = static_cast<std::int32_t>(1 + in.below(3));
  config.in_flight = static_cast<std::int32_t>(2 + in.below(3));
  config.flags = TOKAVG_CONFIG_NO_ENV;
  tokavg_context_t* ctx = nullptr;
  const tokavg_status_t made = tokavg_init(&config, &ctx);
  EXPECT(made == TOKAVG_OK, "tokavg_init: %d", made);
  tokavg_ticket_t newest = 0;
  for (int n = 0; n < 24 && !in.empty(); ++n) do_something(in, ctx, config, others.ranks, newest);
  if (in.coin()) check(tokavg_finalize(ctx));
  EXPECT(tokavg_free(ctx) == TOKAVG_OK, "tokavg_free");
}

}  // namespace fuzz
