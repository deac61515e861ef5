// SPDX-License-Identifier: Apache-2.0
#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <cstdint>

#include "cuda_emulator/tests/check.hpp"

// What device code can do.
using namespace emulator_test;

namespace {

constexpr unsigned kAll = 0xffffffffU;

template <typename Value>
__global__ void shuffle_kernel(Value* out) {
  const auto mine = static_cast<Value>(threadIdx.x);
  Value* row = out + threadIdx.x * 6;
  row[0] = __shfl_sync(kAll, mine, 5);
  row[1] = __shfl_xor_sync(kAll, mine, 16);
  row[2] = __shfl_down_sync(kAll, mine, 3);
  row[3] = __shfl_up_sync(kAll, mine, 3);
  row[4] = __shfl_sync(kAll, mine, 1, 8);
  row[5] = __shfl_down_sync(kAll, mine, 3, 8);
}

template <typename Value>
void shuffles_of() {
  auto* out = device_array<Value>(64 * 6);
  CUDA(start("shuffle", 1, 64, nullptr, shuffle_kernel<Value>, out));
  const std::vector<Value> got = copy_back(out, 64 * 6);
  for (unsigned i = 0; i < 64; ++i) {
    const unsigned warp = i / 32 * 32, lane = i % 32, segment = i / 8 * 8;
    const unsigned expected[6] = {
        warp + 5,    warp + (lane ^ 16U),      lane + 3 < 32 ? i + 3 : i, lane >= 3 ? i - 3 : i,
        segment + 1, i % 8 + 3 < 8 ? i + 3 : i};
    for (unsigned k = 0; k < 6; ++k) CHECK(got[i * 6 + k] == static_cast<Value>(expected[k]));
  }
  CUDA(cudaFree(out));
}

void shuffles() {
  shuffles_of<int>();
  shuffles_of<unsigned long long>();
  shuffles_of<float>();
  shuffles_of<double>();
}

__global__ void warp_kernel(int* out) {
  const int mine = static_cast<int>(threadIdx.x) - 10;
  int* row = out + threadIdx.x * 8;
  row[0] = __reduce_add_sync(kAll, mine);
  row[1] = __reduce_max_sync(kAll, mine);
  row[2] = static_cast<int>(__reduce_max_sync(kAll, static_cast<unsigned>(mine)));
  row[3] = __reduce_min_sync(kAll, mine);
  row[4] = static_cast<int>(__ballot_sync(kAll, mine >= 0));
  row[5] = __any_sync(kAll, mine == 7);
  row[6] = __all_sync(kAll, mine < 21);
  row[7] = -1;
  const unsigned odd = 0xaaaaaaaaU;
  if (threadIdx.x % 2 == 1) row[7] = __reduce_add_sync(odd, 1);
}

void warp_operations() {
  auto* out = device_array<int>(32 * 8);
  CUDA(start("warp", 1, 32, nullptr, warp_kernel, out));
  const std::vector<int> got = copy_back(out, 32 * 8);
  for (int i = 0; i < 32; ++i) {
    const int expected[8] = {176, 21, -1, -10, static_cast<int>(0xfffffc00U), 1, 0, i % 2 == 1 ? 16 : -1};
    for (int k = 0; k < 8; ++k) CHECK(got[static_cast<std::size_t>(i * 8 + k)] == expected[k]);
  }
  CUDA(cudaFree(out));
}

__global__ void sum_kernel(const double* values, int count, double* sums) {
  __shared__ double parts[32];
  double sum = 0;
  for (unsigned i = threadIdx.x; i < static_cast<unsigned>(count); i += blockDim.x) {
    sum += __ldg(values + blockIdx.x * static_cast<unsigned>(count) + i);
  }
  for (int lanes = 16; lanes > 0; lanes /= 2) sum = __dadd_rn(sum, __shfl_xor_sync(kAll, sum, lanes));
  if (threadIdx.x % 32 == 0) parts[threadIdx.x / 32] = sum;
  __syncthreads();
  if (threadIdx.x >= 32) return;
  sum = threadIdx.x < blockDim.x / 32 ? parts[threadIdx.x] : 0.0;
  for (int lanes = 16; lanes > 0; lanes /= 2) sum += __shfl_xor_sync(kAll, sum, lanes);
  if (threadIdx.x == 0) sums[blockIdx.x] = sum;
}

void block_reduction() {
  constexpr int kRows = 50, kColumns = 1000;
  std::vector<double> host(kRows * kColumns);
  for (std::size_t i = 0; i < host.size(); ++i) host[i] = static_cast<double>(i % 97);
  auto* values = device_array<double>(host.size());
  auto* sums = device_array<double>(kRows);
  CUDA(cudaMemcpy(values, host.data(), host.size() * sizeof(double), cudaMemcpyHostToDevice));
  for (const unsigned threads : {32U, 256U, 1024U}) {
    CUDA(start("sum", kRows, threads, nullptr, sum_kernel, values, kColumns, sums));
    const std::vector<double> got = copy_back(sums, kRows);
    for (std::size_t row = 0; row < kRows; ++row) {
      double expected = 0;
      for (std::size_t i = 0; i < kColumns; ++i) expected += host[row * kColumns + i];
      CHECK(got[row] == expected);
    }
  }
  CUDA(cudaFree(values));
  CUDA(cudaFree(sums));
}

__global__ void cluster_kernel(unsigned* out) {
  auto* mine = reinterpret_cast<unsigned*>(cuda_emulator::shared_memory());
  if (threadIdx.x == 0) *mine = 100 + blockIdx.x;
  cuda_emulator::cluster_sync();
  unsigned sum = 0;
  for (unsigned rank = 0; rank < cuda_emulator::cluster_size(); ++rank) {
    sum += *static_cast<unsigned*>(cuda_emulator::shared_of(mine, rank)) * (rank + 1);
  }
  cuda_emulator::cluster_sync();
  if (threadIdx.x == 0) out[blockIdx.x] = sum * 10 + cuda_emulator::cluster_rank();
}

cudaError_t start_cluster(unsigned blocks, unsigned cluster, std::size_t shared_bytes, unsigned* out) {
  cudaLaunchAttribute attribute{};
  attribute.id = cudaLaunchAttributeClusterDimension;
  attribute.val.clusterDim.x = cluster;
  attribute.val.clusterDim.y = 1;
  attribute.val.clusterDim.z = 1;
  cudaLaunchConfig_t config{};
  config.gridDim = blocks;
  config.blockDim = 64;
  config.dynamicSmemBytes = shared_bytes;
  config.attrs = &attribute;
  config.numAttrs = 1;
  return cuda_emulator::launch(
      "cluster", config, [=] { cluster_kernel(out); }, reinterpret_cast<const void*>(&cluster_kernel));
}

void cluster_exchange() {
  auto* out = device_array<unsigned>(8);
  CUDA(start_cluster(8, 4, 64, out));
  const std::vector<unsigned> got = copy_back(out, 8);
  for (unsigned block = 0; block < 8; ++block) {
    const unsigned first = 100 + block / 4 * 4;
    const unsigned sum = first + 2 * (first + 1) + 3 * (first + 2) + 4 * (first + 3);
    CHECK(got[block] == sum * 10 + block % 4);
  }
  EXPECT_CUDA(cudaErrorInvalidClusterSize, start_cluster(6, 4, 64, out));
  EXPECT_CUDA(cudaErrorInvalidClusterSize, start_cluster(16, 16, 64, out));
  EXPECT_CUDA(cudaErrorInvalidValue, start_cluster(8, 4, 100000, out));
  cuda_emulator_capability(8, 0);
  EXPECT_CUDA(cudaErrorInvalidClusterSize, start_cluster(8, 4, 64, out));
  cuda_emulator_capability(9, 0);
  const auto* kernel = reinterpret_cast<const void*>(&cluster_kernel);
  EXPECT_CUDA(cudaErrorInvalidValue,
              cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, 227 * 1024 + 1));
  CUDA(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, 227 * 1024));
  CUDA(start_cluster(8, 4, 100000, out));
  CUDA(cudaFree(out));
  static_cast<void>(cudaGetLastError());
}

__global__ void atomics_kernel(int* ints, unsigned long long* wide, float* reals, int* order) {
  atomicAdd(ints, 1);
  atomicMax(ints + 1, static_cast<int>(threadIdx.x + blockIdx.x * blockDim.x));
  atomicAdd(wide, 1ULL << 33);
  atomicAdd(reals, 0.5F);
  const int place = atomicAdd(ints + 2, 1);
  order[place] = static_cast<int>(threadIdx.x);
  __threadfence();
  while (atomicCAS(ints + 3, 0, 1) != 0) cuda_emulator::nap(0);  // a lock
  const int inside = ints[4];
  ints[4] = inside + 1;
  __threadfence();
  atomicExch(ints + 3, 0);
}

void atomics() {
  constexpr int kThreads = 4 * 128;
  auto* ints = device_array<int>(8);
  auto* wide = device_array<unsigned long long>(1);
  auto* reals = device_array<float>(1);
  auto* order = device_array<int>(kThreads);
  CUDA(cudaMemset(ints, 0, 8 * sizeof(int)));
  CUDA(cudaMemset(wide, 0, sizeof(unsigned long long)));
  CUDA(cudaMemset(reals, 0, sizeof(float)));
  CUDA(start("atomics", 4, 128, nullptr, atomics_kernel, ints, wide, reals, order));
  const std::vector<int> got = copy_back(ints, 8);
  CHECK(got[0] == kThreads);
  CHECK(got[1] == kThreads - 1);
  CHECK(got[4] == kThreads);
  CHECK(copy_back(wide, 1)[0] == static_cast<unsigned long long>(kThreads) << 33);
  CHECK(copy_back(reals, 1)[0] == 0.5F * kThreads);
  const std::vector<int> places = copy_back(order, kThreads);
  bool shuffled = false;
  for (int i = 0; i < 128; ++i) shuffled = shuffled || places[static_cast<std::size_t>(i)] != i;
  CHECK(shuffled);
  for (void* memory :
       {static_cast<void*>(ints), static_cast<void*>(wide), static_cast<void*>(reals), static_cast<void*>(order)}) {
    CUDA(cudaFree(memory));
  }
}

// No nap: an atomic is enough to let the thread on that this one waits for.
__global__ void spin_kernel(int* flag) {
  if (threadIdx.x == 0) {
    while (atomicAdd(flag, 0) < 63) {
    }
  } else {
    while (atomicAdd(flag, 0) < static_cast<int>(threadIdx.x) - 1) {
    }
    atomicAdd(flag, 1);
  }
}

// One thread passes a value to another, which it may do only with a fence.
__global__ void message_kernel(int* flag, int* value, bool fence) {
  if (fence) __threadfence();
  if (threadIdx.x == 0) {
    *value = 42;
    if (fence) __threadfence();
    atomicExch(flag, 1);
  } else {
    while (atomicAdd(flag, 0) == 0) cuda_emulator::nap(0);
    if (fence) __threadfence();
    *value += 1;
  }
}

int send_message(bool fence) {
  auto* memory = device_array<int>(2);
  CUDA(cudaMemset(memory, 0, 8));
  CUDA(start("message", 1, 2, nullptr, message_kernel, memory, memory + 1, fence));
  const int got = copy_back(memory, 2)[1];
  CUDA(cudaFree(memory));
  return got;
}

void fences() { CHECK(send_message(true) == 43); }
void missing_fence() { CHECK(send_message(false) == 43); }

// Each thread is interrupted between reading the value and writing it, so most of them have to try again.
__global__ void interrupted_kernel(unsigned* counter) {
  cuda_emulator::atomic_update(counter, [](unsigned old) {
    cuda_emulator::nap(0);
    return old + 1;
  });
}

void more_atomics() {
  auto* flag = device_array<int>(1);
  auto* counter = device_array<unsigned>(1);
  CUDA(cudaMemset(flag, 0, 4));
  CUDA(cudaMemset(counter, 0, 4));
  CUDA(start("spin", 1, 64, nullptr, spin_kernel, flag));
  CUDA(cudaDeviceSynchronize());
  CUDA(start("interrupted", 1, 32, nullptr, interrupted_kernel, counter));
  CHECK(copy_back(flag, 1)[0] == 63);
  CHECK(copy_back(counter, 1)[0] == 32);
  CUDA(cudaFree(flag));
  CUDA(cudaFree(counter));
}

// Fibers do not interrupt each other, so this counts right, and no atomic switches.
__global__ void order_kernel(int* next, int* order) {
  const int place = cuda_emulator::kThreadSanitizer ? atomicAdd(next, 1) : (*next)++;
  order[place] = static_cast<int>(threadIdx.x);
}

std::vector<int> order_of(std::uint64_t seed) {
  cuda_emulator_seed(seed);
  cudaStream_t stream = nullptr;  // a new one, for its random numbers begin with the seed
  CUDA(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
  auto* order = device_array<int>(65);
  CUDA(cudaMemsetAsync(order, 0, 4, stream));
  CUDA(start("order", 1, 64, stream, order_kernel, order, order + 1));
  CUDA(cudaStreamSynchronize(stream));
  CUDA(cudaStreamDestroy(stream));
  const std::vector<int> got = copy_back(order, 65);
  CUDA(cudaFree(order));
  return got;
}

void seeds() {
  CHECK(order_of(1) == order_of(1));
  CHECK(order_of(1) != order_of(2));
}

__global__ void places_kernel(unsigned* out) {
  const unsigned block = blockIdx.x + gridDim.x * (blockIdx.y + gridDim.y * blockIdx.z);
  const unsigned thread = threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z);
  out[block * 24 + thread] =
      blockIdx.z * 100000 + blockIdx.y * 10000 + blockIdx.x * 1000 + threadIdx.z * 100 + threadIdx.y * 10 + threadIdx.x;
}

void grids() {
  auto* out = device_array<unsigned>(24 * 24);
  CUDA(start("places", dim3(2, 3, 4), dim3(4, 3, 2), nullptr, places_kernel, out));
  const std::vector<unsigned> got = copy_back(out, 24 * 24);
  for (unsigned i = 0; i < 24 * 24; ++i) {
    const unsigned block = i / 24, thread = i % 24;
    CHECK(got[i] == block / 6 * 100000 + block / 2 % 3 * 10000 + block % 2 * 1000 + thread / 12 * 100 +
                        thread / 4 % 3 * 10 + thread % 4);
  }
  EXPECT_CUDA(cudaErrorInvalidConfiguration, start("places", 0, 1, nullptr, places_kernel, out));
  EXPECT_CUDA(cudaErrorInvalidConfiguration, start("places", 1, 1025, nullptr, places_kernel, out));
  static_cast<void>(cudaGetLastError());
  CUDA(cudaFree(out));
}

void arithmetic() {
  CHECK(__fmaf_rn(4097, 4097, -16785408) == 1 && __fadd_rn(__fmul_rn(4097, 4097), -16785408) == 0);
  CHECK(__double2ll_rn(2.5) == 2 && __double2ll_rn(3.5) == 4 && __double2ll_rn(-1e30) == INT64_MIN);
  CHECK(__float2int_rn(1e20F) == INT32_MAX && __float2int_rn(std::nanf("")) == 0);
  CHECK(__clz(1) == 31 && __clzll(0) == 64 && __popc(7) == 3 && __ffs(8) == 4 && __ffs(0) == 0);
  CHECK(__float_as_int(1.0F) == 0x3f800000 && __int_as_float(0x40000000) == 2.0F);
  CHECK(__double_as_longlong(__longlong_as_double(42)) == 42);
  CHECK(__umul64hi(0xffffffffffffffffULL, 0xffffffffffffffffULL) == 0xfffffffffffffffeULL);
  CHECK(__bfloat162float(__float2bfloat16(1.5F)) == 1.5F && __half2float(__float2half(0.25F)) == 0.25F);
  CHECK(std::abs(__expf(1.0F) - 2.7182817F) < 1e-6F);
}

__global__ void unsynchronised_kernel(int* out) {
  __shared__ int values[64];
  values[threadIdx.x] = static_cast<int>(threadIdx.x);
  const int neighbour = values[(threadIdx.x + 1) % 64];
  out[threadIdx.x] = neighbour;
}

void missing_syncthreads() {
  auto* out = device_array<int>(64);
  CUDA(start("warm up", 1, 64, nullptr, sum_kernel, static_cast<const double*>(nullptr), 0,
             reinterpret_cast<double*>(out)));
  CUDA(start("unsynchronised", 1, 64, nullptr, unsynchronised_kernel, out));
  const std::vector<int> got = copy_back(out, 64);
  for (int i = 0; i < 64; ++i) CHECK(got[static_cast<std::size_t>(i)] == (i + 1) % 64);
}

__global__ void missing_syncwarp_kernel(int* out) {
  auto* values = reinterpret_cast<int*>(cuda_emulator::shared_memory());
  values[threadIdx.x] = static_cast<int>(threadIdx.x);
  out[threadIdx.x] = values[threadIdx.x ^ 1U];
}

cudaError_t start_with_shared(const char* name, unsigned threads, std::size_t bytes, std::function<void()> body) {
  cudaLaunchConfig_t config{};
  config.gridDim = 1;
  config.blockDim = threads;
  config.dynamicSmemBytes = bytes;
  return cuda_emulator::launch(name, config, std::move(body), nullptr);
}

void missing_syncwarp() {
  auto* out = device_array<int>(32);
  CUDA(start_with_shared("missing syncwarp", 32, 128, [=] { missing_syncwarp_kernel(out); }));
  const std::vector<int> got = copy_back(out, 32);
  for (int i = 0; i < 32; ++i) CHECK(got[static_cast<std::size_t>(i)] == (i ^ 1));
}

__global__ void divergent_kernel(int kind) {
  if (kind == 0 && threadIdx.x == 3) return;
  if (kind == 1 && threadIdx.x >= 32) {
    __syncwarp();
    return;
  }
  if (kind == 2 && threadIdx.x >= 32) cuda_emulator::cluster_sync();
  if (kind == 3 && threadIdx.x == 3) {
    static_cast<void>(__ballot_sync(kAll, 1));
  } else if (kind == 3) {
    static_cast<void>(__shfl_sync(kAll, 1, 0));
  }
  if (kind == 4) static_cast<void>(__shfl_sync(0xfffffff0U, 1, 0));
  __syncthreads();
}

void diverge(int kind) {
  CUDA(start("divergent", 1, 64, nullptr, divergent_kernel, kind));
  CUDA(cudaDeviceSynchronize());
}

void short_warp() {
  CUDA(start_with_shared("short warp", 16, 0, [] { __syncwarp(); }));
  CUDA(cudaDeviceSynchronize());
}

void past_shared_memory() {
  CUDA(start_with_shared("past shared memory", 1, 64, [] { cuda_emulator::shared_memory()[64] = 1; }));
  CUDA(cudaDeviceSynchronize());
}

void misaligned_load() {
  auto* memory = device_array<unsigned char>(64);
  CUDA(start_with_shared("misaligned", 1, 0,
                         [=] { static_cast<void>(__ldg(reinterpret_cast<const int4*>(memory + 4))); }));
  CUDA(cudaDeviceSynchronize());
}

// A block that exits while its neighbour still reads its shared memory.
__global__ void early_exit_kernel(unsigned* out) {
  auto* mine = reinterpret_cast<unsigned*>(cuda_emulator::shared_memory());
  *mine = 5;
  cuda_emulator::cluster_sync();
  if (cuda_emulator::cluster_rank() == 1) return;
  cuda_emulator::nap(100000);
  *out = *static_cast<unsigned*>(cuda_emulator::shared_of(mine, 1));
}

void early_exit() {
  auto* out = device_array<unsigned>(1);
  cudaLaunchAttribute attribute{};
  attribute.id = cudaLaunchAttributeClusterDimension;
  attribute.val.clusterDim.x = 2;
  attribute.val.clusterDim.y = attribute.val.clusterDim.z = 1;
  cudaLaunchConfig_t config{};
  config.gridDim = 2;
  config.blockDim = 1;
  config.dynamicSmemBytes = 4;
  config.attrs = &attribute;
  config.numAttrs = 1;
  CUDA(cuda_emulator::launch(
      "early exit", config, [=] { early_exit_kernel(out); }, nullptr));
  CHECK(copy_back(out, 1)[0] == 5);
}

__attribute__((noinline)) unsigned deep(unsigned depth) {
  volatile unsigned char local[8192];
  local[depth % 8192] = 1;
  return depth == 0 ? local[0] : deep(depth - 1) + local[depth % 8192];
}

void stack_overflow() {
  CUDA(start_with_shared("deep", 1, 0, [] { deep(100); }));
  CUDA(cudaDeviceSynchronize());
}

void outside_of_a_kernel() { __syncthreads(); }

void faults_are_caught() {
  CHECK(shows_over_seeds("missing syncthreads", 5));
  CHECK(shows_over_seeds("missing syncwarp", 5));
  if (cuda_emulator::kThreadSanitizer) {
    CHECK(run_fault("missing syncthreads").raced());
    CHECK(run_fault("missing syncwarp").raced());
    CHECK(run_fault("missing fence").raced());
  }
  for (const char* fault : {"divergent 0", "divergent 1", "divergent 2", "divergent 3"}) {
    const Outcome outcome = run_fault(fault);
    CHECK(outcome.aborted && outcome.says("kernel 'divergent', block 0: divergent barrier"));
  }
  CHECK(run_fault("divergent 4").says("names lanes that do not take part"));
  CHECK(run_fault("short warp").says("names lanes that do not take part"));
  CHECK(run_fault("past shared memory").says("'past shared memory', block 0: wrote 1 bytes past its 64 bytes"));
  CHECK(run_fault("misaligned load").says("is not aligned to 16 bytes"));
  CHECK(run_fault("early exit").failed);
  const Outcome overflow = run_fault("stack overflow");
  CHECK(overflow.says("kernel 'deep', block 0, thread 0: stack overflow") || overflow.says("stack-overflow"));
  CHECK(run_fault("outside of a kernel").says("__syncthreads outside of a kernel"));
}

}  // namespace

int main(int argc, char** argv) {
  return run_program(argc, argv,
                     {{"shuffles", shuffles},
                      {"warp operations", warp_operations},
                      {"block reduction", block_reduction},
                      {"cluster exchange", cluster_exchange},
                      {"atomics", atomics},
                      {"more atomics", more_atomics},
                      {"fences", fences},
                      {"seeds", seeds},
                      {"grids", grids},
                      {"arithmetic", arithmetic},
                      {"faults are caught", faults_are_caught}},
                     {{"missing syncthreads", missing_syncthreads},
                      {"missing syncwarp", missing_syncwarp},
                      {"missing fence", missing_fence},
                      {"divergent 0", [] { diverge(0); }},
                      {"divergent 1", [] { diverge(1); }},
                      {"divergent 2", [] { diverge(2); }},
                      {"divergent 3", [] { diverge(3); }},
                      {"divergent 4", [] { diverge(4); }},
                      {"short warp", short_warp},
                      {"past shared memory", past_shared_memory},
                      {"misaligned load", misaligned_load},
                      {"early exit", early_exit},
                      {"stack overflow", stack_overflow},
                      {"outside of a kernel", outside_of_a_kernel}});
}
