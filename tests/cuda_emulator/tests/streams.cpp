// SPDX-License-Identifier: Apache-2.0
#include <unistd.h>

#include <atomic>
#include <cstdint>
#include <thread>

#include "cuda_emulator/tests/check.hpp"

// Streams and events: what is ordered, and that nothing else is.
using namespace emulator_test;

namespace {

struct Streams {
  Streams() {
    for (cudaStream_t& stream : streams) CUDA(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    for (cudaEvent_t& event : events) CUDA(cudaEventCreateWithFlags(&event, cudaEventDisableTiming));
  }
  ~Streams() {
    for (const cudaStream_t stream : streams) CUDA(cudaStreamDestroy(stream));
    for (const cudaEvent_t event : events) CUDA(cudaEventDestroy(event));
  }
  Streams(const Streams&) = delete;
  Streams& operator=(const Streams&) = delete;

  cudaStream_t streams[2];
  cudaEvent_t events[2];
};

__global__ void slow_fill_kernel(int* out, int value) {
  cuda_emulator::nap(1000000);
  out[threadIdx.x] = value;
}

__global__ void double_kernel(int* values) { values[threadIdx.x] = 2 * values[threadIdx.x]; }
__global__ void add_one_kernel(int* values) { values[threadIdx.x] += 1; }

void order_in_a_stream() {
  const Streams s;
  auto* values = device_array<int>(32);
  CUDA(cudaMemsetAsync(values, 0, 128, s.streams[0]));
  for (int i = 0; i < 10; ++i) {
    CUDA(start("add one", 1, 32, s.streams[0], add_one_kernel, values));
    CUDA(start("double", 1, 32, s.streams[0], double_kernel, values));
  }
  CUDA(cudaStreamSynchronize(s.streams[0]));
  CHECK(copy_back(values, 32)[31] == 2046);
  CUDA(cudaFree(values));
}

void fill_then_double(const Streams& s, int* values, bool edge) {
  CUDA(start("slow fill", 1, 32, s.streams[0], slow_fill_kernel, values, 21));
  CUDA(cudaEventRecord(s.events[0], s.streams[0]));
  if (edge) CUDA(cudaStreamWaitEvent(s.streams[1], s.events[0], 0));
  CUDA(start("double", 1, 32, s.streams[1], double_kernel, values));
  CUDA(cudaStreamSynchronize(s.streams[1]));
  CUDA(cudaStreamSynchronize(s.streams[0]));
}

void events_order() {
  const Streams s;
  auto* values = device_array<int>(32);
  for (int round = 0; round < 20; ++round) {
    fill_then_double(s, values, true);
    CHECK(copy_back(values, 32)[7] == 42);
  }
  CUDA(cudaFree(values));
}

__global__ void hold_kernel(const std::uint64_t* released) {
  while (__atomic_load_n(released, __ATOMIC_ACQUIRE) == 0) cuda_emulator::nap(1000);
}

void queries() {
  const Streams s;
  auto* released = pinned_array<std::uint64_t>(1);
  *released = 0;
  CUDA(cudaEventQuery(s.events[0]));  // was never recorded
  CUDA(cudaEventSynchronize(s.events[0]));
  CUDA(start("hold", 1, 1, s.streams[0], hold_kernel, released));
  CUDA(cudaEventRecord(s.events[0], s.streams[0]));
  EXPECT_CUDA(cudaErrorNotReady, cudaStreamQuery(s.streams[0]));
  EXPECT_CUDA(cudaErrorNotReady, cudaEventQuery(s.events[0]));
  EXPECT_CUDA(cudaSuccess, cudaGetLastError());
  CUDA(cudaStreamQuery(s.streams[1]));
  __atomic_store_n(released, 1, __ATOMIC_RELEASE);
  CUDA(cudaEventSynchronize(s.events[0]));
  CUDA(cudaEventQuery(s.events[0]));
  CUDA(cudaStreamSynchronize(s.streams[0]));
  CUDA(cudaStreamQuery(s.streams[0]));
  CUDA(cudaFreeHost(released));
}

void delays() {
  const Streams s;
  auto* values = device_array<int>(32);
  cuda_emulator_delay(0, 10000);
  cuda_emulator_delay_stream(s.streams[0], 10000);
  const std::uint64_t before = cuda_emulator::nanoseconds();
  CUDA(cudaMemsetAsync(values, 0, 128, s.streams[0]));
  CUDA(cudaStreamSynchronize(s.streams[0]));
  CHECK(cuda_emulator::nanoseconds() - before >= 20000000);
  CUDA(cudaFree(values));
}

// Work of the default stream comes after that of blocking streams, and theirs after it.
void default_stream() {
  cudaStream_t stream = nullptr;
  CUDA(cudaStreamCreateWithFlags(&stream, cudaStreamDefault));
  auto* values = device_array<int>(32);
  for (int round = 0; round < 20; ++round) {
    CUDA(start("slow fill", 1, 32, stream, slow_fill_kernel, values, 1));
    CUDA(start("double", 1, 32, nullptr, double_kernel, values));
    CUDA(start("add one", 1, 32, stream, add_one_kernel, values));
    CUDA(cudaStreamSynchronize(stream));
    CHECK(copy_back(values, 32)[0] == 3);
  }
  CUDA(cudaStreamDestroy(stream));
  CUDA(cudaFree(values));
}

void handles() {
  int least = 1, greatest = 1;
  CUDA(cudaDeviceGetStreamPriorityRange(&least, &greatest));
  cudaStream_t stream = nullptr;
  CUDA(cudaStreamCreateWithPriority(&stream, cudaStreamNonBlocking, greatest));
  CUDA(cudaStreamDestroy(stream));
  EXPECT_CUDA(cudaErrorInvalidResourceHandle, cudaStreamDestroy(stream));
  EXPECT_CUDA(cudaErrorInvalidResourceHandle, cudaStreamSynchronize(stream));
  cudaEvent_t event = nullptr;
  CUDA(cudaEventCreateWithFlags(&event, cudaEventDisableTiming));
  CUDA(cudaSetDevice(1));
  CUDA(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
  EXPECT_CUDA(cudaErrorInvalidResourceHandle, cudaEventRecord(event, stream));  // of another device
  CUDA(cudaStreamWaitEvent(stream, event, 0));
  CUDA(cudaStreamDestroy(stream));
  CUDA(cudaSetDevice(0));
  CUDA(cudaEventDestroy(event));
  EXPECT_CUDA(cudaErrorInvalidResourceHandle, cudaEventDestroy(event));
  static_cast<void>(cudaGetLastError());
}

// A stream may be destroyed while it has work; the work is still done.
void destroyed_with_work() {
  cudaStream_t stream = nullptr;
  CUDA(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
  auto* values = device_array<int>(32);
  CUDA(start("slow fill", 1, 32, stream, slow_fill_kernel, values, 5));
  CUDA(cudaStreamDestroy(stream));
  CUDA(cudaDeviceSynchronize());
  CHECK(copy_back(values, 32)[3] == 5);
  CUDA(cudaFree(values));
}

struct Ring {
  std::uint64_t sent;
  std::uint64_t value;
  std::uint64_t answered;
  std::uint64_t answer;
};

__global__ void publish_kernel(Ring* ring, std::uint64_t number) {
  ring->value = 10 * number;
  __threadfence_system();
  __atomic_store_n(&ring->sent, number, __ATOMIC_RELEASE);
}

__global__ void wait_kernel(Ring* ring, std::uint64_t number, std::uint64_t* out) {
  while (__atomic_load_n(&ring->answered, __ATOMIC_ACQUIRE) != number) cuda_emulator::nap(1000);
  *out = ring->answer;
}

// Kernels and a host thread that speak through pinned memory, and a kernel that waits for the thread.
void pinned_ring() {
  const Streams s;
  auto* ring = pinned_array<Ring>(1);
  ring->sent = ring->answered = 0;
  auto* out = device_array<std::uint64_t>(1);
  std::thread host([ring] {
    for (std::uint64_t number = 1; number <= 50; ++number) {
      while (__atomic_load_n(&ring->sent, __ATOMIC_ACQUIRE) != number) usleep(10);
      ring->answer = ring->value + 1;
      __atomic_store_n(&ring->answered, number, __ATOMIC_RELEASE);
    }
  });
  const std::uint64_t before = cuda_emulator_synchronizations();
  for (std::uint64_t number = 1; number <= 50; ++number) {
    CUDA(start("publish", 1, 1, s.streams[0], publish_kernel, ring, number));
    CUDA(start("wait", 1, 1, s.streams[0], wait_kernel, ring, number, out));
  }
  CHECK(cuda_emulator_synchronizations() == before);
  CUDA(cudaStreamSynchronize(s.streams[0]));
  host.join();
  CHECK(copy_back(out, 1)[0] == 501);
  CUDA(cudaFreeHost(ring));
  CUDA(cudaFree(out));
}

void missing_event() {
  const Streams s;
  auto* values = device_array<int>(32);
  fill_then_double(s, values, false);
  CHECK(copy_back(values, 32)[7] == 42);
}

// The host writes pinned memory that a copy may not have read yet.
void reused_too_early() {
  const Streams s;
  auto* pinned = pinned_array<int>(1);
  auto* device = device_array<int>(1);
  auto* other = device_array<int>(32);
  *pinned = 1;
  CUDA(start("slow fill", 1, 1, s.streams[0], slow_fill_kernel, other, 1));
  CUDA(cudaMemcpyAsync(device, pinned, 4, cudaMemcpyHostToDevice, s.streams[0]));
  *pinned = 2;
  CUDA(cudaStreamSynchronize(s.streams[0]));
  CHECK(copy_back(device, 1)[0] == 1);
}

// Both streams take the emulator's locks all the time; that must not look like an order.
void missing_event_among_work() {
  const Streams s;
  auto* values = device_array<int>(32);
  auto* others = device_array<int>(32);
  for (int i = 0; i < 20; ++i) {
    CUDA(start("add one", 1, 32, s.streams[0], add_one_kernel, values));
    CUDA(start("add one", 1, 32, s.streams[1], add_one_kernel, others));
  }
  usleep(50000);  // the first stream is idle then, and what it used may serve the second
  CUDA(start("add one", 1, 32, s.streams[1], add_one_kernel, values));
  CUDA(cudaStreamSynchronize(s.streams[1]));
  CUDA(cudaStreamSynchronize(s.streams[0]));
}

void faults_are_caught() {
  CHECK(shows_over_seeds("missing event", 10));
  CHECK(shows_over_seeds("reused too early", 10));
  if (!cuda_emulator::kThreadSanitizer) return;
  CHECK(run_fault("missing event").raced());
  CHECK(run_fault("reused too early").raced());
  CHECK(run_fault("missing event among work").raced());
}

}  // namespace

int main(int argc, char** argv) {
  return run_program(argc, argv,
                     {{"order in a stream", order_in_a_stream},
                      {"events order", events_order},
                      {"queries", queries},
                      {"delays", delays},
                      {"default stream", default_stream},
                      {"handles", handles},
                      {"destroyed with work", destroyed_with_work},
                      {"pinned ring", pinned_ring},
                      {"faults are caught", faults_are_caught}},
                     {{"missing event", missing_event},
                      {"reused too early", reused_too_early},
                      {"missing event among work", missing_event_among_work}});
}
