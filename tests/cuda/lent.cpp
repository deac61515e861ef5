// SPDX-License-Identifier: Apache-2.0
// lent: what becomes of an ncclComm_t of the caller's when a context ends otherwise than by tokavg_finalize. It is
// aborted only where the GPU would wait for ever.
#include <nccl.h>

#include <barrier>
#include <chrono>
#include <cmath>
#include <functional>
#include <thread>

#include "contract/team.hpp"
#include "cuda/checks.hpp"
#include "cuda/gpu.hpp"
#include "cuda/nccl_team.hpp"

using namespace cuda_test;

namespace {

using Clock = std::chrono::steady_clock;

void must(ncclResult_t result, const char* call) {
  if (result == ncclSuccess) return;
  std::fprintf(stderr, "%s: %s\n", call, ncclGetErrorString(result));
  std::exit(2);
}

// A rank that is a thread, with a GPU and a communicator of its own that it lends.
class Rank {
 public:
  Rank(int rank, int ranks, ncclComm_t comm, Checks& checks, std::barrier<>& all)
      : rank_(rank), ranks_(ranks), comm_(comm), checks_(checks), all_(all) {}
  ~Rank() { tokavg_free(context); }
  Rank(const Rank&) = delete;
  Rank& operator=(const Rank&) = delete;

  [[nodiscard]] bool is_last() const { return rank_ == ranks_ - 1; }
  [[nodiscard]] int number() const { return rank_; }
  void together() { all_.arrive_and_wait(); }
  void expect(bool fine, const std::string& what) {
    checks_.expect(fine, "rank " + std::to_string(rank_) + " of " + std::to_string(ranks_) + ": " + what);
  }
  void ok(tokavg_status_t status, const std::string& call) {
    expect(status == TOKAVG_OK, call + ": " + contract::status_text(status, context));
  }

  void open(std::int64_t timeout_ms = 20000) {
    tokavg_config_t config;
    tokavg_config_init(&config, static_cast<std::uint32_t>(sizeof config));
    config.comm_kind = TOKAVG_COMM_NCCL;
    config.comm = comm_;
    config.device = TOKAVG_DEVICE_CUDA;
    config.gradient_reduction = TOKAVG_GRADIENT_SUM;
    config.timeout_ms = timeout_ms;
    const tokavg_status_t status = tokavg_init(&config, &context);
    expect(status == TOKAVG_OK, "tokavg_init: " + contract::last_error(nullptr));
    if (context == nullptr) std::exit(2);
  }
  void close() {
    tokavg_free(context);
    context = nullptr;
  }

  tokavg_ticket_t count_and_reduce(const Stream& stream, const Array<std::int64_t>& labels, std::int64_t step_id = 0) {
    const tokavg_labels_t given = labels_of(labels, 1, 3);
    ok(tokavg_count(context, &given, stream.get()), "tokavg_count");
    tokavg_reduce_t options{};
    options.struct_size = static_cast<std::uint32_t>(sizeof options);
    options.flags = TOKAVG_REDUCE_STEP_ID;
    options.step_id = step_id;
    tokavg_ticket_t ticket = 0;
    ok(tokavg_reduce(context, &options, stream.get(), &ticket), "tokavg_reduce");
    return ticket;
  }
  tokavg_status_t scale(tokavg_ticket_t ticket, const Stream& stream, const Array<float>& gradient) {
    const tokavg_scale_item_t item = {gradient.data(), 4, TOKAVG_DTYPE_F32, TOKAVG_MEMORY_CUDA};
    const tokavg_scale_t scale = scale_of(item);
    return tokavg_scale(context, ticket, &scale, stream.get());
  }

  // A sum of the caller's own over the communicator.
  void expect_alive(const Stream& stream) {
    ncclResult_t state = ncclSuccess;
    expect(ncclCommGetAsyncError(comm_, &state) == ncclSuccess && state == ncclSuccess,
           "the communicator has an error");
    const Array<float> one({1.0F}, stream);
    stream.wait();
    const ncclResult_t result = ncclAllReduce(one.data(), one.data(), 1, ncclFloat32, ncclSum, comm_, stream.get());
    expect(result == ncclSuccess, "the communicator was left alone");
    if (result != ncclSuccess) std::exit(1);  // the others would wait
    expect(one.get(stream)[0] == static_cast<float>(ranks_), "a sum over the communicator");
  }

  tokavg_context_t* context = nullptr;

 private:
  int rank_;
  int ranks_;
  ncclComm_t comm_;
  Checks& checks_;
  std::barrier<>& all_;
};

const std::vector<std::int64_t> kLabels = {1, 2, -100};
const std::vector<float> kOnes(4, 1.0F);

// All its steps are done on the GPU, though the host has not looked.
void freed_at_rest(Rank& rank) {
  const Stream stream;
  const Array<std::int64_t> labels(kLabels, stream);
  const Array<float> gradient(kOnes, stream);
  rank.open();
  rank.ok(rank.scale(rank.count_and_reduce(stream, labels), stream, gradient), "tokavg_scale");
  stream.wait();
  rank.close();
  rank.together();
  std::this_thread::sleep_for(std::chrono::milliseconds(1200));  // what would abort it has come by then
  rank.expect_alive(stream);
}

// The step ends soon after.
void freed_in_flight(Rank& rank) {
  const Stream stream;
  const Array<std::int64_t> labels(kLabels, stream);
  rank.open();
  if (rank.is_last()) std::this_thread::sleep_for(std::chrono::milliseconds(300));
  rank.count_and_reduce(stream, labels);
  rank.close();
  rank.together();
  std::this_thread::sleep_for(std::chrono::milliseconds(1200));
  rank.expect_alive(stream);
}

// A failure of this rank while the others are still coming: they come, and nothing waits for ever.
void aborted_in_flight(Rank& rank) {
  const Stream stream;
  const Array<std::int64_t> labels(kLabels, stream);
  rank.open();
  if (rank.is_last()) std::this_thread::sleep_for(std::chrono::milliseconds(300));
  rank.count_and_reduce(stream, labels);
  rank.ok(tokavg_abort(rank.context), "tokavg_abort");
  std::this_thread::sleep_for(std::chrono::milliseconds(1500));
  rank.close();
  rank.together();
  rank.expect_alive(stream);
}

void aborted_at_rest(Rank& rank) {
  const Stream stream;
  const Array<std::int64_t> labels(kLabels, stream);
  rank.open();
  const tokavg_ticket_t ticket = rank.count_and_reduce(stream, labels);
  rank.ok(tokavg_wait(rank.context, ticket, TOKAVG_WAIT_COUNT, -1, nullptr), "tokavg_wait");
  rank.together();
  rank.ok(tokavg_abort(rank.context), "tokavg_abort");
  std::this_thread::sleep_for(std::chrono::milliseconds(1200));
  rank.close();
  rank.together();
  rank.expect_alive(stream);
}

void another_step(Rank& rank) {
  const Stream stream;
  const Array<std::int64_t> labels(kLabels, stream);
  rank.open();
  const tokavg_ticket_t ticket = rank.count_and_reduce(stream, labels, rank.is_last() ? 7 : 6);
  const tokavg_status_t status = tokavg_wait(rank.context, ticket, TOKAVG_WAIT_COUNT, -1, nullptr);
  rank.expect(status == TOKAVG_ERR_DESYNC, contract::status_text(status, rank.context));
  std::this_thread::sleep_for(std::chrono::milliseconds(1200));
  rank.together();
  rank.expect_alive(stream);
}

// Where a rank stays away the GPU would wait for ever: then the communicator goes, and streams drain.
void drains(Rank& rank, const std::function<void(const Stream&, const Array<std::int64_t>&)>& give_up) {
  const Stream stream;
  const Array<std::int64_t> labels(kLabels, stream);
  const Array<float> gradient(kOnes, stream);
  rank.open();
  if (!rank.is_last()) {
    const tokavg_ticket_t ticket = rank.count_and_reduce(stream, labels);
    rank.ok(rank.scale(ticket, stream, gradient), "tokavg_scale");
    const auto begin = Clock::now();
    give_up(stream, labels);
    rank.expect(Clock::now() - begin < std::chrono::milliseconds(900), "giving up does not wait");
    stream.wait();
    for (const float value : gradient.get(stream)) rank.expect(std::isnan(value), "the gradient is NaN");
    rank.expect(Clock::now() - begin < std::chrono::seconds(10), "the stream drains");
  }
  rank.together();
}

void freed_alone(Rank& rank) {
  drains(rank, [&](const Stream&, const Array<std::int64_t>&) { rank.close(); });
}
void aborted_alone(Rank& rank) {
  drains(rank, [&](const Stream&, const Array<std::int64_t>&) { tokavg_abort(rank.context); });
}

// A step that was captured and can be replayed.
class CapturedStep {
 public:
  CapturedStep(Rank& rank, const Stream& stream, const Array<std::int64_t>& labels, const Array<float>& gradient) {
    cuda_test::must(cudaStreamBeginCapture(stream.get(), cudaStreamCaptureModeThreadLocal), "cudaStreamBeginCapture");
    rank.ok(rank.scale(rank.count_and_reduce(stream, labels), stream, gradient), "tokavg_scale");
    cuda_test::must(cudaStreamEndCapture(stream.get(), &graph_), "cudaStreamEndCapture");
    cuda_test::must(cudaGraphInstantiate(&launchable_, graph_, 0), "cudaGraphInstantiate");
  }
  void launch(const Stream& stream) { cuda_test::must(cudaGraphLaunch(launchable_, stream.get()), "cudaGraphLaunch"); }
  // Before the communicator goes.
  void forget() {
    cuda_test::must(cudaGraphExecDestroy(launchable_), "cudaGraphExecDestroy");
    cuda_test::must(cudaGraphDestroy(graph_), "cudaGraphDestroy");
  }

 private:
  cudaGraph_t graph_ = nullptr;
  cudaGraphExec_t launchable_ = nullptr;
};

// A replay that a failure of this rank overtakes ends well where the others come; the context may go later.
void aborted_before_the_others_replay(Rank& rank) {
  const Stream stream;
  const Array<std::int64_t> labels(kLabels, stream);
  const Array<float> gradient(kOnes, stream);
  rank.open();
  stream.wait();
  CapturedStep step(rank, stream, labels, gradient);
  rank.together();
  if (rank.is_last()) std::this_thread::sleep_for(std::chrono::milliseconds(300));
  step.launch(stream);
  std::this_thread::sleep_for(std::chrono::milliseconds(50));
  rank.ok(tokavg_abort(rank.context), "tokavg_abort");
  stream.wait();
  step.forget();
  rank.close();
  std::this_thread::sleep_for(std::chrono::milliseconds(1200));
  rank.together();
  rank.expect_alive(stream);
}

// What is known of a replay is in its graph, not on a stream of the library's.
void gone_while_replaying(Rank& rank, const std::function<void()>& give_up) {
  const Stream stream;
  const Array<std::int64_t> labels(kLabels, stream);
  const Array<float> gradient(kOnes, stream);
  rank.open();
  stream.wait();
  CapturedStep step(rank, stream, labels, gradient);
  rank.together();
  if (!rank.is_last()) {
    step.launch(stream);
    std::this_thread::sleep_for(std::chrono::milliseconds(300));  // until it waits
    give_up();
    stream.wait();
    for (const float value : gradient.get(stream)) rank.expect(std::isnan(value), "the gradient is NaN");
  }
  step.forget();
  rank.together();
}

void freed_while_replaying(Rank& rank) {
  gone_while_replaying(rank, [&] { rank.close(); });
}
void aborted_while_replaying(Rank& rank) {
  gone_while_replaying(rank, [&] { tokavg_abort(rank.context); });
}

// The context works on the communicator's GPU, whatever is current: ncclCommInitAll leaves the first one so.
void another_gpu_is_current(Rank& rank) {
  cuda_test::must(cudaSetDevice(0), "cudaSetDevice");
  rank.open();
  cuda_test::must(cudaSetDevice(rank.number()), "cudaSetDevice");
  {
    const Stream stream;
    const Array<std::int64_t> labels(kLabels, stream);
    const tokavg_ticket_t ticket = rank.count_and_reduce(stream, labels);
    tokavg_result_t result = empty_result();
    rank.ok(tokavg_wait(rank.context, ticket, TOKAVG_WAIT_COUNT, -1, &result), "tokavg_wait");
    rank.ok(tokavg_finalize(rank.context), "tokavg_finalize");
    rank.expect_alive(stream);
  }
}

void run(int ranks, const char* name, bool stays_alive, void (*body)(Rank&), Checks& checks) {
  ncclUniqueId id;
  must(ncclGetUniqueId(&id), "ncclGetUniqueId");
  std::barrier<> all(ranks);
  std::vector<std::thread> threads;
  threads.reserve(static_cast<std::size_t>(ranks));
  for (int number = 0; number < ranks; ++number) {
    threads.emplace_back([&, number] {
      cuda_test::must(cudaSetDevice(number), "cudaSetDevice");
      ncclComm_t comm = nullptr;
      must(ncclCommInitRank(&comm, ranks, id, number), "ncclCommInitRank");
      {
        Rank rank(number, ranks, comm, checks, all);
        body(rank);
      }
      // Of the rank that stayed away nothing waits, so its own was left alone.
      if (stays_alive) must(ncclCommDestroy(comm), "ncclCommDestroy");
      if (!stays_alive && number == ranks - 1) must(ncclCommAbort(comm), "ncclCommAbort");
    });
  }
  for (std::thread& thread : threads) thread.join();
  std::printf("%s, %d ranks\n", name, ranks);
}

}  // namespace

int main() {
  Checks checks;
  for (const int ranks : {2, 4}) {
    if (ranks > contract::nccl_devices()) {
      std::printf("skipped: %d ranks need as many GPUs, and NCCL; there are %d\n", ranks, contract::nccl_devices());
      if (ranks == 2) return 77;
      continue;
    }
    run(ranks, "freed at rest", true, freed_at_rest, checks);
    run(ranks, "freed in flight", true, freed_in_flight, checks);
    run(ranks, "aborted in flight", true, aborted_in_flight, checks);
    run(ranks, "aborted at rest", true, aborted_at_rest, checks);
    run(ranks, "aborted before the others replay", true, aborted_before_the_others_replay, checks);
    run(ranks, "another step", true, another_step, checks);
    run(ranks, "another GPU is current", true, another_gpu_is_current, checks);
    run(ranks, "freed alone", false, freed_alone, checks);
    run(ranks, "aborted alone", false, aborted_alone, checks);
    run(ranks, "freed while replaying", false, freed_while_replaying, checks);
    run(ranks, "aborted while replaying", false, aborted_while_replaying, checks);
  }
  return checks.end("lent");
}
