// SPDX-License-Identifier: Apache-2.0
#include <cstdint>
#include <cstring>

#include "cuda_emulator/tests/check.hpp"

// Memory, copies, and what is caught of their misuse.
using namespace emulator_test;

namespace {

constexpr unsigned char kPoison = 0xCD;

__global__ void fill_kernel(int* out, int value) { out[blockIdx.x * blockDim.x + threadIdx.x] = value; }
__global__ void add_kernel(const int* in, int* out) { out[threadIdx.x] = in[threadIdx.x] + 1; }

void copies() {
  auto* a = device_array<int>(100);
  auto* b = device_array<int>(100);
  auto* pinned = pinned_array<int>(100);
  for (int i = 0; i < 100; ++i) pinned[i] = i;
  CUDA(cudaMemcpyAsync(a, pinned, 400, cudaMemcpyHostToDevice, nullptr));
  CUDA(cudaMemcpyAsync(b, a, 400, cudaMemcpyDeviceToDevice, nullptr));
  const std::vector<int> got = copy_back(b, 100);
  for (int i = 0; i < 100; ++i) CHECK(got[static_cast<std::size_t>(i)] == i);
  CUDA(cudaMemsetAsync(b, 0, 400, nullptr));
  CUDA(cudaMemcpy(pinned, b, 400, cudaMemcpyDefault));
  CHECK(pinned[99] == 0);
  int host = 0;
  EXPECT_CUDA(cudaErrorInvalidValue, cudaMemcpy(b, &host, 4, cudaMemcpyDeviceToHost));
  EXPECT_CUDA(cudaErrorInvalidValue, cudaMemcpy(&host, b + 99, 8, cudaMemcpyDeviceToHost));
  EXPECT_CUDA(cudaErrorInvalidValue, cudaMemcpy(pinned, a, 4, cudaMemcpyHostToDevice));
  EXPECT_CUDA(cudaErrorInvalidValue, cudaMemset(&host, 0, 4));
  EXPECT_CUDA(cudaErrorInvalidValue, cudaFree(pinned));
  EXPECT_CUDA(cudaErrorInvalidValue, cudaFree(a + 1));
  EXPECT_CUDA(cudaErrorInvalidValue, cudaFreeHost(a));
  EXPECT_CUDA(cudaErrorInvalidValue, cudaGetLastError());
  EXPECT_CUDA(cudaSuccess, cudaGetLastError());
  CUDA(cudaFree(a));
  EXPECT_CUDA(cudaErrorInvalidValue, cudaFree(a));
  CUDA(cudaFree(b));
  CUDA(cudaFreeHost(pinned));
  CUDA(cudaFree(nullptr));
}

void pageable_copies() {
  auto* device = device_array<int>(1);
  cudaStream_t stream = nullptr;
  CUDA(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
  const std::uint64_t before = cuda_emulator_synchronizations();
  int value = 7;
  CUDA(cudaMemcpyAsync(device, &value, 4, cudaMemcpyHostToDevice, stream));
  value = 8;  // what was there when the call returned counts
  CHECK(cuda_emulator_synchronizations() == before);
  int back = 0;
  CUDA(cudaMemcpyAsync(&back, device, 4, cudaMemcpyDeviceToHost, stream));
  CHECK(back == 7 && cuda_emulator_synchronizations() == before + 1);
  CUDA(cudaStreamDestroy(stream));
  CUDA(cudaFree(device));
}

void fresh_memory_is_poisoned() {
  auto* device = device_array<unsigned char>(1000);
  for (const unsigned char byte : copy_back(device, 1000)) CHECK(byte == kPoison);
  auto* pinned = pinned_array<unsigned char>(10);
  CHECK(pinned[9] == kPoison);
  CUDA(cudaFreeHost(pinned));
  CUDA(cudaFree(device));
}

// In bytes, of this process, as the kernel counts it.
std::size_t resident() {
  std::FILE* file = std::fopen("/proc/self/statm", "r");
  std::size_t all = 0, pages = 0;
  CHECK(file != nullptr && std::fscanf(file, "%zu %zu", &all, &pages) == 2);
  std::fclose(file);
  return pages * 4096;
}

__global__ void touch_kernel(int* out, std::int64_t apart) { out[threadIdx.x * apart] = static_cast<int>(threadIdx.x); }

constexpr std::size_t kHuge = std::size_t{40} << 30;

// Elements whose numbers do not fit into 32 bits.
void huge_memory_costs_nothing() {
  constexpr std::int64_t kApart = (std::int64_t{1} << 31) + 5;
  const std::size_t before = resident();
  auto* device = device_array<int>(kHuge / sizeof(int));
  CUDA(start("touch", 1, 4, nullptr, touch_kernel, device, kApart));
  for (int i = 0; i < 4; ++i) CHECK(copy_back(device + i * kApart, 1)[0] == i);
  CHECK(copy_back(device + 1, 1)[0] == 0);
  CHECK(resident() < before + (std::size_t{256} << 20));
  CUDA(cudaFree(device));
}

void huge_memory_has_edges() {
  auto* device = device_array<unsigned char>(kHuge - 100);
  CUDA(start("past the end", 1, 4, nullptr, fill_kernel, reinterpret_cast<int*>(device + kHuge - 100 - 12), 1));
  CUDA(cudaDeviceSynchronize());
  CUDA(cudaFree(device));
}

void past_huge_memory() {
  auto* device = device_array<unsigned char>(kHuge);
  CUDA(start("past the end", 1, 64, nullptr, fill_kernel, reinterpret_cast<int*>(device + kHuge), 1));
  CUDA(cudaDeviceSynchronize());
}

void attributes() {
  auto* device = device_array<int>(4);
  auto* pinned = pinned_array<int>(4);
  int host = 0;
  cudaPointerAttributes found{};
  CUDA(cudaPointerGetAttributes(&found, device + 3));
  CHECK(found.type == cudaMemoryTypeDevice && found.device == 0 && found.hostPointer == nullptr);
  CUDA(cudaPointerGetAttributes(&found, pinned));
  CHECK(found.type == cudaMemoryTypeHost && found.hostPointer == pinned);
  CUDA(cudaPointerGetAttributes(&found, &host));
  CHECK(found.type == cudaMemoryTypeUnregistered);
  void* mapped = nullptr;
  CUDA(cudaHostGetDevicePointer(&mapped, pinned, 0));
  CHECK(mapped == pinned);
  EXPECT_CUDA(cudaErrorInvalidValue, cudaHostGetDevicePointer(&mapped, &host, 0));
  static_cast<void>(cudaGetLastError());
  CHECK(reinterpret_cast<std::uintptr_t>(device) % 256 == 0);
  CUDA(cudaFree(device));
  CUDA(cudaFreeHost(pinned));
}

void devices() {
  int count = 0, value = 0, old = 0;
  CUDA(cudaGetDeviceCount(&count));
  CHECK(count == 4);
  CUDA(cudaSetDevice(2));
  auto* memory = device_array<int>(32);
  cudaPointerAttributes found{};
  CUDA(cudaPointerGetAttributes(&found, memory));
  CHECK(found.device == 2);
  cudaStream_t stream = nullptr;
  CUDA(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
  CUDA(start("fill", 1, 32, stream, fill_kernel, memory, 3));
  CUDA(cudaGetDevice(&old));
  CHECK(old == 2);
  CUDA(cudaSetDevice(1));
  EXPECT_CUDA(cudaErrorInvalidResourceHandle, start("fill", 1, 32, stream, fill_kernel, memory, 3));
  EXPECT_CUDA(cudaErrorInvalidDevice, cudaSetDevice(4));
  CUDA(cudaDeviceGetAttribute(&value, cudaDevAttrComputeCapabilityMajor, 3));
  CHECK(value == 9);
  CUDA(cudaDeviceGetAttribute(&value, cudaDevAttrMaxSharedMemoryPerBlockOptin, 0));
  CHECK(value == 227 * 1024);
  CUDA(cudaStreamSynchronize(stream));
  CUDA(cudaSetDevice(0));
  CHECK(copy_back(memory, 32)[31] == 3);
  CUDA(cudaStreamDestroy(stream));
  CUDA(cudaFree(memory));
  static_cast<void>(cudaGetLastError());
}

void no_devices() {
  int count = 1;
  void* memory = nullptr;
  cuda_emulator_device_count(0);
  EXPECT_CUDA(cudaErrorNoDevice, cudaGetDeviceCount(&count));
  EXPECT_CUDA(cudaErrorNoDevice, cudaMalloc(&memory, 16));
  cuda_emulator_device_count(4);
  static_cast<void>(cudaGetLastError());
}

void host_read() {
  auto* device = device_array<int>(4);
  CUDA(start("fill", 1, 4, nullptr, fill_kernel, device, 1));
  CUDA(cudaDeviceSynchronize());
  std::printf("%d\n", *static_cast<volatile int*>(device + 1));
}

void host_write() {
  auto* device = device_array<int>(4);
  static_cast<volatile int*>(device)[2] = 1;
}

void kernel_uses_freed_memory() {
  auto* device = device_array<int>(4);
  CUDA(cudaFree(device));
  CUDA(start("after free", 1, 4, nullptr, fill_kernel, device, 1));
  CUDA(cudaDeviceSynchronize());
}

void kernel_uses_freed_pinned_memory() {
  auto* pinned = pinned_array<int>(4);
  CUDA(cudaFreeHost(pinned));
  CUDA(start("after free", 1, 4, nullptr, fill_kernel, pinned, 1));
  CUDA(cudaDeviceSynchronize());
}

void kernel_on_other_device() {
  auto* device = device_array<int>(4);
  CUDA(cudaSetDevice(1));
  CUDA(start("elsewhere", 1, 4, nullptr, fill_kernel, device, 1));
  CUDA(cudaDeviceSynchronize());
}

void far_past_the_end() {
  auto* device = device_array<int>(64);
  static_cast<void>(device_array<int>(1024));  // behind it
  CUDA(start("past the end", 2, 64, nullptr, fill_kernel, device, 1));
  CUDA(cudaDeviceSynchronize());
}

void just_past_the_end() {
  auto* device = device_array<int>(4);
  CUDA(start("just past the end", 1, 5, nullptr, fill_kernel, device, 1));
  CUDA(cudaDeviceSynchronize());
  CUDA(cudaFree(device));
}

void read_of_poison() {
  auto* in = device_array<int>(4);
  auto* out = device_array<int>(4);
  CUDA(start("add", 1, 4, nullptr, add_kernel, in, out));
  CHECK(copy_back(out, 4)[0] == 1);
}

void plain_crash() { *static_cast<volatile int*>(nullptr) = 1; }

void faults_are_caught() {
  CHECK(run_fault("host read").says("host access to device memory"));
  CHECK(run_fault("host write").says("(byte 8 of 16, device 0)"));
  CHECK(run_fault("kernel uses freed memory").says("kernel 'after free', block 0, thread"));
  CHECK(run_fault("kernel uses freed memory").says("access to freed device memory"));
  CHECK(run_fault("kernel uses freed pinned memory").says("access to freed pinned memory"));
  CHECK(run_fault("kernel on other device").says("of another device"));
  CHECK(run_fault("far past the end").says("past the end of 256 bytes"));
  const Outcome outcome = run_fault("just past the end");
  CHECK(outcome.says("byte 16 was written") || outcome.says("AddressSanitizer"));
  const Outcome edges = run_fault("huge memory has edges");
  CHECK(edges.says(" was written") || edges.says("AddressSanitizer"));
  CHECK(run_fault("past huge memory").says("past the end of 42949672960 bytes"));
  CHECK(run_fault("read of poison").failed);
  const Outcome crash = run_fault("plain crash");
  CHECK(crash.failed && !crash.says("cuda_emulator: "));
}

}  // namespace

int main(int argc, char** argv) {
  return run_program(argc, argv,
                     {{"copies", copies},
                      {"pageable copies", pageable_copies},
                      {"fresh memory is poisoned", fresh_memory_is_poisoned},
                      {"huge memory costs nothing", huge_memory_costs_nothing},
                      {"attributes", attributes},
                      {"devices", devices},
                      {"no devices", no_devices},
                      {"faults are caught", faults_are_caught}},
                     {{"host read", host_read},
                      {"host write", host_write},
                      {"kernel uses freed memory", kernel_uses_freed_memory},
                      {"kernel uses freed pinned memory", kernel_uses_freed_pinned_memory},
                      {"kernel on other device", kernel_on_other_device},
                      {"far past the end", far_past_the_end},
                      {"just past the end", just_past_the_end},
                      {"huge memory has edges", huge_memory_has_edges},
                      {"past huge memory", past_huge_memory},
                      {"read of poison", read_of_poison},
                      {"plain crash", plain_crash}});
}
