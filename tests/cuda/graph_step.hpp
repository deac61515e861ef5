// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "contract/team.hpp"
#include "cuda/checks.hpp"
#include "cuda/gpu.hpp"
#include "cuda/sync_calls.hpp"

// The whole pre-scaling step is captured once and replayed 100 times with other labels each time; the host only
// launches.
namespace cuda_test {

inline constexpr std::int64_t kRows = 3;
inline constexpr std::int64_t kCols = 5;
inline constexpr std::int64_t kTokens = kRows * kCols;
inline constexpr std::int64_t kVocab = 7;
inline constexpr int kReplays = 100;

// The labels of a replay, and so many scored.
inline std::vector<std::int64_t> labels_of_replay(int rank, int replay) {
  std::vector<std::int64_t> labels;
  for (std::int64_t i = 0; i < kTokens; ++i) {
    const bool ignored = (i * 7 + rank * 3 + replay) % 4 == 0 || (rank == 1 && replay % 5 == 0);
    labels.push_back(ignored ? -100 : (i + rank + replay) % kVocab);
  }
  return labels;
}

inline std::int64_t scored(const std::vector<std::int64_t>& labels) {
  return kTokens - std::count(labels.begin(), labels.end(), -100);
}

inline std::int64_t scored_everywhere(int ranks, int replay) {
  std::int64_t tokens = 0;
  for (int rank = 0; rank < ranks; ++rank) tokens += scored(labels_of_replay(rank, replay));
  return tokens;
}

// Equal logits: every loss is log(vocab), every gradient entry (1 / vocab - [label]) * f.
class GraphStep {
 public:
  // alone: no other rank is in this process, whose calls would be counted too.
  GraphStep(contract::Team& team, Checks& checks, bool alone)
      : team_(team),
        checks_(checks),
        alone_(alone),
        labels_(kTokens),
        logits_(kTokens * kVocab),
        gradient_(kTokens * kVocab) {
    tokavg_config_t config;
    tokavg_config_init(&config, static_cast<std::uint32_t>(sizeof config));
    team.configure(config);
    config.gradient_reduction = TOKAVG_GRADIENT_MEAN;
    config.timeout_ms = 30000;
    ok(tokavg_init(&config, &context_), "tokavg_init");
    logits_.put(std::vector<float>(kTokens * kVocab, 0.5F), stream_);
    stream_.wait();
  }
  ~GraphStep() { tokavg_free(context_); }
  GraphStep(const GraphStep&) = delete;
  GraphStep& operator=(const GraphStep&) = delete;

  void run() {
    if (context_ == nullptr) return;
    eager_step(1);
    refusals_while_capturing();
    capture();
    replay(kReplays);
    eager_step(2);  // and on
    ticket_of_another_capture();
    forget_graph();
    capture();  // where the first one was
    replay(5);
    forget_graph();
    ok(tokavg_finalize(context_), "tokavg_finalize");
  }

 private:
  void ok(tokavg_status_t status, const std::string& call) {
    checks_.expect(status == TOKAVG_OK, name() + call + ": " + contract::status_text(status, context_));
  }
  [[nodiscard]] std::string name() const {
    return "rank " + std::to_string(team_.rank()) + " of " + std::to_string(team_.ranks()) + ": ";
  }

  void forget_graph() {
    const tokavg_ticket_t captured = captured_;
    ok(tokavg_release(context_, captured), "tokavg_release");
    checks_.expect(tokavg_wait(context_, captured, TOKAVG_WAIT_COUNT, 0, nullptr) == TOKAVG_ERR_STALE,
                   "a released ticket is stale");
    must(cudaGraphExecDestroy(launchable_), "cudaGraphExecDestroy");
    must(cudaGraphDestroy(graph_), "cudaGraphDestroy");
  }

  void count() {
    const tokavg_labels_t labels = labels_of(labels_, kRows, kCols);
    ok(tokavg_count(context_, &labels, stream_.get()), "tokavg_count");
  }
  void cross_entropy(tokavg_ticket_t ticket) {
    const tokavg_labels_t labels = labels_of(labels_, kRows, kCols);
    tokavg_cross_entropy_t ce{};
    ce.struct_size = static_cast<std::uint32_t>(sizeof ce);
    ce.logits = logits_.array(TOKAVG_DTYPE_F32);
    ce.vocab = kVocab;
    ce.labels = &labels;
    ce.gradient_out = gradient_.array(TOKAVG_DTYPE_F32);
    ok(tokavg_cross_entropy(context_, ticket, &ce, stream_.get()), "tokavg_cross_entropy");
  }
  tokavg_ticket_t reduce() {
    tokavg_ticket_t ticket = 0;
    ok(tokavg_reduce(context_, nullptr, stream_.get(), &ticket), "tokavg_reduce");
    return ticket;
  }

  void eager_step(int replay) {
    const std::vector<std::int64_t> labels = labels_of_replay(team_.rank(), replay);
    labels_.put(labels, stream_);
    count();
    const tokavg_ticket_t ticket = reduce();
    cross_entropy(ticket);
    check_gradient(labels, replay);
    ok(tokavg_flush(context_, stream_.get()), "tokavg_flush");
    check_result(ticket, replay);
  }

  // What a capture cannot hold says so, and leaves the capture as it was.
  void refusals_while_capturing() {
    const std::vector<std::int64_t> labels = labels_of_replay(team_.rank(), 0);
    labels_.put(labels, stream_);
    count();
    const tokavg_ticket_t eager = reduce();
    cross_entropy(eager);
    ok(tokavg_wait(context_, eager, TOKAVG_WAIT_COUNT, -1, nullptr), "tokavg_wait");
    must(cudaStreamBeginCapture(stream_.get(), cudaStreamCaptureModeThreadLocal), "cudaStreamBeginCapture");
    tokavg_ticket_t ticket = 0;
    refused(tokavg_reduce(context_, nullptr, stream_.get(), &ticket), "tokavg_flush", "a reduce before a flush");
    refused(tokavg_flush(context_, stream_.get()), "cannot be captured", "a captured flush");
    const float* factor = nullptr;
    refused(tokavg_factor_device(context_, eager, 0, TOKAVG_FACTOR_SCALE, stream_.get(), &factor), "closed before",
            "an eager ticket in a capture");
    must(cudaStreamEndCapture(stream_.get(), &graph_), "cudaStreamEndCapture");
    must(cudaGraphDestroy(graph_), "cudaGraphDestroy");
    ok(tokavg_flush(context_, stream_.get()), "tokavg_flush");
    ok(tokavg_wait(context_, eager, TOKAVG_WAIT_LOSS, -1, nullptr), "tokavg_wait");

    count();
    must(cudaStreamBeginCapture(stream_.get(), cudaStreamCaptureModeThreadLocal), "cudaStreamBeginCapture");
    refused(tokavg_reduce(context_, nullptr, stream_.get(), &ticket), "begun before the capture", "half a step");
    must(cudaStreamEndCapture(stream_.get(), &graph_), "cudaStreamEndCapture");
    must(cudaGraphDestroy(graph_), "cudaGraphDestroy");
    const tokavg_ticket_t whole = reduce();
    tokavg_result_t result = empty_result();
    ok(tokavg_wait(context_, whole, TOKAVG_WAIT_COUNT, -1, &result), "tokavg_wait");
    checks_.equal(result.tokens[0], scored_everywhere(team_.ranks(), 0),
                  name() + "tokens of the step that was refused");
  }

  void ticket_of_another_capture() {
    cudaGraph_t graph = nullptr;
    must(cudaStreamBeginCapture(stream_.get(), cudaStreamCaptureModeThreadLocal), "cudaStreamBeginCapture");
    const float* factor = nullptr;
    refused(tokavg_factor_device(context_, captured_, 0, TOKAVG_FACTOR_SCALE, stream_.get(), &factor),
            "closed in another capture", "a ticket of another capture");
    must(cudaStreamEndCapture(stream_.get(), &graph), "cudaStreamEndCapture");
    must(cudaGraphDestroy(graph), "cudaGraphDestroy");
  }

  void refused(tokavg_status_t status, const char* word, const char* what) {
    const std::string text = contract::last_error(context_);
    checks_.expect(status == TOKAVG_ERR_STATE && text.find(word) != std::string::npos,
                   name() + what + ": " + std::string(tokavg_status_name(status)) + " " + text);
  }

  void capture() {
    must(cudaStreamBeginCapture(stream_.get(), cudaStreamCaptureModeThreadLocal), "cudaStreamBeginCapture");
    count();
    captured_ = reduce();
    cross_entropy(captured_);
    must(cudaStreamEndCapture(stream_.get(), &graph_), "cudaStreamEndCapture");
    must(cudaGraphInstantiate(&launchable_, graph_, 0), "cudaGraphInstantiate");
    checks_.expect(tokavg_wait(context_, captured_, TOKAVG_WAIT_COUNT, 0, nullptr) == TOKAVG_PENDING,
                   name() + "a graph that was not launched is pending");
  }

  void replay(int replays) {
    std::vector<std::vector<std::int64_t>> labels;
    for (int i = 0; i < replays; ++i) labels.push_back(labels_of_replay(team_.rank(), i));
    std::int64_t* pinned = nullptr;
    must(cudaHostAlloc(reinterpret_cast<void**>(&pinned), static_cast<std::size_t>(replays * kTokens) * sizeof *pinned,
                       cudaHostAllocDefault),
         "cudaHostAlloc");
    for (int i = 0; i < replays; ++i)
      std::copy(labels[static_cast<std::size_t>(i)].begin(), labels[static_cast<std::size_t>(i)].end(),
                pinned + i * kTokens);
    const SyncCalls before;
    for (int i = 0; i < replays; ++i) {
      must(cudaMemcpyAsync(labels_.data(), pinned + i * kTokens, kTokens * sizeof *pinned, cudaMemcpyHostToDevice,
                           stream_.get()),
           "cudaMemcpyAsync");
      must(cudaGraphLaunch(launchable_, stream_.get()), "cudaGraphLaunch");
    }
    if (alone_) checks_.equal(before.since(), std::uint64_t{0}, name() + "synchronising calls in all replays");
    check_gradient(labels.back(), replays - 1);
    ok(tokavg_flush(context_, stream_.get()), "tokavg_flush");
    check_result(captured_, replays - 1);
    must(cudaFreeHost(pinned), "cudaFreeHost");
  }

  void check_gradient(const std::vector<std::int64_t>& labels, int replay) {
    const auto f = static_cast<double>(team_.ranks()) / static_cast<double>(scored_everywhere(team_.ranks(), replay));
    const std::vector<float> gradient = gradient_.get(stream_);
    double worst = 0;
    for (std::size_t i = 0; i < gradient.size(); ++i) {
      const std::int64_t label = labels[i / kVocab];
      const double p = 1.0 / static_cast<double>(kVocab);
      const double wanted =
          label == -100 ? 0.0 : (p - (static_cast<std::int64_t>(i % kVocab) == label ? 1.0 : 0.0)) * f;
      worst = std::fmax(worst, std::fabs(static_cast<double>(gradient[i]) - wanted) / f);
      if (std::isnan(gradient[i])) worst = INFINITY;
    }
    checks_.expect(worst < 1e-6,
                   name() + "replay " + std::to_string(replay) + ": gradient off by " + std::to_string(worst));
  }

  void check_result(tokavg_ticket_t ticket, int replay) {
    tokavg_result_t result = empty_result();
    ok(tokavg_wait(context_, ticket, TOKAVG_WAIT_LOSS, -1, &result), "tokavg_wait");
    const std::string what = name() + "replay " + std::to_string(replay) + ": ";
    const std::int64_t tokens = scored_everywhere(team_.ranks(), replay);
    checks_.equal(result.tokens[0], tokens, what + "tokens");
    checks_.equal(result.loss_tokens[0], tokens, what + "loss tokens");
    checks_.equal(result.local_tokens[0], scored(labels_of_replay(team_.rank(), replay)), what + "local tokens");
    checks_.equal(result.microbatches, std::int64_t{team_.ranks()}, what + "microbatches");
    checks_.equal(result.flags, static_cast<std::uint32_t>(TOKAVG_RESULT_LOSS_READY), what + "flags");
    checks_.equal(result.factor[0], static_cast<double>(team_.ranks()) / static_cast<double>(tokens), what + "factor");
    checks_.expect(std::fabs(result.mean_loss[0] / std::log(static_cast<double>(kVocab)) - 1) < 2e-7,
                   what + "mean loss");
  }

  contract::Team& team_;
  Checks& checks_;
  const bool alone_;
  Stream stream_;
  Array<std::int64_t> labels_;
  Array<float> logits_;
  Array<float> gradient_;
  tokavg_context_t* context_ = nullptr;
  tokavg_ticket_t captured_ = 0;
  cudaGraph_t graph_ = nullptr;
  cudaGraphExec_t launchable_ = nullptr;
};

}  // namespace cuda_test
