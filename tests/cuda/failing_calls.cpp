// SPDX-License-Identifier: Apache-2.0
// failing_calls: every call of the CUDA runtime, and every launch, fails once: some call of the library then returns an
// error whose text names it, nothing hangs, and nothing is left behind. Needs the emulator, which fails calls by name.
#include <cuda_runtime_api.h>

#include <array>
#include <chrono>
#include <thread>

#include "contract/team.hpp"
#include "cuda/checks.hpp"
#include "cuda/gpu.hpp"
#include "cuda_emulator/control.h"

using namespace cuda_test;

namespace {

// What the library calls, in a step that uses all of it.
constexpr const char* kCalls[] = {"cudaGetDeviceCount",
                                  "cudaGetDevice",
                                  "cudaSetDevice",
                                  "cudaDeviceGetAttribute",
                                  "cudaDeviceGetStreamPriorityRange",
                                  "cudaStreamCreateWithPriority",
                                  "cudaEventCreateWithFlags",
                                  "cudaMalloc",
                                  "cudaMemsetAsync",
                                  "cudaStreamSynchronize",
                                  "cudaHostAlloc",
                                  "cudaHostGetDevicePointer",
                                  "cudaPointerGetAttributes",
                                  "cudaStreamGetCaptureInfo",
                                  "cudaStreamWaitEvent",
                                  "cudaEventRecord",
                                  "count_run_kernel",
                                  "count_kernel",
                                  "encode_kernel",
                                  "await_kernel",
                                  "token_losses_kernel",
                                  "give_back_kernel",
                                  "value_kernel",
                                  "fold_kernel",
                                  "scale_kernel"};

// Not the one that is current: the library has to change, and to change back.
constexpr int kDevice = 1;

void wait_for_device() {
  must(cudaSetDevice(kDevice), "cudaSetDevice");
  must(cudaDeviceSynchronize(), "cudaDeviceSynchronize");
  must(cudaSetDevice(0), "cudaSetDevice");
}

constexpr const char* kKinds[] = {"memory", "pinned memory", "stream", "event"};
using Alive = std::array<std::size_t, std::size(kKinds)>;

Alive alive() {
  Alive count{};
  for (std::size_t i = 0; i < count.size(); ++i) count[i] = cuda_emulator_alive(kKinds[i]);
  return count;
}

// The first error, and its text.
struct Outcome {
  tokavg_status_t status = TOKAVG_OK;
  std::string text;
  int left_at_free = 0;
  // The failure came in tokavg_free, or after it, where there is nobody to tell.
  [[nodiscard]] bool in_free() const { return cuda_emulator_failures_left() != left_at_free; }
  void note(tokavg_status_t got, tokavg_context_t* context) {
    if (got >= 0 || status < 0) return;
    status = got;
    text = contract::last_error(context);
  }
};

struct Data {
  Stream stream;
  Array<std::int64_t> labels{{1, 0, -100}, stream};
  Array<float> weights{{1, 2, 3}, stream};
  Array<float> losses{{1, 2, 3}, stream};
  Array<float> logits{std::vector<float>(6, 0.0F), stream};
  Array<double> sum{1};
};

void step(tokavg_context_t* ctx, const Data& data, Outcome& outcome) {
  const cudaStream_t s = data.stream.get();
  tokavg_labels_t labels = labels_of(data.labels, 1, 3);
  labels.labels.memory = TOKAVG_MEMORY_AUTO;
  for (int i = 0; i < 34; ++i) outcome.note(tokavg_count(ctx, &labels, s), ctx);  // more than there are cells
  labels.weights = data.weights.array(TOKAVG_DTYPE_F32);
  outcome.note(tokavg_count(ctx, &labels, s), ctx);
  tokavg_ticket_t ticket = 0;
  outcome.note(tokavg_reduce(ctx, nullptr, s, &ticket), ctx);
  tokavg_loss_t loss{};
  loss.struct_size = static_cast<std::uint32_t>(sizeof loss);
  loss.kind = TOKAVG_LOSS_TOKEN_LOSSES;
  loss.rows = 1;
  loss.cols = 3;
  loss.losses = data.losses.array(TOKAVG_DTYPE_F32);
  loss.labels = &labels;
  loss.sum_out = data.sum.data();
  outcome.note(tokavg_loss(ctx, ticket, &loss, s), ctx);
  loss.kind = TOKAVG_LOSS_MEAN;
  loss.labels = nullptr;
  loss.tokens = -1;
  outcome.note(tokavg_loss(ctx, ticket, &loss, s), ctx);
  labels.weights = {};
  tokavg_cross_entropy_t ce{};
  ce.struct_size = static_cast<std::uint32_t>(sizeof ce);
  ce.logits = data.logits.array(TOKAVG_DTYPE_F32);
  ce.vocab = 2;
  ce.labels = &labels;
  outcome.note(tokavg_cross_entropy(ctx, ticket, &ce, s), ctx);
  const tokavg_scale_item_t item = {data.losses.data(), 3, TOKAVG_DTYPE_F32, TOKAVG_MEMORY_CUDA};
  tokavg_scale_t scale{};
  scale.struct_size = static_cast<std::uint32_t>(sizeof scale);
  scale.item_size = static_cast<std::uint32_t>(sizeof item);
  scale.items = &item;
  scale.n_items = 1;
  scale.kind = TOKAVG_FACTOR_SCALE;
  outcome.note(tokavg_scale(ctx, ticket, &scale, s), ctx);
  outcome.note(tokavg_wait(ctx, ticket, TOKAVG_WAIT_COUNT, -1, nullptr), ctx);
}

tokavg_config_t configuration() {
  tokavg_config_t config;
  tokavg_config_init(&config, static_cast<std::uint32_t>(sizeof config));
  config.comm_kind = TOKAVG_COMM_SELF;
  config.gradient_reduction = TOKAVG_GRADIENT_SUM;
  config.device = TOKAVG_DEVICE_CUDA;
  config.device_index = kDevice;
  config.timeout_ms = 30000;
  return config;
}

// What a context has on the GPU is freed in a thread of the library's, which stops where the device cannot be made
// current: of a GPU that has gone there is nothing left to be freed.
void wait_until_freed(const Alive& before, const Outcome& outcome, const std::string& call) {
  for (int tries = 0; tries < 5000 && alive() != before; ++tries) {
    if (call == "cudaSetDevice" && outcome.in_free()) return;
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
}

Outcome scenario(const Data& data, const std::string& call = {}) {
  Outcome outcome;
  const Alive before = alive();
  const tokavg_config_t config = configuration();
  tokavg_context_t* ctx = nullptr;
  outcome.note(tokavg_init(&config, &ctx), nullptr);
  if (ctx != nullptr) {
    step(ctx, data, outcome);
    outcome.note(tokavg_finalize(ctx), ctx);
  }
  outcome.left_at_free = cuda_emulator_failures_left();
  tokavg_free(ctx);
  wait_until_freed(before, outcome, call);
  return outcome;
}

// Every occurrence of the call, until there are no more; a call in a loop need not fail at each of its turns.
void fail_each(const char* call, const Data& data, Checks& checks) {
  constexpr int kMost = 400;
  int failed = 0;
  for (int kth = 1; kth <= kMost; kth += kth < 60 ? 1 : 13) {
    const Alive before = alive();
    cuda_emulator_fail(call, kth, cudaErrorUnknown, -1, 0);
    const Outcome outcome = scenario(data, call);
    const bool happened = cuda_emulator_failures_left() == 0;
    const bool in_free = outcome.in_free();
    cuda_emulator_reset();
    if (!happened) {
      checks.expect(outcome.status == TOKAVG_OK, std::string(call) + " did not fail, but: " + outcome.text);
      break;
    }
    ++failed;
    const std::string what = std::string(call) + ", call " + std::to_string(kth) + ": ";
    if (!in_free) {
      checks.expect(outcome.status == TOKAVG_ERR_DEVICE || outcome.status == TOKAVG_ERR_MEMORY,
                    what + tokavg_status_name(outcome.status) + " " + outcome.text);
      checks.expect(outcome.text.find(call) != std::string::npos, what + outcome.text);
    }
    if (in_free && std::string(call) == "cudaSetDevice") continue;
    const Alive after = alive();
    for (std::size_t i = 0; i < after.size(); ++i) checks.equal(after[i], before[i], what + kKinds[i] + " alive");
  }
  checks.expect(failed > 0, std::string(call) + " is never called");
}

// No memory for a launch is not as harmless as it sounds: what came before it is on the stream.
void no_memory_for_a_launch(const char* kernel, const Data& data, Checks& checks) {
  cuda_emulator_fail(kernel, 1, cudaErrorMemoryAllocation, -1, 0);
  const Outcome outcome = scenario(data, kernel);
  checks.expect(cuda_emulator_failures_left() == 0, std::string(kernel) + " is never launched");
  cuda_emulator_reset();
  checks.expect(outcome.status == TOKAVG_ERR_DEVICE && outcome.text.find("out of memory") != std::string::npos,
                std::string(kernel) + ": " + tokavg_status_name(outcome.status) + " " + outcome.text);
}

}  // namespace

int main() {
  cuda_emulator_longest_pause(0);
  Checks checks;
  must(cudaSetDevice(kDevice), "cudaSetDevice");
  const Data data;
  wait_for_device();
  checks.expect(scenario(data).status == TOKAVG_OK, "the step works");
  for (const char* call : kCalls) fail_each(call, data, checks);
  for (const char* kernel : {"encode_kernel", "give_back_kernel"}) no_memory_for_a_launch(kernel, data, checks);
  return checks.end("failing_calls");
}
