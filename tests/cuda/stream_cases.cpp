// SPDX-License-Identifier: Apache-2.0
#include "cuda/stream_cases.hpp"

#include <cmath>
#include <limits>

#include "cuda/context.hpp"
#include "cuda/sync_calls.hpp"

namespace cuda_test {
namespace {

// More microbatches than there are cells; each seventh is dropped, and so are some that the host counted.
void many_microbatches(Checks& checks, contract::Team& team) {
  Context context(checks, &team);
  const Stream stream;
  const Array<std::int64_t> two({4, 5, -100}, stream);
  const Array<double> loss(std::vector<double>{0.5}, stream);
  std::int64_t tokens = 0;
  std::int64_t microbatches = 0;
  std::int64_t loss_tokens = 0;
  for (int i = 0; i < 150; ++i) {
    const bool on_host = i % 5 == 3;
    if (on_host) {
      context.ok(tokavg_count_add(context.get(), 0, 3, 0, 1), "tokavg_count_add");
    } else {
      context.count(two, 3, stream);
    }
    if (i % 3 == 0) context.value(TOKAVG_OPEN, TOKAVG_LOSS_MEAN, loss, 2, stream);
    if (i % 7 == 0) {
      context.ok(tokavg_discard(context.get()), "tokavg_discard");
      continue;
    }
    tokens += on_host ? 3 : 2;
    microbatches += 1;
    loss_tokens += i % 3 == 0 ? 2 : 0;
  }
  const tokavg_result_t result = context.result(context.reduce(stream), TOKAVG_WAIT_COUNT);
  checks.equal(result.tokens[0], tokens * team.ranks(), "many microbatches: tokens");
  checks.equal(result.local_tokens[0], tokens, "many microbatches: local tokens");
  checks.equal(result.microbatches, microbatches * team.ranks(), "many microbatches");
  checks.equal(result.loss_tokens[0], loss_tokens * team.ranks(), "many microbatches: loss tokens");
  checks.equal(result.loss_sum[0], 0.5 * static_cast<double>(loss_tokens * team.ranks()),
               "many microbatches: loss sum");
}

// Tokens counted and not yet recorded: on the open step, on a ticket, and where the host counted a part.
void values_that_ask(Checks& checks, contract::Team& team) {
  Context context(checks, &team);
  const Stream stream;
  const Array<std::int64_t> labels({1, 2, 3, -100}, stream);
  const Array<double> loss(std::vector<double>{2.0}, stream);
  const Array<double> sum(std::vector<double>{0.0}, stream);
  context.count(labels, 4, stream);
  context.value(TOKAVG_OPEN, TOKAVG_LOSS_MEAN, loss, 1, stream);
  context.value(TOKAVG_OPEN, TOKAVG_LOSS_MEAN, loss, -1, stream, sum.data());
  checks.equal(sum.get(stream)[0], 4.0, "-1 on the open step");
  context.count(labels, 4, stream);
  context.ok(tokavg_count_add(context.get(), 0, 5, 0, 0), "tokavg_count_add");
  const tokavg_ticket_t ticket = context.reduce(stream);
  context.value(ticket, TOKAVG_LOSS_MEAN, loss, 2, stream);
  context.value(ticket, TOKAVG_LOSS_MEAN, loss, -1, stream, sum.data());
  checks.equal(sum.get(stream)[0], 12.0, "-1 on a ticket");
  context.value(ticket, TOKAVG_LOSS_MEAN, loss, -1, stream, sum.data());
  checks.equal(sum.get(stream)[0], 0.0, "-1 when all are recorded");
  context.ok(tokavg_flush(context.get(), stream.get()), "tokavg_flush");
  const tokavg_result_t result = context.result(ticket, TOKAVG_WAIT_LOSS);
  checks.equal(result.tokens[0], std::int64_t{11} * team.ranks(), "-1: tokens");
  checks.equal(result.loss_tokens[0], std::int64_t{11} * team.ranks(), "-1: loss tokens");
  checks.equal(result.mean_loss[0], 2.0, "-1: mean loss");
  checks.equal(result.flags, static_cast<std::uint32_t>(TOKAVG_RESULT_LOSS_READY | TOKAVG_RESULT_UNAUDITED),
               "-1: flags");
}

// Each call on another stream, with nothing of the caller's to order them: they run as they were made.
void other_streams(Checks& checks, contract::Team& team) {
  Context context(checks, &team);
  const Stream streams[4];
  const Array<std::int64_t> labels({1, 2, 3, -100}, streams[0]);
  const Array<float> gradient(std::vector<float>{8, 16}, streams[0]);
  streams[0].wait();
  for (int step = 0; step < 40; ++step) {
    context.count(labels, 4, streams[step % 4]);
    context.count(labels, 4, streams[(step + 1) % 4]);
    context.ok(tokavg_discard(context.get()), "tokavg_discard");
    const tokavg_ticket_t ticket = context.reduce(streams[(step + 2) % 4]);
    const float* factor = nullptr;
    const Stream& reader = streams[(step + 3) % 4];
    context.ok(tokavg_factor_device(context.get(), ticket, 0, TOKAVG_FACTOR_SCALE, reader.get(), &factor),
               "tokavg_factor_device");
    float value = 0;
    must(cudaMemcpyAsync(&value, factor, sizeof value, cudaMemcpyDeviceToHost, reader.get()), "cudaMemcpyAsync");
    reader.wait();
    checks.equal(value, 1.0F / static_cast<float>(3 * team.ranks()), "tokavg_factor_device");
    checks.equal(context.result(ticket, TOKAVG_WAIT_COUNT).tokens[0], std::int64_t{3} * team.ranks(),
                 "tokens on four streams");
  }
}

// A rank that ran out of data: no rows, no addresses, but results that are wanted in GPU memory.
void empty_microbatch(Checks& checks, contract::Team& team) {
  for (const std::int32_t memory : {TOKAVG_MEMORY_AUTO, TOKAVG_MEMORY_CUDA}) {
    Context context(checks, &team);
    const Stream stream;
    const Array<double> sum({7.0}, stream);
    const Array<float> backward({7.0F}, stream);
    const Array<float> scale({2.0F}, stream);
    stream.wait();
    tokavg_labels_t labels{};
    labels.struct_size = static_cast<std::uint32_t>(sizeof labels);
    labels.labels = {nullptr, TOKAVG_DTYPE_I64, memory, 0, 0};
    context.ok(tokavg_count(context.get(), &labels, stream.get()), "tokavg_count of nothing");
    const tokavg_ticket_t ticket = context.reduce(stream);
    tokavg_cross_entropy_t ce{};
    ce.struct_size = static_cast<std::uint32_t>(sizeof ce);
    ce.logits = {nullptr, TOKAVG_DTYPE_F32, memory, 0, 0};
    ce.vocab = 5;
    ce.labels = &labels;
    ce.sum_out = sum.data();
    ce.backward_out = backward.data();
    ce.loss_scale_device = scale.data();
    context.ok(tokavg_cross_entropy(context.get(), ticket, &ce, stream.get()), "tokavg_cross_entropy of nothing");
    checks.equal(sum.get(stream)[0], 0.0, "sum_out of nothing");
    checks.equal(backward.get(stream)[0], 0.0F, "backward_out of nothing");
    tokavg_loss_t loss{};
    loss.struct_size = static_cast<std::uint32_t>(sizeof loss);
    loss.kind = TOKAVG_LOSS_SUM;
    loss.losses = {nullptr, TOKAVG_DTYPE_F32, memory, 0, 0};
    loss.sum_out = sum.data();
    context.ok(tokavg_loss(context.get(), TOKAVG_OPEN, &loss, stream.get()), "tokavg_loss of nothing");
    checks.equal(sum.get(stream)[0], 0.0, "sum_out of no loss");
    tokavg_scale_t nothing{};
    nothing.struct_size = static_cast<std::uint32_t>(sizeof nothing);
    nothing.kind = TOKAVG_FACTOR_SCALE;
    const tokavg_ticket_t next = context.reduce(stream);
    context.ok(tokavg_scale(context.get(), next, &nothing, stream.get()), "tokavg_scale of nothing");
  }
}

// A ticket is good for as long as it is kept, whatever messages come after it.
void many_flushes(Checks& checks, contract::Team& team) {
  Context context(checks, &team);
  const Stream stream;
  const Array<std::int64_t> labels({1, 2, 3}, stream);
  stream.wait();
  context.count(labels, 3, stream);
  const tokavg_ticket_t ticket = context.reduce(stream);
  for (int i = 0; i < 15; ++i) context.ok(tokavg_flush(context.get(), stream.get()), "tokavg_flush");
  for (int i = 0; i < 15; ++i) {
    context.ok(tokavg_flush(context.get(), stream.get()), "tokavg_flush");
    const Array<float> gradient({3.0F}, stream);
    const tokavg_scale_item_t item = {gradient.data(), 1, TOKAVG_DTYPE_F32, TOKAVG_MEMORY_CUDA};
    const tokavg_scale_t scale = scale_of(item);
    context.ok(tokavg_scale(context.get(), ticket, &scale, stream.get()), "tokavg_scale");
    checks.equal(gradient.get(stream)[0], 1.0F / static_cast<float>(team.ranks()), "scaled after a flush");
  }
}

// Every call of a step, three times.
void nothing_waits(Checks& checks, contract::Team& team) {
  Context context(checks, &team);
  const Stream stream;
  const Array<std::int64_t> labels({1, 0, 1, -100}, stream);
  const Array<float> logits(std::vector<float>(8, 0.25F), stream);
  const Array<float> backward(1);
  const Array<double> sum(1);
  const Array<float> scale(std::vector<float>{1024.0F}, stream);
  const Array<float> losses({1, 2, 3, 4}, stream);
  const Array<double> value(std::vector<double>{0.5}, stream);
  const Array<float> gradient({2, 4}, stream);
  stream.wait();
  const SyncCalls calls;
  for (int step = 0; step < 3; ++step) {
    context.count(labels, 4, stream);
    context.ok(tokavg_count_add(context.get(), 0, 3, 0, 1), "tokavg_count_add");
    context.value(TOKAVG_OPEN, TOKAVG_LOSS_MEAN, value, 2, stream);
    const tokavg_ticket_t ticket = context.reduce(stream);
    const tokavg_labels_t given = labels_of(labels, 1, 4);
    tokavg_loss_t loss{};
    loss.struct_size = static_cast<std::uint32_t>(sizeof loss);
    loss.kind = TOKAVG_LOSS_TOKEN_LOSSES;
    loss.rows = 1;
    loss.cols = 4;
    loss.losses = losses.array(TOKAVG_DTYPE_F32);
    loss.labels = &given;
    loss.sum_out = sum.data();
    context.ok(tokavg_loss(context.get(), ticket, &loss, stream.get()), "tokavg_loss");
    const float* factor = nullptr;
    context.ok(tokavg_factor_device(context.get(), ticket, 0, TOKAVG_FACTOR_REPORT, stream.get(), &factor),
               "tokavg_factor_device");
    tokavg_cross_entropy_t ce{};
    ce.struct_size = static_cast<std::uint32_t>(sizeof ce);
    ce.logits = logits.array(TOKAVG_DTYPE_F32);
    ce.vocab = 2;
    ce.labels = &given;
    ce.gradient_out = ce.logits;
    ce.loss_scale = 2;
    ce.loss_scale_device = scale.data();
    ce.backward_out = backward.data();
    ce.sum_out = sum.data();
    context.ok(tokavg_cross_entropy(context.get(), ticket, &ce, stream.get()), "tokavg_cross_entropy");
    context.ok(tokavg_flush(context.get(), stream.get()), "tokavg_flush");
  }
  context.count(labels, 4, stream);
  const tokavg_ticket_t ticket = context.reduce(stream);
  const tokavg_scale_item_t item = {gradient.data(), 2, TOKAVG_DTYPE_F32, TOKAVG_MEMORY_CUDA};
  const tokavg_scale_t scaling = scale_of(item);
  context.ok(tokavg_scale(context.get(), ticket, &scaling, stream.get()), "tokavg_scale");
  checks.equal(calls.since(), std::uint64_t{0}, "synchronising calls in four steps");
  // The first step's logits were equal: log 2 a token, and half of f * 2048 either way.
  const float got = backward.get(stream)[0];
  checks.expect(std::isfinite(got), "backward_out is finite");
}

void memory_of_each_kind(Checks& checks, contract::Team& team) {
  Context context(checks, &team);
  const Stream stream;
  const Array<std::int64_t> labels({1, 2, -100}, stream);
  std::vector<std::uint8_t> mask = {1, 0, 1};
  tokavg_labels_t given = labels_of(labels, 1, 3);
  given.labels.memory = TOKAVG_MEMORY_AUTO;
  context.ok(tokavg_count(context.get(), &given, stream.get()), "GPU memory that the driver knows");
  std::vector<std::int64_t> on_host = {7, -100};
  tokavg_labels_t host = given;
  host.cols = 2;
  host.labels = {on_host.data(), TOKAVG_DTYPE_I64, TOKAVG_MEMORY_AUTO, 0, 0};
  context.ok(tokavg_count(context.get(), &host, nullptr), "host memory that the driver does not know");
  checks.equal(context.result(context.reduce(stream), TOKAVG_WAIT_COUNT).tokens[0], std::int64_t{3} * team.ranks(),
               "both counted");
  given.mask = {mask.data(), TOKAVG_DTYPE_U8, TOKAVG_MEMORY_HOST, 0, 0};
  context.refused(tokavg_count(context.get(), &given, stream.get()), TOKAVG_ERR_ARGUMENT,
                  {"labels.mask is host memory"}, "a mask elsewhere");
  tokavg_config_t config;
  tokavg_config_init(&config, static_cast<std::uint32_t>(sizeof config));
  config.comm_kind = TOKAVG_COMM_SELF;
  config.gradient_reduction = TOKAVG_GRADIENT_SUM;
  config.device = TOKAVG_DEVICE_CUDA;
  config.device_index = 99;
  tokavg_context_t* none = nullptr;
  const tokavg_status_t status = tokavg_init(&config, &none);
  checks.expect(status == TOKAVG_ERR_CONFIG &&
                    contract::last_error(nullptr).find("config.device_index is 99") != std::string::npos,
                "a device that is not there: " + contract::last_error(nullptr));
}

// A label beyond the vocabulary: NaN, counted, and told with the message that carries it.
void bad_labels(Checks& checks, contract::Team& team) {
  Context context(checks, &team);
  const Stream stream;
  const Array<std::int64_t> labels({1, 9, 0}, stream);
  const Array<float> logits(std::vector<float>(6, 0.0F), stream);
  context.count(labels, 3, stream);
  const tokavg_ticket_t ticket = context.reduce(stream);
  const tokavg_labels_t given = labels_of(labels, 1, 3);
  tokavg_cross_entropy_t ce{};
  ce.struct_size = static_cast<std::uint32_t>(sizeof ce);
  ce.logits = logits.array(TOKAVG_DTYPE_F32);
  ce.vocab = 2;
  ce.labels = &given;
  ce.gradient_out = ce.logits;
  context.ok(tokavg_cross_entropy(context.get(), ticket, &ce, stream.get()), "tokavg_cross_entropy");
  const std::vector<float> gradient = logits.get(stream);
  checks.expect(gradient[2] == 0 && gradient[3] == 0, "the gradient of a bad label's row is 0");
  context.ok(tokavg_flush(context.get(), stream.get()), "tokavg_flush");
  const tokavg_result_t result = context.result(ticket, TOKAVG_WAIT_LOSS);
  checks.equal(result.invalid_labels[0], std::int64_t{1} * team.ranks(), "invalid labels");
  checks.equal(result.nonfinite[0], std::int64_t{1} * team.ranks(), "non-finite losses");
  checks.expect((result.flags & TOKAVG_RESULT_INVALID_LABEL) != 0, "INVALID_LABEL");
}

// A weight that is bad fails the step: NaN, and a status.
void bad_weights(Checks& checks, contract::Team& team) {
  Context context(checks, &team);
  const Stream stream;
  const Array<std::int64_t> labels({1, 2}, stream);
  const Array<float> weights({1.0F, std::numeric_limits<float>::infinity()}, stream);
  const Array<float> gradient(std::vector<float>{1.0F}, stream);
  tokavg_labels_t given = labels_of(labels, 1, 2);
  given.weights = weights.array(TOKAVG_DTYPE_F32);
  context.ok(tokavg_count(context.get(), &given, stream.get()), "tokavg_count");
  const tokavg_ticket_t ticket = context.reduce(stream);
  const float* factor = nullptr;
  context.ok(tokavg_factor_device(context.get(), ticket, 0, TOKAVG_FACTOR_SCALE, stream.get(), &factor),
             "tokavg_factor_device");
  float value = 0;
  must(cudaMemcpyAsync(&value, factor, sizeof value, cudaMemcpyDeviceToHost, stream.get()), "cudaMemcpyAsync");
  stream.wait();
  checks.expect(std::isnan(value), "the factor of a failed step is NaN");
  context.refused(tokavg_wait(context.get(), ticket, TOKAVG_WAIT_COUNT, -1, nullptr), TOKAVG_ERR_WEIGHT, {"step 1"},
                  "a bad weight");
}

}  // namespace

void check_streams(contract::Team& team, Checks& checks, bool alone) {
  many_microbatches(checks, team);
  values_that_ask(checks, team);
  other_streams(checks, team);
  empty_microbatch(checks, team);
  many_flushes(checks, team);
  memory_of_each_kind(checks, team);
  bad_labels(checks, team);
  bad_weights(checks, team);
  if (alone) nothing_waits(checks, team);
}

}  // namespace cuda_test
