// SPDX-License-Identifier: Apache-2.0
// failing_calls: every call of the CUDA runtime and of NCCL, and every launch, fails once: some call of the library
// then returns an error whose text names it, nothing hangs, and nothing is left behind. A GPU that dies ends the
// context. Needs the emulator, which fails calls by name and knows which were made: one that is not in the table is a
// fault too.
#include <cuda_runtime_api.h>
#include <nccl.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstring>
#include <set>
#include <thread>

#include "contract/team.hpp"
#include "cuda/checks.hpp"
#include "cuda/gpu.hpp"
#include "cuda_emulator/control.h"

using namespace cuda_test;

namespace {

// What comes of the failure of a call.
enum class Failure {
  kTold,       // an error names it; but what fails inside tokavg_free nobody can be told
  kRestores,   // told where it changes the thread's state; where a destructor changes it back nobody can be told
  kDescribes,  // told, but what only describes the library says what is left instead
  kUntold,     // it ends something: nobody can be told, and the rest is ended nevertheless
  kPerhaps,    // told where a call waits for what it asks about; not where an errand does
  kFallsBack   // an answer like any other: see falls_back()
};

struct Call {
  const char* name;
  Failure failure = Failure::kTold;
};

// What the library calls, in a step that uses all of it.
constexpr Call kCalls[] = {{"cudaGetDeviceCount", Failure::kDescribes},
                           {"cudaGetDevice"},
                           {"cudaSetDevice"},
                           {"cudaDeviceGetAttribute"},
                           {"cudaDeviceGetStreamPriorityRange"},
                           {"cudaStreamCreateWithPriority"},
                           {"cudaEventCreateWithFlags"},
                           {"cudaMalloc"},
                           {"cudaMemsetAsync"},
                           {"cudaMemcpyAsync"},
                           {"cudaStreamSynchronize"},
                           {"cudaHostAlloc"},
                           {"cudaHostGetDevicePointer"},
                           {"cudaPointerGetAttributes"},
                           {"cudaStreamGetCaptureInfo"},
                           {"cudaStreamGetDevice"},
                           {"cudaThreadExchangeStreamCaptureMode", Failure::kRestores},
                           {"cudaStreamWaitEvent"},
                           {"cudaEventRecord"},
                           {"cudaEventQuery"},
                           {"cudaFuncSetAttribute"},
                           {"cudaOccupancyMaxActiveClusters", Failure::kFallsBack},
                           {"cudaRuntimeGetVersion"},
                           {"cudaDriverGetVersion"},
                           {"cudaStreamQuery", Failure::kPerhaps},
                           {"cudaFree", Failure::kUntold},
                           {"cudaFreeHost", Failure::kUntold},
                           {"cudaEventDestroy", Failure::kUntold},
                           {"cudaStreamDestroy", Failure::kUntold},
                           {"count_run_kernel"},
                           {"count_kernel"},
                           {"encode_kernel"},
                           {"await_kernel"},
                           {"ask_kernel"},
                           {"settle_kernel"},
                           {"token_losses_kernel"},
                           {"cross_entropy_cluster_kernel"},
                           {"cross_entropy_block_kernel"},
                           {"give_back_kernel"},
                           {"value_kernel"},
                           {"fold_kernel"},
                           {"scale_kernel"},
                           {"ncclGetVersion", Failure::kDescribes},
                           {"ncclCommCuDevice"},
                           {"ncclCommUserRank"},
                           {"ncclCommCount"},
                           {"ncclCommSplit"},
                           {"ncclAllReduce"},
                           {"ncclCommGetAsyncError"},
                           {"ncclCommFinalize", Failure::kUntold},
                           {"ncclCommDestroy", Failure::kUntold}};

// Only after another failure: tests/nccl/failing_calls.cpp lets it fail.
constexpr const char* kAfterAFailure = "ncclCommAbort";

const Call* find_call(const std::string& name) {
  const auto* found = std::find_if(std::begin(kCalls), std::end(kCalls), [&](const Call& c) { return name == c.name; });
  return found == std::end(kCalls) ? nullptr : found;
}

// What carries the sums.
enum class Channel { kHost, kLent, kSplit };
constexpr const char* kChannels[] = {"", "NCCL, lent: ", "NCCL, split: "};

struct Setup {
  Channel channel = Channel::kHost;
  int counts = 34;  // more than there are cells
  std::int64_t timeout_ms = 30000;
};

// Not the one that is current: the library has to change, and to change back.
constexpr int kDevice = 1;

void wait_for_device() {
  must(cudaSetDevice(kDevice), "cudaSetDevice");
  must(cudaDeviceSynchronize(), "cudaDeviceSynchronize");
  must(cudaSetDevice(0), "cudaSetDevice");
}

// A communicator of one rank, which the library may have aborted in the end.
class Communicator {
 public:
  explicit Communicator(Channel channel) {
    if (channel == Channel::kHost) return;
    ncclUniqueId id;
    must(cudaSetDevice(kDevice), "cudaSetDevice");
    must(ncclGetUniqueId(&id) == ncclSuccess ? cudaSuccess : cudaErrorUnknown, "ncclGetUniqueId");
    must(ncclCommInitRank(&comm_, 1, id, 0) == ncclSuccess ? cudaSuccess : cudaErrorUnknown, "ncclCommInitRank");
    must(cudaSetDevice(0), "cudaSetDevice");
  }
  ~Communicator() {
    int ranks = 0;
    if (comm_ != nullptr && ncclCommCount(comm_, &ranks) == ncclSuccess) ncclCommDestroy(comm_);
  }
  Communicator(const Communicator&) = delete;
  Communicator& operator=(const Communicator&) = delete;
  [[nodiscard]] ncclComm_t get() const { return comm_; }

 private:
  ncclComm_t comm_ = nullptr;
};

constexpr const char* kKinds[] = {"memory", "pinned memory", "stream", "event"};
using Alive = std::array<std::size_t, std::size(kKinds)>;

Alive alive() {
  Alive count{};
  for (std::size_t i = 0; i < count.size(); ++i) count[i] = cuda_emulator_alive(kKinds[i]);
  return count;
}

std::set<std::string> called() {
  std::set<std::string> names;
  for (std::size_t i = 0; cuda_emulator_called(i) != nullptr; ++i) names.insert(cuda_emulator_called(i));
  return names;
}

// A failure to come; a name of nothing: none.
struct Plan {
  const char* call = nullptr;
  int kth = 1;
  int error = cudaErrorUnknown;
  int flags = 0;
};

// The first error and its text, and what became of the plan.
struct Outcome {
  tokavg_status_t status = TOKAVG_OK;
  std::string text;
  std::string where;  // the function of the library in which the planned failure came
  Alive before{};
  Alive after{};
  std::set<std::string> called;
  int device = 0;  // current at the end

  void note(const char* function, tokavg_status_t got, tokavg_context_t* context) {
    if (where.empty() && cuda_emulator_failures_left() == 0) where = function;
    if (got >= 0 || status < 0) return;
    status = got;
    text = contract::last_error(context);
  }
  // Nobody can be told: it came in tokavg_free, or in a thread that closes a channel.
  [[nodiscard]] bool closing(Channel channel) const {
    return where == "tokavg_free" || (channel != Channel::kHost && where == "tokavg_finalize");
  }
};

struct Data {
  Stream stream;
  Array<std::int64_t> labels{{1, 0, -100}, stream};
  Array<float> weights{{1, 2, 3}, stream};
  Array<float> losses{{1, 2, 3}, stream};
  Array<float> logits{std::vector<float>(6, 0.0F), stream};
  Array<double> sum{1};
};

void step(tokavg_context_t* ctx, const Data& data, int counts, Outcome& outcome) {
  const cudaStream_t s = data.stream.get();
  tokavg_labels_t labels = labels_of(data.labels, 1, 3);
  labels.labels.memory = TOKAVG_MEMORY_AUTO;
  for (int i = 0; i < counts; ++i) outcome.note("tokavg_count", tokavg_count(ctx, &labels, s), ctx);
  labels.weights = data.weights.array(TOKAVG_DTYPE_F32);
  outcome.note("tokavg_count", tokavg_count(ctx, &labels, s), ctx);
  tokavg_ticket_t ticket = 0;
  outcome.note("tokavg_reduce", tokavg_reduce(ctx, nullptr, s, &ticket), ctx);
  tokavg_loss_t loss{};
  loss.struct_size = static_cast<std::uint32_t>(sizeof loss);
  loss.kind = TOKAVG_LOSS_TOKEN_LOSSES;
  loss.rows = 1;
  loss.cols = 3;
  loss.losses = data.losses.array(TOKAVG_DTYPE_F32);
  loss.labels = &labels;
  loss.sum_out = data.sum.data();
  outcome.note("tokavg_loss", tokavg_loss(ctx, ticket, &loss, s), ctx);
  loss.kind = TOKAVG_LOSS_MEAN;
  loss.labels = nullptr;
  loss.tokens = -1;
  outcome.note("tokavg_loss", tokavg_loss(ctx, ticket, &loss, s), ctx);
  labels.weights = {};
  tokavg_cross_entropy_t ce{};
  ce.struct_size = static_cast<std::uint32_t>(sizeof ce);
  ce.logits = data.logits.array(TOKAVG_DTYPE_F32);
  ce.vocab = 2;
  ce.labels = &labels;
  outcome.note("tokavg_cross_entropy", tokavg_cross_entropy(ctx, ticket, &ce, s), ctx);
  const tokavg_scale_item_t item = {data.losses.data(), 3, TOKAVG_DTYPE_F32, TOKAVG_MEMORY_CUDA};
  const tokavg_scale_t scale = scale_of(item);
  outcome.note("tokavg_scale", tokavg_scale(ctx, ticket, &scale, s), ctx);
  outcome.note("tokavg_describe", tokavg_describe(ctx, nullptr, 0, nullptr), ctx);
  outcome.note("tokavg_wait", tokavg_wait(ctx, ticket, TOKAVG_WAIT_COUNT, -1, nullptr), ctx);
}

tokavg_config_t configuration(const Setup& setup, const Communicator& lent) {
  tokavg_config_t config;
  tokavg_config_init(&config, static_cast<std::uint32_t>(sizeof config));
  config.comm_kind = setup.channel == Channel::kHost ? TOKAVG_COMM_SELF : TOKAVG_COMM_NCCL;
  config.comm = lent.get();
  if (setup.channel == Channel::kSplit) config.flags |= static_cast<std::uint32_t>(TOKAVG_CONFIG_NCCL_OWN);
  config.gradient_reduction = TOKAVG_GRADIENT_SUM;
  config.device = TOKAVG_DEVICE_CUDA;
  config.device_index = kDevice;
  config.timeout_ms = setup.timeout_ms;
  return config;
}

// Without one of these nothing on a GPU can be touched, nor freed.
bool is_needed_to_free(const char* call) {
  const std::string name = call == nullptr ? "" : call;
  return name == "cudaSetDevice" || name == "cudaGetDevice" || name == "cudaThreadExchangeStreamCaptureMode";
}

// What a context has on the GPU is freed in threads of the library's, which give their capture mode back at the end, so
// that it was exchanged an even number of times; where one of these exchanges fails, that does not tell.
void wait_until_freed(const Alive& before, const Plan& plan, bool in_free) {
  constexpr const char* kExchange = "cudaThreadExchangeStreamCaptureMode";
  const bool counts = plan.call == nullptr || std::strcmp(plan.call, kExchange) != 0;
  Alive latest = before;
  int unchanged = 0;
  for (int tries = 0; tries < 5000; ++tries) {
    const Alive now = alive();
    const bool all_back = !counts || cuda_emulator_calls(kExchange) % 2 == 0;
    if (now == before && all_back) return;
    unchanged = now == latest ? unchanged + 1 : 0;
    latest = now;
    const bool stays = in_free && is_needed_to_free(plan.call) && cuda_emulator_failures_left() == 0;
    if (stays && unchanged > 200) return;
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
}

Outcome scenario(const Data& data, const Setup& setup, const Plan& plan) {
  Outcome outcome;
  must(cudaSetDevice(0), "cudaSetDevice");
  const Communicator lent(setup.channel);
  outcome.before = alive();
  cuda_emulator_reset();
  if (plan.call != nullptr) cuda_emulator_fail(plan.call, plan.kth, plan.error, -1, plan.flags);
  const tokavg_config_t config = configuration(setup, lent);
  tokavg_context_t* ctx = nullptr;
  outcome.note("tokavg_init", tokavg_init(&config, &ctx), nullptr);
  if (ctx != nullptr) {
    step(ctx, data, setup.counts, outcome);
    outcome.note("tokavg_finalize", tokavg_finalize(ctx), ctx);
  }
  tokavg_free(ctx);
  wait_until_freed(outcome.before, plan, outcome.where.empty() || outcome.where == "tokavg_finalize");
  outcome.note("tokavg_free", TOKAVG_OK, nullptr);
  outcome.after = alive();
  outcome.called = called();
  cuda_emulator_reset();
  must(cudaGetDevice(&outcome.device), "cudaGetDevice");
  return outcome;
}

class Scenarios {
 public:
  Scenarios(const Data& data, Checks& checks) : data_(data), checks_(checks) {}

  // Nothing fails: everything is called that there is to call.
  std::set<std::string> clean(const Setup& setup) {
    const Outcome outcome = scenario(data_, setup, {});
    checks_.expect(outcome.status == TOKAVG_OK,
                   kChannels[index(setup)] + std::string("the step works: ") + outcome.text);
    know(outcome);
    return outcome.called;
  }

  // Every occurrence of the call, until there are no more; a call in a loop need not fail at each of its turns.
  void fail_each(const Call& call, const Setup& setup) {
    failed_.insert(call.name);
    // A channel asks and frees in loops, and the library's own thread again and again.
    const int all_to = setup.channel == Channel::kHost ? 60 : 14;
    const int most = std::strcmp(call.name, "ncclCommGetAsyncError") == 0 ? 3
                     : setup.channel == Channel::kHost                    ? 400
                                                                          : 130;
    int failed = 0;
    for (int kth = 1; kth <= most; kth += kth < all_to ? 1 : 13) {
      const Outcome outcome = scenario(data_, setup, {call.name, kth, error_of(call), 0});
      know(outcome);
      const std::string what =
          kChannels[index(setup)] + std::string(call.name) + ", call " + std::to_string(kth) + ", ";
      if (outcome.where.empty()) {
        checks_.expect(outcome.status == TOKAVG_OK, what + "did not fail, but: " + outcome.text);
        break;
      }
      ++failed;
      check(call, setup, outcome, what + "in " + outcome.where + ": ");
    }
    // Where the host happens to wait so short that it does not ask, GPUs that die show it.
    checks_.expect(failed > 0 || call.failure == Failure::kPerhaps, std::string(call.name) + " is never called");
  }

  // No memory for a launch is not as harmless as it sounds: what came before it is on the stream.
  void no_memory_for_a_launch(const char* kernel) {
    const Outcome outcome = scenario(data_, {}, {kernel, 1, cudaErrorMemoryAllocation, 0});
    checks_.expect(!outcome.where.empty(), std::string(kernel) + " is never launched");
    checks_.expect(outcome.status == TOKAVG_ERR_DEVICE && outcome.text.find("out of memory") != std::string::npos,
                   std::string(kernel) + ": " + tokavg_status_name(outcome.status) + " " + outcome.text);
  }

  // The launch succeeds, and the GPU is gone when the stream gets there: at once, or when all has been enqueued and the
  // host waits. Nobody tells the host then, so it may be its deadline that ends the step.
  void a_gpu_that_dies(const char* kernel, Channel channel, unsigned delay_us) {
    const Setup setup{channel, 1, 2000};
    cuda_emulator_delay_stream(data_.stream.get(), delay_us);
    const auto begin = std::chrono::steady_clock::now();
    const Outcome outcome = scenario(data_, setup, {kernel, 1, cudaErrorIllegalAddress, CUDA_EMULATOR_ASYNC});
    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begin;
    cuda_emulator_delay_stream(data_.stream.get(), 0);
    data_.stream.wait();
    know(outcome);
    const std::string what = kChannels[index(setup)] + std::string("the GPU dies in ") + kernel + " after " +
                             std::to_string(delay_us) + " us, " + std::to_string(took.count()) + " s: ";
    checks_.expect(!outcome.where.empty(), what + "never launched");
    checks_.expect(outcome.status == TOKAVG_ERR_DEVICE, what + tokavg_status_name(outcome.status) + " " + outcome.text);
    checks_.expect(took.count() < 20, what + "it took long");
    check_left(outcome, what);
  }

  // Every call was known, and every known one has failed.
  void end() {
    for (const std::string& name : called_) {
      checks_.expect(find_call(name) != nullptr || name == kAfterAFailure, name + " is called, and not in the table");
    }
    for (const Call& call : kCalls)
      checks_.expect(failed_.count(call.name) > 0, call.name + std::string(" never failed"));
  }

  void know(const std::set<std::string>& called) { called_.insert(called.begin(), called.end()); }
  void count_as_failed(const char* call) { failed_.insert(call); }
  [[nodiscard]] bool has_failed(const std::string& call) const { return failed_.count(call) > 0; }

 private:
  static std::size_t index(const Setup& setup) { return static_cast<std::size_t>(setup.channel); }
  static int error_of(const Call& call) {
    return std::strncmp(call.name, "nccl", 4) == 0 ? static_cast<int>(ncclInternalError) : cudaErrorUnknown;
  }
  void know(const Outcome& outcome) { know(outcome.called); }

  void check(const Call& call, const Setup& setup, const Outcome& outcome, const std::string& what) {
    const bool in_errand = outcome.closing(setup.channel);
    if (outcome.status == TOKAVG_OK) {
      const bool describes = outcome.where == "tokavg_describe" && call.failure == Failure::kDescribes;
      const bool untold =
          call.failure == Failure::kUntold || call.failure == Failure::kRestores || call.failure == Failure::kPerhaps;
      checks_.expect(in_errand || describes || untold, what + "nobody is told");
    } else {
      checks_.expect(outcome.status == TOKAVG_ERR_DEVICE || outcome.status == TOKAVG_ERR_MEMORY ||
                         (std::strncmp(call.name, "nccl", 4) == 0 && outcome.status == TOKAVG_ERR_TRANSPORT),
                     what + tokavg_status_name(outcome.status) + " " + outcome.text);
      checks_.expect(outcome.text.find(call.name) != std::string::npos, what + outcome.text);
      checks_.expect(call.failure != Failure::kUntold, what + "told, though it ends something: " + outcome.text);
    }
    if (!in_errand || !is_needed_to_free(call.name)) check_left(outcome, what);
    checks_.expect(outcome.device == 0 || std::strcmp(call.name, "cudaSetDevice") == 0, what + "another device");
  }

  void check_left(const Outcome& outcome, const std::string& what) {
    for (std::size_t i = 0; i < outcome.after.size(); ++i) {
      checks_.equal(outcome.after[i], outcome.before[i], what + kKinds[i] + " alive");
    }
  }

  const Data& data_;
  Checks& checks_;
  std::set<std::string> called_;
  std::set<std::string> failed_;
};

// Where the driver does not say whether a large cluster fits, a row is read by one block: with the same result.
void falls_back(const Data& data, Scenarios& scenarios, Checks& checks) {
  constexpr std::int64_t kVocab = 140000;
  must(cudaSetDevice(kDevice), "cudaSetDevice");
  const Array<float> logits(std::vector<float>(kVocab, 0.0F), data.stream);
  wait_for_device();
  for (const bool fails : {true, false}) {
    const Alive before = alive();
    cuda_emulator_reset();
    if (fails) cuda_emulator_fail("cudaOccupancyMaxActiveClusters", 1, cudaErrorUnknown, -1, 0);
    const Communicator none(Channel::kHost);
    const tokavg_config_t config = configuration({}, none);
    tokavg_context_t* ctx = nullptr;
    Outcome outcome;
    outcome.note("tokavg_init", tokavg_init(&config, &ctx), nullptr);
    const tokavg_labels_t labels = labels_of(data.labels, 1, 1);
    tokavg_cross_entropy_t ce{};
    ce.struct_size = static_cast<std::uint32_t>(sizeof ce);
    ce.logits = logits.array(TOKAVG_DTYPE_F32);
    ce.vocab = kVocab;
    ce.labels = &labels;
    outcome.note("tokavg_cross_entropy", tokavg_cross_entropy(ctx, TOKAVG_OPEN, &ce, data.stream.get()), ctx);
    data.stream.wait();
    checks.expect(outcome.status == TOKAVG_OK && cuda_emulator_failures_left() == 0, "falls back: " + outcome.text);
    checks.equal(cuda_emulator_calls("cross_entropy_block_kernel"), std::uint64_t{fails}, "falls back to a block");
    checks.equal(cuda_emulator_calls("cross_entropy_cluster_kernel"), std::uint64_t{!fails}, "or does not");
    scenarios.know(called());
    tokavg_free(ctx);
    wait_until_freed(before, {}, false);
  }
  scenarios.count_as_failed("cudaOccupancyMaxActiveClusters");
}

}  // namespace

int main() {
  cuda_emulator_longest_pause(0);
  Checks checks;
  {
    must(cudaSetDevice(kDevice), "cudaSetDevice");
    const Data data;
    wait_for_device();
    Scenarios scenarios(data, checks);
    // A channel has fewer counts and, of NCCL's own, only what the others do not call.
    for (const Setup& setup : {Setup{}, Setup{Channel::kLent, 2}, Setup{Channel::kSplit, 2}}) {
      for (const std::string& name : scenarios.clean(setup)) {
        const Call* call = find_call(name);
        if (call == nullptr || (setup.channel == Channel::kSplit && scenarios.has_failed(name))) continue;
        scenarios.fail_each(*call, setup);
      }
    }
    falls_back(data, scenarios, checks);
    cuda_emulator_capability(8, 0);  // no clusters
    scenarios.know(scenarios.clean({}));
    scenarios.fail_each(*find_call("cross_entropy_block_kernel"), {});
    cuda_emulator_capability(9, 0);
    for (const char* kernel : {"encode_kernel", "give_back_kernel"}) scenarios.no_memory_for_a_launch(kernel);
    for (const unsigned delay_us : {0U, 20000U}) {
      for (const char* kernel : {"count_run_kernel", "count_kernel", "encode_kernel", "await_kernel"}) {
        scenarios.a_gpu_that_dies(kernel, Channel::kHost, delay_us);
      }
      for (const char* kernel : {"count_kernel", "encode_kernel", "settle_kernel"}) {
        scenarios.a_gpu_that_dies(kernel, Channel::kLent, delay_us);
      }
    }
    scenarios.end();
  }
  checks.equal(cuda_emulator_alive("communicator"), std::size_t{0}, "communicators alive");
  return checks.end("failing_calls");
}
