// SPDX-License-Identifier: Apache-2.0
// late_peer: a rank that never joins a step. On all others the streams drain within the deadline + 0.1 s, the factor is
// NaN, so the gradients are, and the status names the step. Also a rank that aborts, and one that fails locally.
#include <chrono>
#include <cmath>
#include <condition_variable>
#include <cstdio>
#include <limits>

#include "contract/team.hpp"
#include "cuda/checks.hpp"
#include "cuda/cuda_memory.hpp"
#include "cuda/gpu.hpp"
#include "cuda/nccl_team.hpp"

using namespace cuda_test;
using contract::Team;

namespace {

constexpr std::int64_t kTimeoutMs = 600;

// The emulator's threads share few cores with all ranks, and with a sanitizer.
#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
constexpr double kSlack = 10;
#else
constexpr double kSlack = 0.5;
#endif

// Where all threads of a team meet.
class Gate {
 public:
  explicit Gate(int ranks) : ranks_(ranks) {}
  void pass() {
    std::unique_lock lock(mutex_);
    const int round = round_;
    if (++here_ == ranks_) {
      here_ = 0;
      ++round_;
      all_.notify_all();
      return;
    }
    all_.wait(lock, [&] { return round_ != round; });
  }

 private:
  int ranks_;
  std::mutex mutex_;
  std::condition_variable all_;
  int here_ = 0;
  int round_ = 0;
};

enum class Trouble { kNeverJoins, kAborts, kFails };

class Rank {
 public:
  Rank(Team& team, Checks& checks, Gate& gate, bool knows_who)
      : team_(team), checks_(checks), gate_(gate), knows_who_(knows_who), gradient_(4) {
    tokavg_config_t config;
    tokavg_config_init(&config, static_cast<std::uint32_t>(sizeof config));
    team.configure(config);
    config.gradient_reduction = TOKAVG_GRADIENT_SUM;
    config.timeout_ms = kTimeoutMs;
    checks_.expect(tokavg_init(&config, &context_) == TOKAVG_OK, name() + contract::last_error(nullptr));
    gradient_.put(ones_, stream_);
    stream_.wait();
  }
  ~Rank() { tokavg_free(context_); }
  Rank(const Rank&) = delete;
  Rank& operator=(const Rank&) = delete;

  void run(Trouble trouble) {
    if (context_ == nullptr) return;
    gate_.pass();
    const bool is_last = team_.rank() == team_.ranks() - 1;
    if (is_last && trouble == Trouble::kNeverJoins) return gate_.pass();
    if (is_last && trouble == Trouble::kAborts) {
      tokavg_abort(context_);
      return gate_.pass();
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
    gate_.pass();
  }

 private:
  static double seconds_since(std::chrono::steady_clock::time_point begin) {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  }
  [[nodiscard]] std::string name() const {
    return "rank " + std::to_string(team_.rank()) + " of " + std::to_string(team_.ranks()) + ": ";
  }

  void scale(tokavg_ticket_t ticket) {
    const tokavg_scale_item_t item = {gradient_.data(), 4, TOKAVG_DTYPE_F32, TOKAVG_MEMORY_CUDA};
    tokavg_scale_t scale{};
    scale.struct_size = static_cast<std::uint32_t>(sizeof scale);
    scale.item_size = static_cast<std::uint32_t>(sizeof item);
    scale.items = &item;
    scale.n_items = 1;
    scale.kind = TOKAVG_FACTOR_SCALE;
    const tokavg_status_t status = tokavg_scale(context_, ticket, &scale, stream_.get());
    if (status == TOKAVG_OK) return;
    // The abort, or a failed step, was already known: then nothing was enqueued, and nothing is left unscaled unseen.
    gradient_.put(std::vector<float>(4, std::numeric_limits<float>::quiet_NaN()), stream_);
    stream_.wait();
  }

  void check_outcome(Trouble trouble, bool is_last, tokavg_status_t status, const std::string& text, double drained) {
    const std::string what = name() + tokavg_status_name(status) + " after " + std::to_string(drained) + " s: " + text;
    const double limit = kTimeoutMs / 1000.0 + 0.1;
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
      checks_.expect(status == TOKAVG_ERR_ABORTED || (!knows_who_ && status < 0), what);
      checks_.expect(drained < limit + kSlack, what);
    } else {
      checks_.expect(status == (is_last ? TOKAVG_ERR_ARGUMENT : TOKAVG_ERR_PEER), what);
      checks_.expect(drained < limit + kSlack, what);
    }
  }

  const std::vector<float> ones_ = std::vector<float>(4, 1.0F);
  Team& team_;
  Checks& checks_;
  Gate& gate_;
  const bool knows_who_;
  Stream stream_;
  Array<float> gradient_;
  tokavg_context_t* context_ = nullptr;
  tokavg_ticket_t ticket_ = 0;
};

}  // namespace

int main() {
  Checks checks;
  for (const Trouble trouble : {Trouble::kNeverJoins, Trouble::kAborts, Trouble::kFails}) {
    for (const int ranks : {2, 4}) {
      Gate gate(ranks);
      const auto body = [&](bool knows_who) {
        return [&, knows_who](Team& team) { Rank(team, checks, gate, knows_who).run(trouble); };
      };
      contract::run_on_threads(ranks, body(true), contract::cuda_memory);
      // An aborted communicator of the caller's cannot be destroyed any more, so each rank has one of the library's.
      if (ranks <= contract::nccl_devices()) {
        contract::run_on_threads(ranks, body(false), contract::nccl_over_threads_memory);
      }
    }
  }
  return checks.end("late_peer");
}
