// SPDX-License-Identifier: Apache-2.0
#include "soak/player.hpp"

#include <stdexcept>

namespace soak {
namespace {

constexpr int kCheckEvery = 23;  // steps between looks at all that is kept
constexpr std::int64_t kLabels = 64;

// Two labels scored, then one ignored, and so on: as many columns as hold `tokens`.
std::int64_t columns_of(std::int64_t tokens) { return tokens + tokens / 2; }

}  // namespace

Player::Player(contract::Team& team, const Life& life) : team_(team), life_(life) {
  for (std::int64_t i = 0; i < kLabels; ++i) labels_.push_back(i % 3 == 2 ? -100 : i);
  tokavg_config_t config;
  tokavg_config_init(&config, static_cast<std::uint32_t>(sizeof config));
  team.configure(config);
  config.gradient_reduction = TOKAVG_GRADIENT_MEAN;
  config.terms = life.terms;
  config.in_flight = life.in_flight;
  config.flags |= TOKAVG_CONFIG_NO_ENV;
  must(tokavg_init(&config, &context_), "tokavg_init");
}

Player::~Player() { tokavg_free(context_); }

void Player::fail(const std::string& what) const {
  throw std::runtime_error("rank " + std::to_string(team_.rank()) + ", step " + std::to_string(step_) + " of life " +
                           std::to_string(life_.seed) + ": " + what);
}

void Player::must(tokavg_status_t status, const char* call) {
  if (status != TOKAVG_OK) fail(std::string(call) + ": " + contract::status_text(status, context_));
}

template <typename Value>
void Player::equal(const Value& got, const Value& wanted, const char* what) const {
  if (got != wanted) fail(std::string(what) + " " + std::to_string(got) + ", not " + std::to_string(wanted));
}

void Player::count(const Part& part) {
  for (const Microbatch& microbatch : part.microbatches) {
    bool begins = true;
    for (const Count& count : microbatch.counts) {
      if (count.by_labels) {
        tokavg_labels_t labels{};
        labels.struct_size = static_cast<std::uint32_t>(sizeof labels);
        labels.flags = begins ? 0 : TOKAVG_LABELS_SAME_MICROBATCH;
        labels.term = count.term;
        labels.rows = 1;
        labels.cols = columns_of(count.tokens);
        labels.labels = {labels_.data(), TOKAVG_DTYPE_I64, TOKAVG_MEMORY_HOST, 0, 0};
        must(tokavg_count(context_, &labels, nullptr), "tokavg_count");
      } else {
        must(tokavg_count_add(context_, count.term, count.tokens, 0, begins ? 1 : 0), "tokavg_count_add");
      }
      begins = false;
    }
    for (const Loss& loss : microbatch.losses) {
      if (!loss.on_ticket) record(TOKAVG_OPEN, loss);
    }
    if (microbatch.discarded) must(tokavg_discard(context_), "tokavg_discard");
  }
}

void Player::record(tokavg_ticket_t ticket, const Loss& loss) {
  double value = static_cast<double>(loss.units) * kUnit;
  tokavg_loss_t given{};
  given.struct_size = static_cast<std::uint32_t>(sizeof given);
  given.kind = TOKAVG_LOSS_SUM;
  given.term = loss.term;
  given.tokens = loss.tokens;
  given.losses = {&value, TOKAVG_DTYPE_F64, TOKAVG_MEMORY_HOST, 0, 0};
  must(tokavg_loss(context_, ticket, &given, nullptr), "tokavg_loss");
}

void Player::record_rest(Kept& kept) {
  for (const Loss& loss : kept.unrecorded) record(kept.ticket, loss);
  kept.unrecorded.clear();
}

void Player::reduce(const Part& part) {
  tokavg_reduce_t options{};
  options.struct_size = static_cast<std::uint32_t>(sizeof options);
  options.flags = TOKAVG_REDUCE_STEP_ID;
  options.step_id = step_;
  if (part.done) options.flags |= TOKAVG_REDUCE_DONE;
  Kept kept{step_, 0, {}};
  must(tokavg_reduce(context_, &options, nullptr, &kept.ticket), "tokavg_reduce");
  equal<std::int64_t>(kept.ticket, step_, "ticket");
  for (const Microbatch& microbatch : part.microbatches) {
    for (const Loss& loss : microbatch.losses) {
      if (loss.on_ticket && !microbatch.discarded) kept.unrecorded.push_back(loss);
    }
  }
  // Every other step's losses come a step later, while the ticket is still kept.
  if (step_ % 2 == 0 || life_.in_flight < 3) record_rest(kept);
  kept_.push_back(std::move(kept));
  if (kept_.size() > static_cast<std::size_t>(life_.in_flight)) kept_.pop_front();
}

bool Player::check(const Kept& kept, bool losses) {
  const Sums sums = life_.sums(kept.step);
  Sums mine;
  add(life_.part(team_.rank(), kept.step), mine);
  tokavg_result_t result{};
  result.struct_size = static_cast<std::uint32_t>(sizeof result);
  const tokavg_status_t status =
      tokavg_wait(context_, kept.ticket, losses ? TOKAVG_WAIT_LOSS : TOKAVG_WAIT_COUNT, -1, &result);
  std::int64_t all = 0;
  for (const std::int64_t tokens : sums.tokens) all += tokens;
  if (status != (all == 0 ? TOKAVG_EMPTY : TOKAVG_OK)) fail("tokavg_wait: " + contract::status_text(status, context_));
  equal<std::int64_t>(result.step_id, kept.step, "step_id");
  equal(result.microbatches, sums.microbatches, "microbatches");
  equal(result.empty_ranks, sums.empty_ranks, "empty ranks");
  equal(result.done_ranks, sums.done_ranks, "done ranks");
  equal(result.failed_ranks, 0, "failed ranks");
  equal<std::int64_t>(result.audit_ticket, 0, "audit ticket");
  for (std::size_t t = 0; t < static_cast<std::size_t>(life_.terms); ++t) {
    equal(result.tokens[t], sums.tokens[t], "tokens");
    equal(result.local_tokens[t], mine.tokens[t], "local tokens");
    const auto n = static_cast<double>(sums.tokens[t]);
    equal(result.factor[t], n == 0 ? 0.0 : static_cast<double>(life_.ranks) / n, "factor");
    if (!losses || !life_.losses) continue;
    equal(result.loss_tokens[t], sums.tokens[t], "loss tokens");
    const double sum = static_cast<double>(sums.loss_units[t]) * kUnit;
    equal(result.loss_sum[t], sum, "loss sum");
    equal(result.mean_loss[t], n == 0 ? 0.0 : sum / n, "mean loss");
  }
  return sums.done_ranks < life_.ranks;
}

void Player::check_all() {
  for (Kept& kept : kept_) record_rest(kept);
  must(tokavg_flush(context_, nullptr), "tokavg_flush");
  for (const Kept& kept : kept_) static_cast<void>(check(kept, life_.losses));
}

int Player::run() {
  for (bool goes_on = true; goes_on;) {
    ++step_;
    const Part part = life_.part(team_.rank(), step_);
    count(part);
    // What was left of the step before.
    if (!kept_.empty()) record_rest(kept_.back());
    reduce(part);
    waits_ = waits_ || part.done;
    if (waits_ || step_ >= life_.steps) {
      goes_on = check(kept_.back(), false);
    } else if (step_ % 3 == 0) {
      static_cast<void>(check(kept_.front(), false));
    }
    if (step_ % kCheckEvery == 0) check_all();
  }
  check_all();
  must(tokavg_finalize(context_), "tokavg_finalize");
  return step_;
}

}  // namespace soak
