// SPDX-License-Identifier: Apache-2.0
// replays: graphs among eager steps. What a replay counts is its own, and so are the losses of both; what cannot be
// told apart is refused.
#include <cmath>
#include <optional>

#include "cuda/context.hpp"
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
      : context(checks, team, timeout_ms) {
    stream.wait();
    graph.emplace(context, labels, stream);
  }

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
  void flush() { context.ok(tokavg_flush(context.get(), stream.get()), "tokavg_flush"); }
};

// A replay between a count and its reduce.
void within_a_step(Checks& checks, contract::Team* team) {
  Bench bench(checks, team);
  bench.context.count(bench.labels, 5, bench.stream);
  bench.graph->launch(1);
  bench.context.count(bench.labels, 7, bench.stream);
  const tokavg_ticket_t eager = bench.context.reduce(bench.stream);
  checks.equal(bench.context.result(eager, TOKAVG_WAIT_COUNT).tokens[0], std::int64_t{12}, "the eager step");
  checks.equal(bench.context.result(bench.graph->ticket(), TOKAVG_WAIT_COUNT).tokens[0], kGraphTokens, "the replay");
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
    checks.equal(result.loss_sum[0], step != 4 ? 6.0 : 0.0, what + "loss sum");
  }
}

// The replay's message carries them, and is not handed on before the step's own.
void losses_that_a_replay_carries(Checks& checks, contract::Team* team) {
  Bench bench(checks, team);
  for (int round = 0; round < 20; ++round) {
    const tokavg_ticket_t ticket = bench.eager(3);
    bench.context.value(ticket, TOKAVG_LOSS_MEAN, bench.two, 3, bench.stream);
    bench.graph->launch(1);
    bench.stream.wait();
    bench.flush();
    const tokavg_result_t result = bench.context.result(ticket, TOKAVG_WAIT_LOSS);
    checks.equal(result.loss_sum[0], 6.0, "losses that a replay carries");
  }
}

void before_the_first_replay(Checks& checks) {
  Bench bench(checks);
  checks.expect(std::isnan(bench.factor_of(bench.graph->ticket())), "the factor before the first replay");
  bench.graph->launch(1);
  checks.equal(bench.factor_of(bench.graph->ticket()), 1.0F / static_cast<float>(kGraphTokens), "the factor after it");
  static_cast<void>(bench.context.result(bench.graph->ticket(), TOKAVG_WAIT_COUNT));
  bench.context.ok(tokavg_release(bench.context.get(), bench.graph->ticket()), "tokavg_release");
  bench.graph.emplace(bench.context, bench.labels, bench.stream);  // where the first one was
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
  bench.context.refused(tokavg_loss(bench.context.get(), eager, &loss, nullptr), TOKAVG_ERR_STATE,
                        {"losses in host memory", "TOKAVG_OPEN", "tokavg_release"}, "a loss of the host on a ticket");
}

// Two graphs beside each other: what they sent cannot be told apart, and the context ends; nothing hangs.
void in_no_order(Checks& checks) {
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
}

}  // namespace

int main() {
  Checks checks;
  on(nullptr, checks);
  before_the_first_replay(checks);
  losses_of_the_host(checks);
  in_no_order(checks);
  if (contract::nccl_devices() > 0) {
    contract::run_on_nccl(1, false, [&checks](contract::Team& team) { on(&team, checks); });
  }
  return checks.end("replays");
}
