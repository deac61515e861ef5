// SPDX-License-Identifier: Apache-2.0
// bad_weights: a weight that is bad fails the step, whether or not the call gives its sum back. What the host says of
// the same data is what is wanted of the GPU; only, the host says it in the call itself.
#include <limits>

#include "contract/team.hpp"
#include "cuda/checks.hpp"
#include "cuda/gpu.hpp"

using namespace cuda_test;

namespace {

enum class What { kTokenLosses, kCrossEntropy };
enum class Back { kNothing, kSum, kBoth };
// Recorded on the open step; on a ticket, so that the next step tells, or a flush.
enum class When { kOpen, kBeforeReduce, kBeforeFlush, kBeforeBoth };

struct Case {
  const char* name;
  What what;
  Back back;
  float bad;
  When when = When::kOpen;
};

// The arrays of one step, in either memory.
struct Data {
  tokavg_labels_t counted{};   // without weights
  tokavg_labels_t weighted{};  // one of which is bad
  tokavg_array_t losses{};
  tokavg_array_t logits{};
  double* sum = nullptr;
  float* backward = nullptr;
};

tokavg_context_t* context_on(std::int32_t device, Checks& checks) {
  tokavg_config_t config;
  tokavg_config_init(&config, static_cast<std::uint32_t>(sizeof config));
  config.comm_kind = TOKAVG_COMM_SELF;
  config.gradient_reduction = TOKAVG_GRADIENT_SUM;
  config.device = device;
  tokavg_context_t* context = nullptr;
  checks.expect(tokavg_init(&config, &context) == TOKAVG_OK, "tokavg_init: " + contract::last_error(nullptr));
  return context;
}

tokavg_status_t record(tokavg_context_t* context, const Case& task, const Data& data, tokavg_ticket_t ticket,
                       tokavg_stream_t stream) {
  double* const sum = task.back != Back::kNothing ? data.sum : nullptr;
  float* const backward = task.back == Back::kBoth ? data.backward : nullptr;
  if (task.what == What::kTokenLosses) {
    tokavg_loss_t loss{};
    loss.struct_size = static_cast<std::uint32_t>(sizeof loss);
    loss.kind = TOKAVG_LOSS_TOKEN_LOSSES;
    loss.rows = 1;
    loss.cols = 3;
    loss.losses = data.losses;
    loss.labels = &data.weighted;
    loss.sum_out = sum;
    loss.backward_out = backward;
    return tokavg_loss(context, ticket, &loss, stream);
  }
  tokavg_cross_entropy_t ce{};
  ce.struct_size = static_cast<std::uint32_t>(sizeof ce);
  ce.logits = data.logits;
  ce.vocab = 2;
  ce.labels = &data.weighted;
  ce.sum_out = sum;
  ce.backward_out = backward;
  return tokavg_cross_entropy(context, ticket, &ce, stream);
}

// What the step ends with. The host refuses the very call.
tokavg_status_t outcome(std::int32_t device, const Case& task, const Data& data, tokavg_stream_t stream,
                        Checks& checks) {
  const std::string where = std::string(task.name) + (device == TOKAVG_DEVICE_HOST ? " on the host: " : " on a GPU: ");
  tokavg_context_t* const context = context_on(device, checks);
  checks.expect(tokavg_count(context, &data.counted, stream) == TOKAVG_OK, where + "tokavg_count");
  tokavg_ticket_t ticket = TOKAVG_OPEN;
  if (task.when != When::kOpen) {
    checks.expect(tokavg_reduce(context, nullptr, stream, &ticket) == TOKAVG_OK, where + "tokavg_reduce");
  }
  const tokavg_status_t recorded = record(context, task, data, ticket, stream);
  const tokavg_status_t wanted = device == TOKAVG_DEVICE_HOST ? TOKAVG_ERR_WEIGHT : TOKAVG_OK;
  checks.expect(recorded == wanted, where + contract::status_text(recorded, context));
  const bool flush = task.when == When::kBeforeFlush;
  if (flush || task.when == When::kBeforeBoth) {
    checks.expect(tokavg_flush(context, stream) == TOKAVG_OK, where + "tokavg_flush");
  }
  if (!flush) {
    checks.expect(tokavg_reduce(context, nullptr, stream, &ticket) == TOKAVG_OK, where + "tokavg_reduce");
  }
  tokavg_result_t result = empty_result();
  const tokavg_status_t status =
      tokavg_wait(context, ticket, flush ? TOKAVG_WAIT_LOSS : TOKAVG_WAIT_COUNT, -1, &result);
  tokavg_free(context);
  return status;
}

tokavg_status_t on_host(const Case& task, Checks& checks) {
  std::vector<std::int64_t> labels = {1, 0, -100};
  std::vector<float> weights = {1, task.bad, 1};
  std::vector<float> losses = {1, 2, 3};
  std::vector<float> logits(6, 0.25F);
  double sum = 0;
  float backward = 0;
  Data data;
  data.counted.struct_size = static_cast<std::uint32_t>(sizeof data.counted);
  data.counted.rows = 1;
  data.counted.cols = 3;
  data.counted.labels = {labels.data(), TOKAVG_DTYPE_I64, TOKAVG_MEMORY_HOST, 0, 0};
  data.weighted = data.counted;
  data.weighted.weights = {weights.data(), TOKAVG_DTYPE_F32, TOKAVG_MEMORY_HOST, 0, 0};
  data.losses = {losses.data(), TOKAVG_DTYPE_F32, TOKAVG_MEMORY_HOST, 0, 0};
  data.logits = {logits.data(), TOKAVG_DTYPE_F32, TOKAVG_MEMORY_HOST, 0, 0};
  data.sum = &sum;
  data.backward = &backward;
  return outcome(TOKAVG_DEVICE_HOST, task, data, nullptr, checks);
}

tokavg_status_t on_gpu(const Case& task, Checks& checks) {
  const Stream stream;
  const Array<std::int64_t> labels({1, 0, -100}, stream);
  const Array<float> weights({1, task.bad, 1}, stream);
  const Array<float> losses({1, 2, 3}, stream);
  const Array<float> logits(std::vector<float>(6, 0.25F), stream);
  const Array<double> sum(1);
  const Array<float> backward(1);
  stream.wait();
  Data data;
  data.counted = labels_of(labels, 1, 3);
  data.weighted = data.counted;
  data.weighted.weights = weights.array(TOKAVG_DTYPE_F32);
  data.losses = losses.array(TOKAVG_DTYPE_F32);
  data.logits = logits.array(TOKAVG_DTYPE_F32);
  data.sum = sum.data();
  data.backward = backward.data();
  const tokavg_status_t status = outcome(TOKAVG_DEVICE_CUDA, task, data, stream.get(), checks);
  stream.wait();
  return status;
}

}  // namespace

int main() {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  constexpr float kTooLarge = 4194304;
  constexpr Case kCases[] = {
      {"token losses", What::kTokenLosses, Back::kNothing, kInfinity},
      {"token losses, sum_out", What::kTokenLosses, Back::kSum, kInfinity},
      {"token losses, backward_out", What::kTokenLosses, Back::kBoth, kTooLarge},
      {"cross entropy", What::kCrossEntropy, Back::kNothing, kTooLarge},
      {"cross entropy, sum_out", What::kCrossEntropy, Back::kSum, kTooLarge},
      {"cross entropy, backward_out", What::kCrossEntropy, Back::kBoth, kInfinity},
      {"token losses of a ticket, the next step", What::kTokenLosses, Back::kNothing, kTooLarge, When::kBeforeReduce},
      {"cross entropy of a ticket, the next step, sum_out", What::kCrossEntropy, Back::kSum, kInfinity,
       When::kBeforeReduce},
      {"cross entropy of a ticket, a flush and the next step", What::kCrossEntropy, Back::kNothing, kInfinity,
       When::kBeforeBoth},
      {"token losses of a ticket, a flush", What::kTokenLosses, Back::kSum, kInfinity, When::kBeforeFlush}};
  Checks checks;
  for (const Case& task : kCases) {
    const tokavg_status_t wanted = on_host(task, checks);
    const tokavg_status_t got = on_gpu(task, checks);
    const std::string what = std::string(task.name) + ": ";
    checks.expect(wanted == TOKAVG_ERR_WEIGHT, what + "the host says " + tokavg_status_name(wanted));
    checks.expect(got == wanted, what + "a GPU says " + tokavg_status_name(got));
  }
  return checks.end("bad_weights");
}
