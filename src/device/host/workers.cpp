// SPDX-License-Identifier: Apache-2.0
#include "device/host/workers.hpp"

#include <algorithm>
#include <system_error>

#include "base/error.hpp"
#include "base/signals_blocked.hpp"

namespace tokavg::host {
Workers::Workers(int count) {
  try {
    const SignalsBlocked blocked;
    for (int worker = 1; worker < count; ++worker) {
      threads_.emplace_back([this, worker] { work(static_cast<std::size_t>(worker)); });
    }
  } catch (const std::system_error& error) {
    const std::size_t made = threads_.size();
    stop();
    fail(TOKAVG_ERR_MEMORY,
         "only %zu of config.host_threads = %d could be started: %s; lower it (or TOKAVG_HOST_THREADS), or raise the "
         "limit "
         "of threads or memory",
         made + 1, count, error.what());
  } catch (...) {
    stop();
    throw;
  }
}

Workers::~Workers() { stop(); }

void Workers::stop() noexcept {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  begun_.notify_all();
  for (std::thread& thread : threads_) thread.join();
  threads_.clear();
}

void Workers::share(const Loop& loop) {
  {
    const std::lock_guard lock(mutex_);
    loop_ = loop;
    next_.store(0, std::memory_order_relaxed);
    busy_ = threads_.size();
    ++loops_;
  }
  begun_.notify_all();
  take_pieces(0);
  std::unique_lock lock(mutex_);
  ended_.wait(lock, [this] { return busy_ == 0; });
}

void Workers::work(std::size_t worker) {
  std::uint64_t seen = 0;
  std::unique_lock lock(mutex_);
  for (;;) {
    begun_.wait(lock, [&] { return stopping_ || loops_ != seen; });
    if (stopping_) return;
    seen = loops_;
    lock.unlock();
    take_pieces(worker);
    lock.lock();
    if (--busy_ == 0) ended_.notify_one();
  }
}

void Workers::take_pieces(std::size_t worker) noexcept {
  for (;;) {
    const std::int64_t begin = next_.fetch_add(loop_.grain, std::memory_order_relaxed);
    if (begin >= loop_.size) return;
    loop_.call(loop_.body, worker, begin, std::min(loop_.size, begin + loop_.grain));
  }
}

}  // namespace tokavg::host
