// SPDX-License-Identifier: Apache-2.0
// dead_stream: streams that were destroyed. On the emulator alone, for CUDA promises nothing about them.
#include "cuda/context.hpp"

using namespace cuda_test;

int main() {
  Checks checks;
  Context context(checks);
  const Stream stream;
  const Array<std::int64_t> labels({1, 2, -100}, stream);
  stream.wait();
  cudaStream_t dead = nullptr;
  must(cudaStreamCreateWithFlags(&dead, cudaStreamNonBlocking), "cudaStreamCreateWithFlags");
  must(cudaStreamDestroy(dead), "cudaStreamDestroy");
  const std::vector<std::string> words = {"stream is no stream", "pass one that lives"};
  const tokavg_labels_t given = labels_of(labels, 1, 3);
  context.refused(tokavg_count(context.get(), &given, dead), TOKAVG_ERR_ARGUMENT, words, "tokavg_count");
  tokavg_ticket_t ticket = context.reduce(stream);
  context.refused(tokavg_wait(context.get(), ticket, TOKAVG_WAIT_COUNT, -1, nullptr), TOKAVG_ERR_ARGUMENT, words,
                  "the step");
  context.refused(tokavg_reduce(context.get(), nullptr, dead, &ticket), TOKAVG_ERR_ARGUMENT, words, "tokavg_reduce");
  context.refused(tokavg_wait(context.get(), ticket, TOKAVG_WAIT_COUNT, -1, nullptr), TOKAVG_ERR_ARGUMENT, words,
                  "its step");
  context.count(labels, 3, stream);
  checks.equal(context.result(context.reduce(stream), TOKAVG_WAIT_COUNT).tokens[0], std::int64_t{2}, "the next step");
  return checks.end("dead_stream");
}
