// SPDX-License-Identifier: Apache-2.0
#include "base/errand.hpp"

#include <atomic>
#include <condition_variable>
#include <cstdlib>
#include <mutex>
#include <optional>
#include <system_error>
#include <thread>
#include <utility>

#include <unistd.h>

#include "base/dynlib.hpp"
#include "base/error.hpp"
#include "base/signals_blocked.hpp"

namespace tokavg {
namespace {

// How many errands are under way. Never destroyed: they may outlive static objects.
struct Census {
  std::mutex mutex;
  std::condition_variable changed;
  int under_way = 0;
  std::atomic<bool> closed = false;
  const pid_t process = getpid();
};

Census& census() {
  static auto* instance = new Census;  // NOLINT(cppcoreguidelines-owning-memory)
  return *instance;
}

// CUDA and NCCL end with the process. This handler is registered after theirs, so it comes before them.
void wait_at_exit() {
  if (census().process != getpid()) return;  // a child has none of the threads, and perhaps the mutex locked
  std::unique_lock lock(census().mutex);
  census().changed.wait_for(lock, std::chrono::seconds(1), [] { return census().under_way == 0; });
  census().closed = true;
}

void sign_out() {
  const std::lock_guard lock(census().mutex);
  --census().under_way;
  census().changed.notify_all();
}

void sign_in() {
  // A thread must not lose its code when the program unloads this library.
  static const bool prepared = [] {
    keep_loaded(reinterpret_cast<const void*>(&wait_at_exit));
    return std::atexit(wait_at_exit) == 0;
  }();
  static_cast<void>(prepared);
  const std::lock_guard lock(census().mutex);
  ++census().under_way;
}

}  // namespace

struct Errand::State {
  std::mutex mutex;
  std::condition_variable changed;
  bool done = false;
  std::optional<Error> failure;
};

Errand::Errand(std::function<void()> body) : state_(std::make_shared<State>()) {
  if (process_ends()) fail(TOKAVG_ERR_STATE, "the process ends: nothing is begun any more");
  sign_in();
  const SignalsBlocked blocked;
  try {
    std::thread([state = state_, work = std::move(body)]() mutable {
      std::optional<Error> failure = caught(work);
      work = nullptr;  // what it holds is gone before anybody hears that it is done
      {
        const std::lock_guard lock(state->mutex);
        state->failure = std::move(failure);
        state->done = true;
        state->changed.notify_all();
      }
      sign_out();
    }).detach();
  } catch (const std::system_error& error) {
    sign_out();
    fail(TOKAVG_ERR_MEMORY, "the system has no thread to give: %s", error.what());
  } catch (...) {
    sign_out();
    throw;
  }
}

bool Errand::done_by(std::chrono::steady_clock::time_point end) {
  std::unique_lock lock(state_->mutex);
  if (!state_->changed.wait_until(lock, end, [this] { return state_->done; })) return false;
  if (state_->failure) throw Error(*state_->failure);
  return true;
}

bool Errand::process_ends() noexcept { return census().closed; }

}  // namespace tokavg
