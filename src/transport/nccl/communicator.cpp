// SPDX-License-Identifier: Apache-2.0
#include "transport/nccl/communicator.hpp"

#include <thread>
#include <utility>

#include "base/error.hpp"
#include "transport/nccl/check.hpp"
#include "transport/nccl/gpu.hpp"

namespace tokavg::nccl {

using std::chrono::milliseconds;
using std::chrono::seconds;

ncclResult_t settle(const Library& library, ncclComm_t comm, ncclResult_t result, Clock::time_point end) {
  while (result == ncclInProgress && comm != nullptr && Clock::now() < end) {
    std::this_thread::sleep_for(milliseconds(1));
    const ncclResult_t asked = library.comm_get_async_error(comm, &result);
    if (asked != ncclSuccess) return asked;
  }
  return result;
}

// One call at a time. Without it an abort could free the communicator under a call that has just begun.
class Communicator::Call {
 public:
  enum class Wait { kTurn, kNot, kSecond };

  Call(Communicator& communicator, Wait wait) : communicator_(communicator) {
    std::unique_lock lock(communicator_.mutex_);
    const auto free = [this] { return !communicator_.in_call_; };
    // An abort may never leave: nobody waits behind it.
    if (wait == Wait::kTurn) communicator_.changed_.wait(lock, [&] { return free() || !communicator_.usable(); });
    if (wait == Wait::kSecond) communicator_.changed_.wait_for(lock, seconds(1), free);
    if (communicator_.in_call_) return;
    communicator_.in_call_ = true;
    holds_ = true;
  }
  ~Call() {
    if (!holds_) return;
    const std::lock_guard lock(communicator_.mutex_);
    communicator_.in_call_ = false;
    communicator_.changed_.notify_all();
  }
  Call(const Call&) = delete;
  Call& operator=(const Call&) = delete;
  [[nodiscard]] bool may_use() const noexcept { return holds_ && communicator_.usable(); }

 private:
  Communicator& communicator_;
  bool holds_ = false;
};

Communicator::Communicator(std::shared_ptr<const Library> library, ncclComm_t comm, Owner owner, int device)
    : library_(std::move(library)), comm_(comm), owner_(owner), device_(device) {}

std::shared_ptr<Communicator> Communicator::lent(const std::shared_ptr<const Library>& library, ncclComm_t comm) {
  try {
    int device = 0;
    check(*library, library->comm_cu_device(comm, &device), "ncclCommCuDevice");
    auto communicator = std::make_shared<Communicator>(library, comm, Owner::kCaller, device);
    communicator->introduce();
    return communicator;
  } catch (const Error& error) {
    fail(error.status(), "config.comm: %s; is it an ncclComm_t that lives, and was it made by %s?",
         error.text().c_str(), library->file.c_str());
  }
}

void Communicator::introduce() {
  check(*library_, library_->comm_user_rank(comm_, &rank_), "ncclCommUserRank");
  check(*library_, library_->comm_count(comm_, &ranks_), "ncclCommCount");
}

void Communicator::all_reduce(std::uint64_t* words, std::size_t n_words, cudaStream_t stream, Clock::time_point end) {
  const Call call(*this, Call::Wait::kTurn);
  if (!call.may_use()) fail_ended();
  ncclResult_t result = library_->all_reduce(words, words, n_words, ncclUint64, ncclSum, comm_, stream);
  result = settle(*library_, comm_, result, end);
  check(*library_, result, "ncclAllReduce");
}

void Communicator::check_health() {
  const Call call(*this, Call::Wait::kNot);
  if (call.may_use()) return ask_for_errors();
  if (!usable()) fail_ended();
}

void Communicator::check_sums() {
  const Call call(*this, Call::Wait::kTurn);
  if (!call.may_use()) fail_ended();
  ask_for_errors();
}

void Communicator::ask_for_errors() {
  ncclResult_t state = ncclSuccess;
  check(*library_, library_->comm_get_async_error(comm_, &state), "ncclCommGetAsyncError");
  if (state != ncclInProgress) check(*library_, state, "an all-reduce of NCCL");
}

void Communicator::fail_ended() const {
  fail(TOKAVG_ERR_ABORTED, "%s communicator of NCCL was aborted after an earlier failure of this context",
       is_ours() ? "the" : "the caller's");
}

void Communicator::abort() noexcept {
  if (!usable()) return;
  try {
    Errand([self = shared_from_this()] { self->abort_here(); });
  } catch (...) {
    // No thread: nothing that does not block can end it.
  }
}

void Communicator::abort_here() noexcept { end(false); }

void Communicator::destroy_here() noexcept { end(true); }

void Communicator::end(bool together) noexcept {
  State expected = State::kUsable;
  if (!state_.compare_exchange_strong(expected, State::kEnding)) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return state_.load() == State::kEnded; });
    return;
  }
  {
    const Call call(*this, Call::Wait::kSecond);  // or the call is stuck, and the abort ends it
    // NCCL looks for the GPU of the communicator by itself.
    if (together) {
      const ncclResult_t flushed = settle(*library_, comm_, library_->comm_finalize(comm_), Clock::now() + seconds(1));
      static_cast<void>(flushed == ncclSuccess ? library_->comm_destroy(comm_) : library_->comm_abort(comm_));
    } else {
      static_cast<void>(library_->comm_abort(comm_));
    }
  }
  const std::lock_guard lock(mutex_);
  state_.store(State::kEnded);
  changed_.notify_all();
}

}  // namespace tokavg::nccl
