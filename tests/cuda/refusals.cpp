// SPDX-License-Identifier: Apache-2.0
// refusals: what a context on a GPU cannot do, is told how to do otherwise, and survives.
#include "contract/team.hpp"
#include "cuda/checks.hpp"
#include "cuda/context.hpp"
#include "cuda/cuda_memory.hpp"

using namespace cuda_test;

namespace {

// The step that saw the refusal fails with it, the next one is as good as new. 0: it has not been closed yet.
void survives(Context& context, tokavg_status_t wanted, tokavg_ticket_t ticket, const Array<std::int64_t>& two_scored,
              const Stream& stream, const std::string& what) {
  if (ticket == 0) ticket = context.reduce(stream);
  context.refused(tokavg_wait(context.get(), ticket, TOKAVG_WAIT_COUNT, -1, nullptr), wanted, {}, what + ": its step");
  context.count(two_scored, 3, stream);
  const tokavg_result_t result = context.result(context.reduce(stream), TOKAVG_WAIT_COUNT);
  context.checks().equal(result.tokens[0], std::int64_t{2}, what + ": tokens of the next step");
}

// NULL waits for all streams that are not non-blocking, which a capture forbids.
void default_stream_in_a_capture(Checks& checks) {
  Context context(checks);
  const Stream stream;
  const Array<std::int64_t> labels({1, 2, -100}, stream);
  stream.wait();
  const tokavg_labels_t given = labels_of(labels, 1, 3);
  cudaStream_t blocking = nullptr;
  must(cudaStreamCreateWithFlags(&blocking, cudaStreamDefault), "cudaStreamCreateWithFlags");
  must(cudaStreamBeginCapture(blocking, cudaStreamCaptureModeRelaxed), "cudaStreamBeginCapture");
  const std::vector<std::string> remedy = {"stream of this call is NULL", "pass the captured stream",
                                           "cudaStreamNonBlocking"};
  context.refused(tokavg_count(context.get(), &given, nullptr), TOKAVG_ERR_STATE, remedy, "tokavg_count");
  tokavg_ticket_t ticket = 0;
  context.refused(tokavg_reduce(context.get(), nullptr, nullptr, &ticket), TOKAVG_ERR_STATE, remedy, "tokavg_reduce");
  cudaGraph_t graph = nullptr;
  must(cudaStreamEndCapture(blocking, &graph), "cudaStreamEndCapture");  // the refusals did it no harm
  must(cudaGraphDestroy(graph), "cudaGraphDestroy");
  must(cudaStreamDestroy(blocking), "cudaStreamDestroy");
  checks.expect(ticket != 0, "a reduce that is refused closes the step");
  survives(context, TOKAVG_ERR_STATE, ticket, labels, stream, "NULL in a capture");
}

// A rank's context; the deadline is far away.
tokavg_context_t* context_of(contract::Team& team, Checks& checks) {
  tokavg_config_t config;
  tokavg_config_init(&config, static_cast<std::uint32_t>(sizeof config));
  team.configure(config);
  config.gradient_reduction = TOKAVG_GRADIENT_SUM;
  config.timeout_ms = 60000;
  tokavg_context_t* context = nullptr;
  checks.expect(tokavg_init(&config, &context) == TOKAVG_OK, "tokavg_init: " + contract::last_error(nullptr));
  return context;
}

// The other ranks need not wait for the deadline to learn of it.
void peers_are_told(Checks& checks) {
  contract::run_on_threads(
      2,
      [&](contract::Team& team) {
        tokavg_context_t* const context = context_of(team, checks);
        const Stream stream;
        cudaStream_t blocking = nullptr;
        cudaGraph_t graph = nullptr;
        const bool first = team.rank() == 0;
        must(cudaStreamCreateWithFlags(&blocking, cudaStreamDefault), "cudaStreamCreateWithFlags");
        if (first) must(cudaStreamBeginCapture(blocking, cudaStreamCaptureModeRelaxed), "cudaStreamBeginCapture");
        tokavg_ticket_t ticket = 0;
        const tokavg_status_t reduced = tokavg_reduce(context, nullptr, first ? nullptr : stream.get(), &ticket);
        checks.expect(reduced == (first ? TOKAVG_ERR_STATE : TOKAVG_OK), contract::status_text(reduced, context));
        if (first) must(cudaStreamEndCapture(blocking, &graph), "cudaStreamEndCapture");
        const tokavg_status_t waited = tokavg_wait(context, ticket, TOKAVG_WAIT_COUNT, -1, nullptr);
        checks.expect(waited == (first ? TOKAVG_ERR_STATE : TOKAVG_ERR_PEER), contract::status_text(waited, context));
        if (first) must(cudaGraphDestroy(graph), "cudaGraphDestroy");
        must(cudaStreamDestroy(blocking), "cudaStreamDestroy");
        checks.expect(tokavg_finalize(context) == TOKAVG_OK, "tokavg_finalize: " + contract::last_error(context));
        tokavg_free(context);
      },
      contract::cuda_memory);
}

// Found where the driver is asked; each argument says its own name.
void memory_of_another_gpu(Checks& checks) {
  int devices = 0;
  must(cudaGetDeviceCount(&devices), "cudaGetDeviceCount");
  if (devices < 2) return;
  Context context(checks);
  const Stream stream;
  const Array<std::int64_t> here({1, 2, -100}, stream);
  stream.wait();
  must(cudaSetDevice(1), "cudaSetDevice");
  const Array<float> elsewhere(3);
  must(cudaSetDevice(0), "cudaSetDevice");
  const tokavg_labels_t given = labels_of(here, 1, 3);
  tokavg_labels_t wrong = given;
  wrong.weights = {elsewhere.data(), TOKAVG_DTYPE_F32, TOKAVG_MEMORY_AUTO, 0, 0};
  context.refused(tokavg_count(context.get(), &wrong, stream.get()), TOKAVG_ERR_ARGUMENT,
                  {"labels.weights is memory of GPU 1", "works on GPU 0", "copy the array there"}, "tokavg_count");
  tokavg_loss_t loss{};
  loss.struct_size = static_cast<std::uint32_t>(sizeof loss);
  loss.kind = TOKAVG_LOSS_SUM;
  loss.losses = {elsewhere.data(), TOKAVG_DTYPE_F32, TOKAVG_MEMORY_AUTO, 0, 0};
  loss.tokens = 1;
  context.refused(tokavg_loss(context.get(), TOKAVG_OPEN, &loss, stream.get()), TOKAVG_ERR_ARGUMENT,
                  {"loss.losses is memory of GPU 1", "works on GPU 0"}, "tokavg_loss");
  survives(context, TOKAVG_ERR_ARGUMENT, 0, here, stream, "memory of another GPU");
}

// A step whose count, reduce, loss, factor or flush names a stream of another GPU.
void streams_of_another_gpu(Checks& checks) {
  int devices = 0;
  must(cudaGetDeviceCount(&devices), "cudaGetDeviceCount");
  if (devices < 2) return;
  Context context(checks);
  const Stream stream;
  const Array<std::int64_t> labels({1, 2, -100}, stream);
  const Array<double> value({2.0}, stream);
  stream.wait();
  must(cudaSetDevice(1), "cudaSetDevice");
  const Stream elsewhere;
  must(cudaSetDevice(0), "cudaSetDevice");
  const std::vector<std::string> words = {"stream is one of GPU 1", "works on GPU 0", "while GPU 0 was current"};
  const tokavg_labels_t given = labels_of(labels, 1, 3);
  const auto refused = [&](tokavg_status_t status, tokavg_ticket_t closed, const std::string& what) {
    context.refused(status, TOKAVG_ERR_ARGUMENT, words, what);
    survives(context, TOKAVG_ERR_ARGUMENT, closed, labels, stream, what);
  };
  refused(tokavg_count(context.get(), &given, elsewhere.get()), 0, "tokavg_count");
  tokavg_loss_t loss{};
  loss.struct_size = static_cast<std::uint32_t>(sizeof loss);
  loss.kind = TOKAVG_LOSS_SUM;
  loss.losses = value.array(TOKAVG_DTYPE_F64);
  loss.tokens = 1;
  refused(tokavg_loss(context.get(), TOKAVG_OPEN, &loss, elsewhere.get()), 0, "tokavg_loss");
  tokavg_ticket_t ticket = 0;
  const tokavg_status_t status = tokavg_reduce(context.get(), nullptr, elsewhere.get(), &ticket);
  checks.expect(ticket != 0, "a reduce that is refused closes the step");
  refused(status, ticket, "tokavg_reduce");
  ticket = context.reduce(stream);
  const float* factor = nullptr;
  context.refused(tokavg_factor_device(context.get(), ticket, 0, TOKAVG_FACTOR_SCALE, elsewhere.get(), &factor),
                  TOKAVG_ERR_ARGUMENT, words, "tokavg_factor_device");  // which no rank need be told
  refused(tokavg_flush(context.get(), elsewhere.get()), 0, "tokavg_flush");
}

// A store there would end the CUDA context of the whole process; pinned memory is good.
void results_in_host_memory(Checks& checks) {
  Context context(checks);
  const Stream stream;
  const Array<std::int64_t> labels({1, 2, -100}, stream);
  const Array<double> value({2.0}, stream);
  stream.wait();
  double on_host = 7;
  double* pinned = nullptr;
  must(cudaHostAlloc(reinterpret_cast<void**>(&pinned), sizeof *pinned, cudaHostAllocMapped), "cudaHostAlloc");
  tokavg_loss_t loss{};
  loss.struct_size = static_cast<std::uint32_t>(sizeof loss);
  loss.kind = TOKAVG_LOSS_SUM;
  loss.losses = value.array(TOKAVG_DTYPE_F64);
  loss.tokens = 1;
  const auto refused = [&](const char* field) {
    context.refused(tokavg_loss(context.get(), TOKAVG_OPEN, &loss, stream.get()), TOKAVG_ERR_ARGUMENT,
                    {std::string("loss.") + field + " is host memory", "cudaMalloc", "cudaHostAlloc"}, field);
    survives(context, TOKAVG_ERR_ARGUMENT, 0, labels, stream, field);
  };
  int pageable = 0;
  must(cudaDeviceGetAttribute(&pageable, cudaDevAttrPageableMemoryAccess, 0), "cudaDeviceGetAttribute");
  if (pageable == 0) {
    loss.sum_out = &on_host;
    refused("sum_out");
    loss.sum_out = nullptr;
    loss.backward_out = &on_host;
    refused("backward_out");
    loss.backward_out = nullptr;
    const float scale = 2;
    loss.loss_scale_device = &scale;
    refused("loss_scale_device");
    loss.loss_scale_device = nullptr;
    checks.equal(on_host, 7.0, "what was refused is not written");
  }
  loss.sum_out = pinned;
  context.ok(tokavg_loss(context.get(), TOKAVG_OPEN, &loss, stream.get()), "pinned memory");
  stream.wait();
  checks.equal(*pinned, 2.0, "pinned memory");
  must(cudaFreeHost(pinned), "cudaFreeHost");
}

// The thread's current device is another one.
void results_on_a_gpu_that_is_not_current(Checks& checks) {
  int devices = 0;
  must(cudaGetDeviceCount(&devices), "cudaGetDeviceCount");
  if (devices < 2) return;
  Context context(checks);
  const Stream stream;
  const Array<double> value({2.0}, stream);
  const Array<double> sum({0.0}, stream);
  stream.wait();
  tokavg_loss_t loss{};
  loss.struct_size = static_cast<std::uint32_t>(sizeof loss);
  loss.kind = TOKAVG_LOSS_SUM;
  loss.losses = value.array(TOKAVG_DTYPE_F64);
  loss.tokens = 1;
  loss.sum_out = sum.data();
  must(cudaSetDevice(1), "cudaSetDevice");
  context.ok(tokavg_loss(context.get(), TOKAVG_OPEN, &loss, stream.get()), "tokavg_loss");
  must(cudaSetDevice(0), "cudaSetDevice");
  checks.equal(sum.get(stream)[0], 2.0, "sum_out");
}

// A load there would end the CUDA context of the whole process.
void misaligned(Checks& checks) {
  Context context(checks);
  const Stream stream;
  const Array<std::int64_t> labels({1, 2, -100}, stream);
  const Array<float> gradient(4);
  stream.wait();
  const tokavg_labels_t given = labels_of(labels, 1, 3);
  tokavg_labels_t wrong = given;
  wrong.cols = 2;
  wrong.labels.data = reinterpret_cast<unsigned char*>(labels.data()) + 4;
  context.refused(tokavg_count(context.get(), &wrong, stream.get()), TOKAVG_ERR_ARGUMENT,
                  {"labels.labels.data is", "not aligned", "8 bytes"}, "tokavg_count");
  survives(context, TOKAVG_ERR_ARGUMENT, 0, labels, stream, "misaligned labels");
}

// What an earlier step has not sent would go with every replay.
void unsent_before_a_capture(Checks& checks) {
  Context context(checks);
  const Stream stream;
  const Array<std::int64_t> labels({1, 2, -100}, stream);
  stream.wait();
  const tokavg_labels_t given = labels_of(labels, 1, 3);
  context.ok(tokavg_count(context.get(), &given, stream.get()), "tokavg_count");
  tokavg_ticket_t ticket = 0;
  context.ok(tokavg_reduce(context.get(), nullptr, stream.get(), &ticket), "tokavg_reduce");
  context.ok(tokavg_wait(context.get(), ticket, TOKAVG_WAIT_COUNT, -1, nullptr), "tokavg_wait");
  double value = 4;
  tokavg_loss_t loss{};
  loss.struct_size = static_cast<std::uint32_t>(sizeof loss);
  loss.kind = TOKAVG_LOSS_SUM;
  loss.losses = {&value, TOKAVG_DTYPE_F64, TOKAVG_MEMORY_HOST, 0, 0};
  loss.tokens = 2;
  context.ok(tokavg_loss(context.get(), ticket, &loss, nullptr), "tokavg_loss");
  const auto refuse = [&](const char* word, const char* what) {
    cudaGraph_t graph = nullptr;
    tokavg_ticket_t captured = 0;
    must(cudaStreamBeginCapture(stream.get(), cudaStreamCaptureModeThreadLocal), "cudaStreamBeginCapture");
    context.refused(tokavg_reduce(context.get(), nullptr, stream.get(), &captured), TOKAVG_ERR_STATE,
                    {word, "tokavg_flush", "before the capture begins"}, what);
    must(cudaStreamEndCapture(stream.get(), &graph), "cudaStreamEndCapture");
    must(cudaGraphDestroy(graph), "cudaGraphDestroy");
  };
  refuse("losses of earlier tickets", "a loss of the host");
  context.ok(tokavg_flush(context.get(), stream.get()), "tokavg_flush");
  context.ok(tokavg_wait(context.get(), ticket, TOKAVG_WAIT_LOSS, -1, nullptr), "tokavg_wait");
  loss.tokens = -7;
  context.refused(tokavg_loss(context.get(), ticket, &loss, nullptr), TOKAVG_ERR_ARGUMENT, {"loss.tokens"},
                  "tokavg_loss");
  refuse("has not been told", "a failure");
}

// A step that fails in the capture fails with every replay, on all ranks alike.
void failed_in_the_capture(Checks& checks) {
  contract::run_on_threads(
      2,
      [&](contract::Team& team) {
        tokavg_context_t* const context = context_of(team, checks);
        const Stream stream;
        cudaGraph_t graph = nullptr;
        cudaGraphExec_t launchable = nullptr;
        const bool first = team.rank() == 0;
        tokavg_ticket_t ticket = 0;
        must(cudaStreamBeginCapture(stream.get(), cudaStreamCaptureModeThreadLocal), "cudaStreamBeginCapture");
        if (first) checks.expect(tokavg_count(context, nullptr, stream.get()) == TOKAVG_ERR_ARGUMENT, "no labels");
        const tokavg_status_t reduced = tokavg_reduce(context, nullptr, stream.get(), &ticket);
        checks.expect(reduced == TOKAVG_OK, contract::status_text(reduced, context));
        must(cudaStreamEndCapture(stream.get(), &graph), "cudaStreamEndCapture");
        must(cudaGraphInstantiate(&launchable, graph, 0), "cudaGraphInstantiate");
        for (int replay = 0; replay < 3; ++replay) {
          must(cudaGraphLaunch(launchable, stream.get()), "cudaGraphLaunch");
          stream.wait();
          const tokavg_status_t waited = tokavg_wait(context, ticket, TOKAVG_WAIT_COUNT, -1, nullptr);
          checks.expect(waited == (first ? TOKAVG_ERR_ARGUMENT : TOKAVG_ERR_PEER),
                        "replay " + std::to_string(replay) + ": " + contract::status_text(waited, context));
        }
        must(cudaGraphExecDestroy(launchable), "cudaGraphExecDestroy");
        must(cudaGraphDestroy(graph), "cudaGraphDestroy");
        tokavg_free(context);
      },
      contract::cuda_memory);
}

}  // namespace

int main() {
  Checks checks;
  misaligned(checks);
  unsent_before_a_capture(checks);
  failed_in_the_capture(checks);
  memory_of_another_gpu(checks);
  streams_of_another_gpu(checks);
  results_in_host_memory(checks);
  results_on_a_gpu_that_is_not_current(checks);
  default_stream_in_a_capture(checks);
  peers_are_told(checks);
  return checks.end("refusals");
}
