// SPDX-License-Identifier: Apache-2.0
// NCCL applies the factor itself: an all-reduce with an operator that multiplies by a number in device memory
// (ncclRedOpCreatePreMulSum), which is where tokavg_factor_device() leaves it. No kernel, no copy, no wait of the host.
// One rank a GPU, each a thread; the last lines check the gradients.
#include "check.hpp"

#include <nccl.h>

#include <cmath>
#include <thread>
#include <vector>

namespace {

void check_nccl(ncclResult_t result, const char* call) {
  if (result == ncclSuccess) return;
  std::fprintf(stderr, "%s: %s\n", call, ncclGetErrorString(result));
  std::exit(1);
}
#define CHECK_NCCL(call) check_nccl(call, #call)

constexpr std::size_t kGradients = 1000;

// Rank r has 2 + 3 r scored tokens, and 1 + r in each gradient, summed over its tokens.
int run_rank(int rank, int ranks, ncclUniqueId id) {
  CHECK_CUDA(cudaSetDevice(rank));
  cudaStream_t stream = nullptr;
  CHECK_CUDA(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
  ncclComm_t comm = nullptr;
  CHECK_NCCL(ncclCommInitRank(&comm, ranks, id, rank));

  tokavg_config_t config;
  tokavg_config_init(&config, sizeof config);
  config.comm_kind = TOKAVG_COMM_NCCL;  // the trainer's own communicator, lent
  config.comm = comm;
  config.gradient_reduction = TOKAVG_GRADIENT_SUM;
  config.device = TOKAVG_DEVICE_CUDA;
  config.device_index = rank;
  tokavg_context_t* context = nullptr;
  CHECK_TOKAVG(nullptr, tokavg_init(&config, &context));

  tokavg_ticket_t step = 0;
  const float* factor = nullptr;
  CHECK_TOKAVG(context, tokavg_count_add(context, 0, 2 + 3 * rank, 0, 1));
  CHECK_TOKAVG(context, tokavg_reduce(context, nullptr, stream, &step));
  // ... forward and backward, on the stream ...
  std::vector<float> gradient(kGradients, static_cast<float>(1 + rank));
  void* device = nullptr;
  CHECK_CUDA(cudaMalloc(&device, kGradients * sizeof(float)));
  CHECK_CUDA(cudaMemcpyAsync(device, gradient.data(), kGradients * sizeof(float), cudaMemcpyHostToDevice, stream));

  CHECK_TOKAVG(context, tokavg_factor_device(context, step, 0, TOKAVG_FACTOR_SCALE, stream, &factor));
  ncclRedOp_t scaled_sum;
  CHECK_NCCL(ncclRedOpCreatePreMulSum(&scaled_sum, const_cast<float*>(factor), ncclFloat, ncclScalarDevice, comm));
  CHECK_NCCL(ncclAllReduce(device, device, kGradients, ncclFloat, scaled_sum, comm, stream));
  CHECK_NCCL(ncclRedOpDestroy(scaled_sum, comm));

  CHECK_CUDA(cudaMemcpyAsync(gradient.data(), device, kGradients * sizeof(float), cudaMemcpyDeviceToHost, stream));
  CHECK_CUDA(cudaStreamSynchronize(stream));
  const double tokens = 2.0 * ranks + 3.0 * ranks * (ranks - 1) / 2;
  const double wanted = ranks * (ranks + 1) / 2.0 / tokens;
  int status = 0;
  for (const float value : gradient) {
    if (std::fabs(static_cast<double>(value) / wanted - 1) > 1e-6) status = 1;
  }
  std::printf("rank %d of %d: gradient %.7f, wanted %.7f\n", rank, ranks, static_cast<double>(gradient[0]), wanted);
  CHECK_TOKAVG(context, tokavg_finalize(context));
  tokavg_free(context);
  CHECK_CUDA(cudaFree(device));
  CHECK_NCCL(ncclCommDestroy(comm));
  CHECK_CUDA(cudaStreamDestroy(stream));
  return status;
}

}  // namespace

int main() {
  int ranks = 0;
  CHECK_CUDA(cudaGetDeviceCount(&ranks));
  ncclUniqueId id;
  CHECK_NCCL(ncclGetUniqueId(&id));
  std::vector<int> status(static_cast<std::size_t>(ranks));
  std::vector<std::thread> threads;
  threads.reserve(static_cast<std::size_t>(ranks));
  for (int rank = 0; rank < ranks; ++rank) {
    threads.emplace_back([&, rank] { status[static_cast<std::size_t>(rank)] = run_rank(rank, ranks, id); });
  }
  for (std::thread& thread : threads) thread.join();
  for (const int failed : status) {
    if (failed != 0) return 1;
  }
  return 0;
}
