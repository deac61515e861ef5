// SPDX-License-Identifier: Apache-2.0
// free: tokavg_free waits for no GPU, whatever it is doing and for whom, and all is freed nevertheless. Needs the
// emulator, which lets streams be late and counts what is alive.
// free at_exit: also where the process ends meanwhile.
#include <array>
#include <chrono>
#include <cstring>
#include <thread>

#include "contract/team.hpp"
#include "cuda/checks.hpp"
#include "cuda/gpu.hpp"
#include "cuda_emulator/control.h"

using namespace cuda_test;
using Clock = std::chrono::steady_clock;

namespace {

constexpr double kBusySeconds = 0.7;  // less than the second that a process which ends waits
constexpr double kAtOnce = 0.4;       // freeing a context takes a millisecond, but the machine has other work

constexpr const char* kKinds[] = {"memory", "pinned memory", "stream", "event"};
using Alive = std::array<std::size_t, std::size(kKinds)>;

Alive alive() {
  Alive count{};
  for (std::size_t i = 0; i < count.size(); ++i) count[i] = cuda_emulator_alive(kKinds[i]);
  return count;
}

bool soon_alive(const Alive& wanted) {
  const Clock::time_point end = Clock::now() + std::chrono::seconds(20);
  while (alive() != wanted && Clock::now() < end) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  return alive() == wanted;
}

tokavg_context_t* context_on(int device, Checks& checks) {
  tokavg_config_t config;
  tokavg_config_init(&config, static_cast<std::uint32_t>(sizeof config));
  config.comm_kind = TOKAVG_COMM_SELF;
  config.gradient_reduction = TOKAVG_GRADIENT_SUM;
  config.device = TOKAVG_DEVICE_CUDA;
  config.device_index = device;
  tokavg_context_t* context = nullptr;
  checks.expect(tokavg_init(&config, &context) == TOKAVG_OK, "tokavg_init: " + contract::last_error(nullptr));
  return context;
}

double seconds_to_free(tokavg_context_t* context) {
  const Clock::time_point begin = Clock::now();
  tokavg_free(context);
  return std::chrono::duration<double>(Clock::now() - begin).count();
}

// Something on a stream of the current device that takes a while.
void keep_busy(const Stream& stream, const Array<std::int64_t>& array) {
  cuda_emulator_delay_stream(stream.get(), static_cast<unsigned>(kBusySeconds * 1e6));
  must(cudaMemsetAsync(array.data(), 0, sizeof(std::int64_t), stream.get()), "cudaMemsetAsync");
}

// Two contexts, one of a GPU that somebody else keeps busy.
void somebody_elses_work(Checks& checks) {
  const Stream stream;
  const Array<std::int64_t> array(1);
  const Alive before = alive();
  tokavg_context_t* const here = context_on(0, checks);
  tokavg_context_t* const elsewhere = context_on(1, checks);
  keep_busy(stream, array);
  double took = 0;
  std::thread other_rank([&] { took = seconds_to_free(here); });
  std::this_thread::sleep_for(std::chrono::milliseconds(50));
  const double other_took = seconds_to_free(elsewhere);
  other_rank.join();
  checks.expect(took < kAtOnce, "a GPU that is busy: freed after " + std::to_string(took) + " s");
  checks.expect(other_took < kAtOnce, "another GPU: freed after " + std::to_string(other_took) + " s");
  checks.expect(soon_alive(before), "all is freed in the end");
  stream.wait();
}

// Nothing is freed under the context's own kernels.
void own_work(Checks& checks) {
  const Stream stream;
  const Array<std::int64_t> labels({1, 2, -100}, stream);
  stream.wait();
  const Alive before = alive();
  tokavg_context_t* const context = context_on(0, checks);
  keep_busy(stream, labels);
  const tokavg_labels_t given = labels_of(labels, 1, 3);
  checks.expect(tokavg_count(context, &given, stream.get()) == TOKAVG_OK, "tokavg_count");
  const double took = seconds_to_free(context);
  checks.expect(took < kAtOnce, "a count under way: freed after " + std::to_string(took) + " s");
  checks.expect(alive() != before, "the kernel that is under way has its memory");
  checks.expect(soon_alive(before), "all is freed in the end");
}

// The emulator's own look at what is left comes last.
int at_exit() {
  Checks checks;
  const Stream stream;
  const Array<std::int64_t> array(1);
  tokavg_context_t* const context = context_on(0, checks);
  keep_busy(stream, array);
  const double took = seconds_to_free(context);
  checks.expect(took < kAtOnce, "at the end: freed after " + std::to_string(took) + " s");
  return checks.end("free at_exit");
}

}  // namespace

int main(int argc, char** argv) {
  if (argc > 1 && std::strcmp(argv[1], "at_exit") == 0) return at_exit();
  Checks checks;
  somebody_elses_work(checks);
  own_work(checks);
  return checks.end("free");
}
