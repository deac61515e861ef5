// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cmath>
#include <cstdio>
#include <limits>
#include <string>
#include <vector>

#include "contract/team.hpp"
#include "cuda/checks.hpp"
#include "cuda/gpu.hpp"

namespace cuda_test {

inline constexpr std::int64_t kTimeoutMs = 600;

// The deadline and 0.1 s, by which streams have drained.
inline constexpr double kDrained = kTimeoutMs / 1000.0 + 0.1;

// The emulator's threads share few cores with all ranks, and with a sanitizer.
#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
inline constexpr double kSlack = 10;
#else
inline constexpr double kSlack = 2;
#endif

enum class Trouble { kNeverJoins, kAborts, kFails };
inline constexpr Trouble kTroubles[] = {Trouble::kNeverJoins, Trouble::kAborts, Trouble::kFails};

// A rank of a team whose last one makes the trouble.
class LateRank {
 public:
  // knows_who: the texts name the rank that is missing.
  LateRank(contract::Team& team, Checks& checks, bool knows_who)
      : team_(team), checks_(checks), knows_who_(knows_who), gradient_(4) {
    tokavg_config_t config;
    tokavg_config_init(&config, static_cast<std::uint32_t>(sizeof config));
    team.configure(config);
    config.gradient_reduction = TOKAVG_GRADIENT_SUM;
    config.timeout_ms = kTimeoutMs;
    checks_.expect(tokavg_init(&config, &context_) == TOKAVG_OK, name() + contract::last_error(nullptr));
    gradient_.put(ones_, stream_);
    stream_.wait();
  }
  ~LateRank() { tokavg_free(context_); }
  LateRank(const LateRank&) = delete;
  LateRank& operator=(const LateRank&) = delete;

  void run(Trouble trouble) {
    if (context_ == nullptr) return;
    meet();
    const bool is_last = team_.rank() == team_.ranks() - 1;
    if (is_last && trouble == Trouble::kNeverJoins) return meet();
    if (is_last && trouble == Trouble::kAborts) {
      tokavg_abort(context_);
      return meet();
    }
    const Array<std::int64_t> labels({1, 2, -100}, stream_);
    stream_.wait();
    tokavg_labels_t given = labels_of(labels, 1, 3);
    checks_.expect(tokavg_count(context_, &given, stream_.get()) == TOKAVG_OK, name() + "tokavg_count");
    if (is_last) {
      given.rows = -1;
      checks_.expect(tokavg_count(context_, &given, stream_.get()) == TOKAVG_ERR_ARGUMENT, name() + "a bad shape");
    }
    tokavg_ticket_t ticket = 0;
    checks_.expect(tokavg_reduce(context_, nullptr, stream_.get(), &ticket) == TOKAVG_OK, name() + "tokavg_reduce");
    const auto begin = std::chrono::steady_clock::now();
    scale(ticket);
    stream_.wait();
    const double drained = seconds_since(begin);
    for (const float value : gradient_.get(stream_)) checks_.expect(std::isnan(value), name() + "the gradient is NaN");
    const tokavg_status_t status = tokavg_wait(context_, ticket, TOKAVG_WAIT_COUNT, -1, nullptr);
    check_outcome(trouble, is_last, status, contract::last_error(context_), drained);
    meet();
  }

  // Seconds until the stream was empty; 0: it did not wait.
  [[nodiscard]] double drained() const { return drained_; }

 private:
  // All ranks of the team.
  void meet() {
    double one = 1;
    team_.sum({&one, 1});
  }
  static double seconds_since(std::chrono::steady_clock::time_point begin) {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  }
  [[nodiscard]] std::string name() const {
    return "rank " + std::to_string(team_.rank()) + " of " + std::to_string(team_.ranks()) + ": ";
  }

  void scale(tokavg_ticket_t ticket) {
    const tokavg_scale_item_t item = {gradient_.data(), 4, TOKAVG_DTYPE_F32, TOKAVG_MEMORY_CUDA};
    const tokavg_scale_t scale = scale_of(item);
    const tokavg_status_t status = tokavg_scale(context_, ticket, &scale, stream_.get());
    if (status == TOKAVG_OK) return;
    // The abort, or a failed step, was already known: then nothing was enqueued, and nothing is left unscaled unseen.
    gradient_.put(std::vector<float>(4, std::numeric_limits<float>::quiet_NaN()), stream_);
    stream_.wait();
  }

  void check_outcome(Trouble trouble, bool is_last, tokavg_status_t status, const std::string& text, double drained) {
    const std::string what = name() + tokavg_status_name(status) + " after " + std::to_string(drained) + " s: " + text;
    const double limit = kDrained;
    drained_ = drained;
    if (trouble == Trouble::kNeverJoins) {
      std::printf("%sdrained after %.3f s, where the deadline is %.1f s\n", name().c_str(), drained,
                  kTimeoutMs / 1000.0);
      checks_.expect(status == TOKAVG_ERR_TIMEOUT && text.find("step 1") != std::string::npos, what);
      checks_.expect(drained > 0.9 * kTimeoutMs / 1000.0 && drained < limit + kSlack, what);
      const std::string who = "rank " + std::to_string(team_.ranks() - 1);
      if (knows_who_) checks_.expect(text.find(who) != std::string::npos, what);
      checks_.expect(tokavg_reduce(context_, nullptr, stream_.get(), &ticket_) == TOKAVG_ERR_TIMEOUT && ticket_ == 0,
                     name() + "the context has failed for good");
    } else if (trouble == Trouble::kAborts) {
      // NCCL tells nobody of an abort elsewhere.
      const bool unheard = status == TOKAVG_ERR_TIMEOUT || status == TOKAVG_ERR_TRANSPORT;
      checks_.expect(status == TOKAVG_ERR_ABORTED || (!knows_who_ && unheard), what);
      checks_.expect(drained < limit + kSlack, what);
    } else {
      checks_.expect(status == (is_last ? TOKAVG_ERR_ARGUMENT : TOKAVG_ERR_PEER), what);
      checks_.expect(drained < limit + kSlack, what);
    }
  }

  const std::vector<float> ones_ = std::vector<float>(4, 1.0F);
  contract::Team& team_;
  Checks& checks_;
  const bool knows_who_;
  Stream stream_;
  Array<float> gradient_;
  tokavg_context_t* context_ = nullptr;
  tokavg_ticket_t ticket_ = 0;
  double drained_ = 0;
};

}  // namespace cuda_test
