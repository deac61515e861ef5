// SPDX-License-Identifier: Apache-2.0
// An optimiser that reads the factor of a step in device memory: gradients are scaled where they are used anyway, and
// the host never waits. One rank; the last lines check the weights that it comes to.
#include "check.hpp"

#include <cmath>
#include <cstdint>
#include <vector>

namespace {

constexpr int kWeights = 4;

// w -= rate * factor * gradient. The gradient is that of the *sum* of the losses.
__global__ void sgd_kernel(float* weights, const float* gradient, const float* factor, float rate, int n) {
  const int i = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  if (i < n) weights[i] -= rate * *factor * gradient[i];
}

void sgd(float* weights, const float* gradient, const float* factor, cudaStream_t stream) {
  cudaLaunchConfig_t config{};
  config.gridDim = dim3(1);
  config.blockDim = dim3(kWeights);
  config.stream = stream;
  CHECK_CUDA(cudaLaunchKernelEx(&config, sgd_kernel, weights, gradient, factor, 0.5F, kWeights));
}

template <typename Value>
Value* to_device(const std::vector<Value>& values) {
  void* device = nullptr;
  CHECK_CUDA(cudaMalloc(&device, values.size() * sizeof(Value)));
  CHECK_CUDA(cudaMemcpy(device, values.data(), values.size() * sizeof(Value), cudaMemcpyHostToDevice));
  return static_cast<Value*>(device);
}

}  // namespace

int main() {
  cudaStream_t stream = nullptr;
  CHECK_CUDA(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
  tokavg_config_t config;
  tokavg_config_init(&config, sizeof config);
  config.comm_kind = TOKAVG_COMM_SELF;
  config.gradient_reduction = TOKAVG_GRADIENT_SUM;
  config.device = TOKAVG_DEVICE_CUDA;
  tokavg_context_t* context = nullptr;
  CHECK_TOKAVG(nullptr, tokavg_init(&config, &context));

  // Six labels, five of them scored.
  const std::vector<std::int64_t> labels = {3, 1, 4, -100, 5, 9};
  std::int64_t* labels_device = to_device(labels);
  float* weights = to_device(std::vector<float>(kWeights, 1.0F));
  float* gradient = to_device(std::vector<float>{5, 10, 15, -20});  // what backward left
  CHECK_CUDA(cudaDeviceSynchronize());

  tokavg_labels_t counted{};
  counted.struct_size = sizeof counted;
  counted.rows = 1;
  counted.cols = static_cast<std::int64_t>(labels.size());
  counted.labels.data = labels_device;
  counted.labels.dtype = TOKAVG_DTYPE_I64;
  tokavg_ticket_t step = 0;
  const float* factor = nullptr;
  CHECK_TOKAVG(context, tokavg_count(context, &counted, stream));
  CHECK_TOKAVG(context, tokavg_reduce(context, nullptr, stream, &step));
  // ... forward, backward and the reduction of the gradients, on the stream ...
  CHECK_TOKAVG(context, tokavg_factor_device(context, step, 0, TOKAVG_FACTOR_SCALE, stream, &factor));
  sgd(weights, gradient, factor, stream);

  std::vector<float> result(kWeights);
  CHECK_CUDA(cudaMemcpyAsync(result.data(), weights, kWeights * sizeof(float), cudaMemcpyDeviceToHost, stream));
  CHECK_CUDA(cudaStreamSynchronize(stream));
  const float wanted[kWeights] = {0.5F, 0.0F, -0.5F, 3.0F};  // 1 - 0.5 * gradient / 5
  int status = 0;
  for (int i = 0; i < kWeights; ++i) {
    std::printf("weight %d: %g\n", i, static_cast<double>(result[static_cast<std::size_t>(i)]));
    if (std::fabs(result[static_cast<std::size_t>(i)] - wanted[i]) > 1e-6F) status = 1;
  }
  CHECK_TOKAVG(context, tokavg_finalize(context));
  tokavg_free(context);
  CHECK_CUDA(cudaFree(gradient));
  CHECK_CUDA(cudaFree(weights));
  CHECK_CUDA(cudaFree(labels_device));
  CHECK_CUDA(cudaStreamDestroy(stream));
  return status;
}
