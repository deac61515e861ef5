// SPDX-License-Identifier: Apache-2.0
// replays: graphs among eager steps. What a replay counts is its own, and so are the losses of both; what cannot be
// told apart is refused.
#include <cmath>
#include <optional>

#include "cuda/context.hpp"
#include "cuda/cuda_memory.hpp"
#include "cuda/nccl_team.hpp"

using namespace cuda_test;

namespace {

constexpr std::int64_t kGraphTokens = 3;
constexpr std::int64_t kMost = 12;

// A captured step of kGraphTokens.
class Graph {
 public:
  Graph(Context& context, const Array<std::int64_t>& labels, const Stream& stream) : stream_(stream) {
    must(cudaStreamBeginCapture(stream.get(), cudaStreamCaptureModeThreadLocal), "cudaStreamBeginCapture");
    context.count(labels, kGraphTokens, stream);
    ticket_ = context.reduce(stream);
    // Used in the capture, which else has a loose end over NCCL.
    const float* factor = nullptr;
    context.ok(tokavg_factor_device(context.get(), ticket_, 0, TOKAVG_FACTOR_SCALE, stream.get(), &factor),
               "tokavg_factor_device");
    must(cudaStreamEndCapture(stream.get(), &graph_), "cudaStreamEndCapture");
    must(cudaGraphInstantiate(&launchable_, graph_, 0), "cudaGraphInstantiate");
  }
  ~Graph() {
    must(cudaGraphExecDestroy(launchable_), "cudaGraphExecDestroy");
    must(cudaGraphDestroy(graph_), "cudaGraphDestroy");
  }
  Graph(const Graph&) = delete;
  Graph& operator=(const Graph&) = delete;

  void launch(int times) const { launch(times, stream_); }
  void launch(int times, const Stream& stream) const {
    for (int i = 0; i < times; ++i) must(cudaGraphLaunch(launchable_, stream.get()), "cudaGraphLaunch");
  }
  [[nodiscard]] tokavg_ticket_t ticket() const { return ticket_; }

 private:
  const Stream& stream_;
  tokavg_ticket_t ticket_ = 0;
  cudaGraph_t graph_ = nullptr;
  cudaGraphExec_t launchable_ = nullptr;
};

// One rank, its arrays, and a graph.
struct Bench {
  explicit Bench(Checks& checks, contract::Team* team = nullptr, std::int64_t timeout_ms = 60000)
      : ranks(team != nullptr ? team->ranks() : 1), context(checks, team, timeout_ms) {
    stream.wait();
    new_graph();
  }

  const int ranks;
  Context context;
  Stream stream;
  Array<std::int64_t> labels{std::vector<std::int64_t>(kMost, 1), stream};
  Array<double> two{std::vector<double>{2.0}, stream};
  Array<double> fifty{std::vector<double>{50.0}, stream};
  std::optional<Graph> graph;

  tokavg_ticket_t eager(std::int64_t tokens) {
    context.count(labels, tokens, stream);
    return context.reduce(stream);
  }
  [[nodiscard]] float factor_of(tokavg_ticket_t ticket) {
    const float* factor = nullptr;
    context.ok(tokavg_factor_device(context.get(), ticket, 0, TOKAVG_FACTOR_SCALE, stream.get(), &factor),
               "tokavg_factor_device");
    float value = 0;
    must(cudaMemcpyAsync(&value, factor, sizeof value, cudaMemcpyDeviceToHost, stream.get()), "cudaMemcpyAsync");
    stream.wait();
    return value;
  }
  // A ticket's tokens, of all ranks, which do the same.
  void has(tokavg_ticket_t ticket, std::int64_t tokens, const char* what) {
    context.checks().equal(context.result(ticket, TOKAVG_WAIT_COUNT).tokens[0], tokens * ranks, what);
  }
  void has_losses(tokavg_ticket_t ticket, double sum, const char* what) {
    context.checks().equal(context.result(ticket, TOKAVG_WAIT_LOSS).loss_sum[0], sum * ranks, what);
  }
  void new_graph() { graph.emplace(context, labels, stream); }
  void release() { context.ok(tokavg_release(context.get(), graph->ticket()), "tokavg_release"); }
  void flush() { context.ok(tokavg_flush(context.get(), stream.get()), "tokavg_flush"); }
};

// A replay between a count and its reduce.
void within_a_step(Checks& checks, contract::Team* team) {
  Bench bench(checks, team);
  bench.context.count(bench.labels, 5, bench.stream);
  bench.graph->launch(1);
  bench.context.count(bench.labels, 7, bench.stream);
  const tokavg_ticket_t eager = bench.context.reduce(bench.stream);
  bench.has(eager, 12, "the eager step");
  bench.has(bench.graph->ticket(), kGraphTokens, "the replay");
}

// Losses that come when no message carries them any more belong to no later step either.
void late_losses(Checks& checks, bool wait, contract::Team* team) {
  Bench bench(checks, team);
  const tokavg_ticket_t late = bench.eager(3);
  static_cast<void>(bench.context.result(late, TOKAVG_WAIT_COUNT));
  for (int i = 0; i < 10; ++i) {
    bench.graph->launch(1);
    if (wait) bench.stream.wait();
    if (wait) static_cast<void>(bench.context.result(bench.graph->ticket(), TOKAVG_WAIT_COUNT));
  }
  tokavg_loss_t loss{};
  loss.struct_size = static_cast<std::uint32_t>(sizeof loss);
  loss.kind = TOKAVG_LOSS_MEAN;
  loss.losses = bench.fifty.array(TOKAVG_DTYPE_F64);
  loss.tokens = 3;
  const tokavg_status_t status = tokavg_loss(bench.context.get(), late, &loss, bench.stream.get());
  if (wait || status != TOKAVG_OK) {
    bench.context.refused(status, TOKAVG_ERR_STALE, {"10 steps were closed", "replays", "raise in_flight"},
                          "a loss ten replays later");
  }
  for (int step = 0; step < 7; ++step) {
    const tokavg_ticket_t ticket = bench.eager(3);
    if (step != 4) bench.context.value(ticket, TOKAVG_LOSS_MEAN, bench.two, 3, bench.stream);
    bench.flush();
    static_cast<void>(bench.context.result(ticket, TOKAVG_WAIT_COUNT));
    tokavg_result_t result = empty_result();
    const tokavg_status_t waited = tokavg_wait(bench.context.get(), ticket, TOKAVG_WAIT_LOSS, -1, &result);
    const std::string what = "step " + std::to_string(step) + " after a late loss: ";
    checks.expect(waited == (step != 4 ? TOKAVG_OK : TOKAVG_PENDING), what + tokavg_status_name(waited));
    checks.equal(result.loss_sum[0], step != 4 ? 6.0 * bench.ranks : 0.0, what + "loss sum");
  }
}

// The replay's message carries them, and is not handed on before the step's own, whenever the host looks.
void losses_that_a_replay_carries(Checks& checks, contract::Team* team) {
  Bench bench(checks, team);
  for (int round = 0; round < 300; ++round) {
    bench.graph->launch(1);
    const tokavg_ticket_t ticket = bench.eager(3);
    bench.context.value(ticket, TOKAVG_LOSS_MEAN, bench.two, 3, bench.stream);
    bench.graph->launch(1);
    while (cudaStreamQuery(bench.stream.get()) == cudaErrorNotReady) {
      bench.context.ok(tokavg_progress(bench.context.get()), "tokavg_progress");
    }
    bench.flush();
    bench.has_losses(ticket, 6, "losses that a replay carries");
  }
}

// A microbatch that was dropped before a capture, or in one, is in no step.
void dropped_on_the_other_side(Checks& checks, contract::Team* team) {
  Bench bench(checks, team);
  bench.context.count(bench.labels, 5, bench.stream);
  bench.context.ok(tokavg_discard(bench.context.get()), "tokavg_discard");
  Graph other(bench.context, bench.labels, bench.stream);
  bench.has(bench.eager(7), 7, "the step after a microbatch that was dropped before a capture");
  other.launch(1);
  bench.has(other.ticket(), kGraphTokens, "the replay");
}

// Released when a replay has ended, whose message has not been looked at.
void released_with_losses(Checks& checks, contract::Team* team) {
  Bench bench(checks, team);
  for (int round = 0; round < 5; ++round) {
    const tokavg_ticket_t ticket = bench.eager(3);
    bench.context.value(ticket, TOKAVG_LOSS_MEAN, bench.two, 3, bench.stream);
    bench.graph->launch(1);
    bench.flush();
    bench.stream.wait();
    bench.has(ticket, 3, "an eager step");
    bench.release();
    bench.has_losses(ticket, 6, "losses that the last replay of a released graph carries");
    bench.new_graph();
  }
}

// Of a captured ticket, for a replay that the host has not heard of.
void losses_right_after_a_launch(Checks& checks, contract::Team* team) {
  Bench bench(checks, team);
  bench.graph->launch(1);
  for (int i = 0; i < 6; ++i) bench.has(bench.eager(2), 2, "an eager step");
  bench.graph->launch(1);
  bench.context.value(bench.graph->ticket(), TOKAVG_LOSS_MEAN, bench.two, kGraphTokens, bench.stream);
  bench.flush();
  bench.stream.wait();
  bench.has_losses(bench.graph->ticket(), 2.0 * kGraphTokens, "losses of the second replay");
}

// What the losses of a graph found is told, also when another graph has its place meanwhile.
void bad_labels_of_a_released_graph(Checks& checks, contract::Team* team) {
  Bench bench(checks, team);
  const Array<std::int64_t> bad(std::vector<std::int64_t>{0, 99, 1}, bench.stream);
  const Array<float> logits(std::vector<float>(6, 0.0F), bench.stream);
  bench.graph->launch(1);
  tokavg_labels_t labels = labels_of(bad, 1, kGraphTokens);
  tokavg_cross_entropy_t ce{};
  ce.struct_size = static_cast<std::uint32_t>(sizeof ce);
  ce.logits = logits.array(TOKAVG_DTYPE_F32);
  ce.vocab = 2;
  ce.labels = &labels;
  bench.context.ok(tokavg_cross_entropy(bench.context.get(), bench.graph->ticket(), &ce, bench.stream.get()),
                   "tokavg_cross_entropy");
  bench.stream.wait();
  bench.release();
  bench.new_graph();
  bench.graph->launch(1);
  bench.stream.wait();
  const tokavg_result_t result = bench.context.result(bench.graph->ticket(), TOKAVG_WAIT_COUNT);
  checks.equal(result.invalid_labels[0], std::int64_t{bench.ranks}, "bad labels of the graph before");
}

void before_the_first_replay(Checks& checks) {
  Bench bench(checks);
  checks.expect(std::isnan(bench.factor_of(bench.graph->ticket())), "the factor before the first replay");
  bench.graph->launch(1);
  checks.equal(bench.factor_of(bench.graph->ticket()), 1.0F / static_cast<float>(kGraphTokens), "the factor after it");
  bench.has(bench.graph->ticket(), kGraphTokens, "the replay");
  bench.release();
  bench.new_graph();  // where the first one was
  checks.expect(std::isnan(bench.factor_of(bench.graph->ticket())), "the factor of a graph in an older one's place");
}

void losses_of_the_host(Checks& checks) {
  Bench bench(checks);
  const tokavg_ticket_t eager = bench.eager(3);
  const double value = 2;
  tokavg_loss_t loss{};
  loss.struct_size = static_cast<std::uint32_t>(sizeof loss);
  loss.kind = TOKAVG_LOSS_MEAN;
  loss.losses = {const_cast<double*>(&value), TOKAVG_DTYPE_F64, TOKAVG_MEMORY_HOST, 0, 0};
  loss.tokens = 3;
  const auto refused = [&](const char* what) {
    bench.context.refused(tokavg_loss(bench.context.get(), eager, &loss, nullptr), TOKAVG_ERR_STATE,
                          {"losses in host memory", "ticket 2", "TOKAVG_OPEN"}, what);
  };
  refused("a loss of the host on a ticket");
  bench.context.refused(tokavg_wait(bench.context.get(), bench.eager(3), TOKAVG_WAIT_COUNT, -1, nullptr),
                        TOKAVG_ERR_STATE, {}, "the step that tells of it");
  Graph other(bench.context, bench.labels, bench.stream);
  bench.release();
  bench.context.ok(tokavg_release(bench.context.get(), other.ticket()), "tokavg_release");
  refused("a loss of the host on a ticket from before a capture");
  static_cast<void>(bench.eager(3));
  const tokavg_ticket_t later = bench.eager(3);
  bench.context.ok(tokavg_loss(bench.context.get(), later, &loss, nullptr), "a loss of the host after all captures");
  bench.flush();
  bench.has_losses(later, 6, "a loss of the host after all captures");
}

// Two graphs beside each other: what they sent cannot be told apart, and the context ends; nothing hangs.
[[maybe_unused]] void in_no_order(Checks& checks) {
  Bench bench(checks, nullptr, 1000);
  const Stream beside;
  Graph other(bench.context, bench.labels, bench.stream);
  for (int i = 0; i < 200; ++i) {
    bench.graph->launch(1);
    other.launch(1, beside);
  }
  bench.stream.wait();
  beside.wait();
  // Where they happened to run one after the other nothing is wrong.
  const tokavg_status_t status =
      tokavg_wait(bench.context.get(), bench.graph->ticket(), TOKAVG_WAIT_COUNT, -1, nullptr);
  if (status != TOKAVG_OK) bench.context.refused(status, TOKAVG_ERR_DESYNC, {"in no order", "one stream"}, "a race");
}

void on(contract::Team* team, Checks& checks) {
  within_a_step(checks, team);
  late_losses(checks, true, team);
  late_losses(checks, false, team);
  losses_that_a_replay_carries(checks, team);
  dropped_on_the_other_side(checks, team);
  released_with_losses(checks, team);
  losses_right_after_a_launch(checks, team);
  bad_labels_of_a_released_graph(checks, team);
}

}  // namespace

int main() {
  Checks checks;
  const contract::Body body = [&checks](contract::Team& team) { on(&team, checks); };
  contract::run_on_self(1, body, contract::cuda_memory);
  contract::run_on_threads(2, body, contract::cuda_memory);
  for (const int ranks : {1, 2}) {
    if (ranks <= contract::nccl_devices()) contract::run_on_nccl(ranks, false, body);
  }
  before_the_first_replay(checks);
  losses_of_the_host(checks);
#if !defined(__SANITIZE_THREAD__)  // which sees the race that is meant
  in_no_order(checks);
#endif
  return checks.end("replays");
}
