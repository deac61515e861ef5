// SPDX-License-Identifier: Apache-2.0
#include "cuda_emulator/stream.hpp"

#include <time.h>

#include <array>
#include <atomic>
#include <thread>

#include "cuda_emulator/calls.hpp"
#include "cuda_emulator/fiber.hpp"
#include "cuda_emulator/sanitizers.hpp"
#include "cuda_emulator/settings.hpp"

namespace cuda_emulator {
namespace {

std::array<std::atomic<unsigned>, kMostDevices> delays{};

thread_local Stream* running_stream = nullptr;

void sleep_us(std::uint64_t microseconds) {
  const timespec rest = {static_cast<time_t>(microseconds / 1000000), static_cast<long>(microseconds % 1000000 * 1000)};
  nanosleep(&rest, nullptr);
}

}  // namespace

void set_delay(int device, unsigned microseconds) { delays[static_cast<std::size_t>(device)] = microseconds; }

std::uint64_t random_of_stream() { return running_stream->random(); }

void Marker::reach() {
  order_before(this);
  const Locked locked(lock_);
  reached_ = true;
  changed_.notify_all();
}

void Marker::wait() {
  {
    Locked locked(lock_);
    locked.wait(changed_, [this] { return reached_; });
  }
  order_after(this);
}

bool Marker::reached() {
  {
    const Locked locked(lock_);
    if (!reached_) return false;
  }
  order_after(this);
  return true;
}

Stream::Stream(int device, Kind kind) : device_(device), kind_(kind), random_(next_seed()) {}
Stream::~Stream() = default;

void Stream::push(Work work) {
  auto entry = std::make_unique<Entry>(Entry{std::move(work)});
  order_before(&entry->enqueued);
  const Locked locked(lock_);
  queue_.push_back(std::move(entry));
  changed_.notify_all();
  if (started_) return;
  started_ = true;
  // It keeps the stream alive, and nobody waits for it: a stream may be destroyed while a kernel waits for ever.
  std::thread([self = shared_from_this()] { self->run(); }).detach();
}

std::shared_ptr<Marker> Stream::push_marker() {
  auto marker = std::make_shared<Marker>();
  push({[marker] { marker->reach(); }, true});
  return marker;
}

void Stream::push_wait(std::shared_ptr<Marker> marker) {
  push({[marker = std::move(marker)] { marker->wait(); }, true});
}

bool Stream::idle() {
  {
    const Locked locked(lock_);
    if (running_ || !queue_.empty()) return false;
  }
  order_after(&finished_);
  return true;
}

void Stream::synchronize() {
  {
    Locked locked(lock_);
    locked.wait(changed_, [this] { return !running_ && queue_.empty(); });
  }
  order_after(&finished_);
}

void Stream::close() {
  const Locked locked(lock_);
  closed_ = true;
  changed_.notify_all();
}

bool Stream::done() {
  const Locked locked(lock_);
  return closed_ && !running_ && queue_.empty();
}

// What a program may rely on is only what streams and events order: now and then a stream dawdles.
void Stream::pause() {
  const unsigned longest = settings().longest_pause_us;
  if (longest > 0 && random_.below(8) == 0) sleep_us(random_.below(longest) + 1);
  const unsigned delay = delay_ + delays[static_cast<std::size_t>(device_)];
  if (delay > 0) sleep_us(delay);
}

void Stream::run_one(Entry& entry) {
  if (!entry.work.always) pause();
  order_after(&entry.enqueued);
  if (entry.work.always || device_error(device_) == cudaSuccess) entry.work.run();
  order_before(&finished_);
}

void Stream::run() {
  running_stream = this;
  use_alternate_signal_stack();
  for (;;) {
    std::unique_ptr<Entry> entry;
    {
      Locked locked(lock_);
      running_ = false;
      changed_.notify_all();
      locked.wait(changed_, [this] { return closed_ || !queue_.empty(); });
      if (queue_.empty()) return;
      entry = std::move(queue_.front());
      queue_.pop_front();
      running_ = true;
    }
    run_one(*entry);
  }
}

}  // namespace cuda_emulator
