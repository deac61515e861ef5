// SPDX-License-Identifier: Apache-2.0
#include "transport/nccl/host_sums.hpp"

#include <algorithm>
#include <cstring>
#include <string>
#include <thread>
#include <utility>

#include "base/error.hpp"
#include "transport/nccl/check.hpp"

namespace tokavg::nccl {

using std::chrono::milliseconds;
using std::chrono::seconds;

namespace {

constexpr std::size_t kSlots = 36;        // a context has at most 2 x 16 messages on their way
constexpr std::size_t kFewestWords = 64;  // of a slot
constexpr std::size_t kWarmUpWords = 2048;
static_assert(kSlots * kFewestWords >= kWarmUpWords);

constexpr milliseconds kGrace = seconds(1);

}  // namespace

class HostSums::Sum final : public Reduction {
 public:
  Sum(std::shared_ptr<HostSums> sums, Slot& slot, std::span<std::uint64_t> words)
      : sums_(std::move(sums)), slot_(slot), words_(words) {}
  Sum(const Sum&) = delete;
  Sum& operator=(const Sum&) = delete;
  ~Sum() override {
    if (!done_ && !late_) sums_->give_up();
  }

  bool test() override {
    if (done_ || late_) return done_;
    OnGpu gpu(sums_->communicator_->device());
    if (!slot_.done.happened()) {
      sums_->communicator_->check_health();
      gpu.restore();
      return false;
    }
    sums_->communicator_->check_sums();
    std::memcpy(words_.data(), slot_.on_host, words_.size_bytes());
    slot_.in_use = false;
    done_ = true;
    gpu.restore();
    return true;
  }

  // NCCL cannot tell who is missing. This rank stops waiting here, and nothing but an abort frees the GPU.
  std::vector<std::int32_t> late_ranks() override {
    if (!test()) {
      late_ = true;
      sums_->abort();
    }
    return {};
  }

  [[nodiscard]] std::string describe() const override {
    if (done_) return "done";
    if (!late_) return "an all-reduce of NCCL waits for other ranks";
    if (sums_->communicator_->is_ours()) return "NCCL's all-reduce was given up";
    return std::string("NCCL's all-reduce was given up, and ") + kObituary;
  }

 private:
  const std::shared_ptr<HostSums> sums_;
  Slot& slot_;
  const std::span<std::uint64_t> words_;
  bool done_ = false;
  bool late_ = false;
};

HostSums::Belongings::Belongings(int gpu, std::size_t slot_words) : device(gpu), words(kSlots * slot_words) {
  slots.reserve(kSlots);
  for (std::size_t i = 0; i < kSlots; ++i) {
    slots.push_back({words.on_gpu() + i * slot_words, words.on_host() + i * slot_words, Event()});
  }
}

HostSums::HostSums(std::shared_ptr<Communicator> communicator, std::size_t max_words)
    : communicator_(std::move(communicator)), slot_words_(std::max(max_words, kFewestWords)) {
  OnGpu gpu(communicator_->device());
  belongings_ = {new Belongings(communicator_->device(), slot_words_), &Belongings::free_here};
  gpu.restore();
}

// Not freed here, where nobody may wait: without an errand they stay.
HostSums::~HostSums() {
  if (belongings_ != nullptr) belongings_->stay = true;
}

// By the last who used them, in an errand. When the process ends CUDA does too, and frees it all.
void HostSums::Belongings::free_here(Belongings* belongings) noexcept {
  if (!belongings->stay && !Errand::process_ends()) {
    try {
      const OnGpu gpu(belongings->device);
      static_cast<void>(cudaStreamSynchronize(belongings->stream.get()));  // nothing is freed under a running copy
      delete belongings;
      return;
    } catch (...) {
      // The GPU is gone, and what is on it too.
    }
  }
  // A list of what stays, so that leak checkers find it.
  static std::atomic<Belongings*> left = nullptr;
  belongings->next_left = left.load();
  while (!left.compare_exchange_weak(belongings->next_left, belongings)) {
  }
}

std::shared_ptr<HostSums::Belongings> HostSums::belongings() {
  const std::lock_guard lock(freeing_);
  if (belongings_ == nullptr) fail(TOKAVG_ERR_ABORTED, "the sums over NCCL were ended meanwhile");
  return belongings_;
}

void HostSums::warm_up(Clock::time_point end) {
  OnGpu gpu(communicator_->device());
  const std::shared_ptr<Belongings> held = belongings();
  const Words& words = held->words;
  const std::size_t n_bytes = kWarmUpWords * sizeof(std::uint64_t);
  const cudaStream_t stream = held->stream.get();
  // Not from the host's buffer, which the first sum may write to meanwhile.
  check(cudaMemsetAsync(words.on_gpu(), 0, n_bytes, stream), "cudaMemsetAsync");
  communicator_->all_reduce(words.on_gpu(), kWarmUpWords, stream, end);
  gpu.restore();
}

std::unique_ptr<Reduction> HostSums::start(std::span<std::uint64_t> words) {
  if (words.size() > slot_words_) {
    fail(TOKAVG_ERR_INTERNAL, "a sum of %zu words, where %zu were announced", words.size(), slot_words_);
  }
  OnGpu gpu(communicator_->device());
  const std::shared_ptr<Belongings> held = belongings();
  Slot& slot = take_slot(*held);
  auto sum = std::make_unique<Sum>(shared_from_this(), slot, words);  // if what follows throws, it is given up
  std::memcpy(slot.on_host, words.data(), words.size_bytes());
  enqueue(slot, words.size(), held->stream.get());
  gpu.restore();
  return sum;
}

void HostSums::enqueue(const Slot& slot, std::size_t n_words, cudaStream_t stream) {
  const std::size_t n_bytes = n_words * sizeof(std::uint64_t);
  check(cudaMemcpyAsync(slot.on_gpu, slot.on_host, n_bytes, cudaMemcpyHostToDevice, stream), "cudaMemcpyAsync");
  communicator_->all_reduce(slot.on_gpu, n_words, stream, Clock::now() + kGrace);
  check(cudaMemcpyAsync(slot.on_host, slot.on_gpu, n_bytes, cudaMemcpyDeviceToHost, stream), "cudaMemcpyAsync");
  check(cudaEventRecord(slot.done.get(), stream), "cudaEventRecord");
}

HostSums::Slot& HostSums::take_slot(Belongings& belongings) {
  if (given_up_) fail(TOKAVG_ERR_ABORTED, "the sums over NCCL were given up after an earlier failure of this context");
  for (Slot& slot : belongings.slots) {
    if (slot.in_use) continue;
    slot.in_use = true;
    return slot;
  }
  fail(TOKAVG_ERR_INTERNAL, "more than %zu sums are in flight", kSlots);
}

// Of a stream that the GPU has failed on there is nothing to wait for either.
bool HostSums::idle() noexcept {
  const std::lock_guard lock(freeing_);
  if (belongings_ == nullptr) return true;
  try {
    const OnGpu gpu(communicator_->device());
    const cudaError_t result = cudaStreamQuery(belongings_->stream.get());
    if (result != cudaSuccess) static_cast<void>(cudaGetLastError());
    return result != cudaErrorNotReady;
  } catch (...) {
    return true;
  }
}

void HostSums::drain_here() noexcept {
  const Clock::time_point end = Clock::now() + kGrace;
  while (!idle()) {
    if (Clock::now() >= end) return communicator_->abort_here();
    std::this_thread::sleep_for(milliseconds(1));
  }
}

void HostSums::give_up() noexcept {
  if (given_up_.exchange(true)) return;
  if (communicator_->is_ours()) return communicator_->abort();
  if (idle()) return;
  try {
    Errand([self = shared_from_this()] { self->drain_here(); });
  } catch (...) {
    // No thread: what the caller's communicator is waiting for stays on the GPU.
  }
}

void HostSums::abort() noexcept {
  given_up_ = true;
  communicator_->abort();
}

void HostSums::end_here(bool together) noexcept {
  given_up_ = true;
  if (!communicator_->is_ours()) {
    drain_here();
  } else if (together) {
    communicator_->destroy_here();
  } else {
    communicator_->abort_here();
  }
  std::shared_ptr<Belongings> last;
  const std::lock_guard lock(freeing_);
  last.swap(belongings_);
}

void retire(const std::shared_ptr<HostSums>& sums, bool together, milliseconds patience) noexcept {
  try {
    Errand errand([sums, together] { sums->end_here(together); });
    static_cast<void>(errand.done_by(Clock::now() + patience));
  } catch (...) {
    // No thread: all of it stays until the process ends.
  }
}

}  // namespace tokavg::nccl
