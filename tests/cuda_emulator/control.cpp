// SPDX-License-Identifier: Apache-2.0
#include "cuda_emulator/control.h"

#include <unistd.h>

#include <cstdlib>
#include <cstring>

#include "cuda_emulator/calls.hpp"
#include "cuda_emulator/device.hpp"
#include "cuda_emulator/event.hpp"
#include "cuda_emulator/failures.hpp"
#include "cuda_emulator/graph.hpp"
#include "cuda_emulator/memory.hpp"
#include "cuda_emulator/nccl_communicator.hpp"
#include "cuda_emulator/report.hpp"
#include "cuda_emulator/settings.hpp"

using namespace cuda_emulator;

namespace {

constexpr int kLeakExit = 86;

struct Kind {
  const char* name;
  std::size_t (*alive)();
};

const Kind kKinds[] = {
    {"memory", [] { return living_allocations(MemoryKind::kDevice); }},
    {"pinned memory", [] { return living_allocations(MemoryKind::kPinned); }},
    {"stream", [] { return streams().size(); }},
    {"event", [] { return events().size(); }},
    {"graph", [] { return graphs().size(); }},
    {"graph exec", [] { return graph_execs().size(); }},
    {"communicator", [] { return communicators().size(); }},
    {"reduction operator", &Communicator::living_reductions},
};

[[gnu::constructor]] void check_leaks_at_exit() {
  const char* wanted = std::getenv("CUDA_EMULATOR_LEAK_CHECK");
  if (wanted == nullptr || std::strcmp(wanted, "1") != 0) return;
  std::atexit([] {
    if (cuda_emulator_report_leaks() > 0) _exit(kLeakExit);
  });
}

}  // namespace

void cuda_emulator_seed(uint64_t seed) { reseed(seed); }
void cuda_emulator_device_count(int count) { settings().devices = count < kMostDevices ? count : kMostDevices; }
void cuda_emulator_capability(int major, int minor) { settings().capability = 10 * major + minor; }

void cuda_emulator_fail(const char* name, int kth, int error, int device, int flags) {
  plan_failure({name, kth, error, device, flags});
}

int cuda_emulator_failures_left(void) { return failures_left(); }
void cuda_emulator_delay(int device, unsigned microseconds) { set_delay(device, microseconds); }

void cuda_emulator_delay_stream(void* stream, unsigned microseconds) {
  const std::shared_ptr<Stream> found = find_stream(static_cast<cudaStream_t>(stream));
  if (found == nullptr) report("cuda_emulator_delay_stream(): no such stream");
  found->set_delay(microseconds);
}

void cuda_emulator_longest_pause(unsigned microseconds) { settings().longest_pause_us = microseconds; }
void cuda_emulator_check_order(int on) { settings().check_order = on != 0; }

uint64_t cuda_emulator_calls(const char* name) { return calls(name); }
uint64_t cuda_emulator_launches(void) { return calls("launch"); }
const char* cuda_emulator_called(size_t index) { return called(index); }

uint64_t cuda_emulator_synchronizations(void) {
  uint64_t sum = 0;
  for (const char* name : {"cudaStreamSynchronize", "cudaDeviceSynchronize", "cudaEventSynchronize", "cudaMemcpy",
                           "cudaMemset", "pageable copy", "cudaMalloc", "cudaFree", "cudaHostAlloc", "cudaFreeHost"}) {
    sum += calls(name);
  }
  return sum;
}

size_t cuda_emulator_alive(const char* name) {
  for (const Kind& kind : kKinds) {
    if (std::strcmp(kind.name, name) == 0) return kind.alive();
  }
  report("cuda_emulator_alive(\"%s\"): no such kind", name);
}

size_t cuda_emulator_report_leaks(void) {
  size_t sum = 0;
  for (const Kind& kind : kKinds) {
    const size_t alive = kind.alive();
    if (alive > 0) warn("leak: %zu of kind '%s' not freed", alive, kind.name);
    sum += alive;
  }
  return sum;
}

void cuda_emulator_reset(void) {
  forget_calls();
  forget_failures();
  mend_devices();
  for (int device = 0; device < kMostDevices; ++device) set_delay(device, 0);
}
