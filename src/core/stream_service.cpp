// SPDX-License-Identifier: Apache-2.0
#include "core/stream_service.hpp"

#include <algorithm>
#include <system_error>
#include <utility>

#include "base/signals_blocked.hpp"

namespace tokavg {

StreamService::StreamService(StreamDevice& device, const std::atomic<bool>& aborted)
    : control_(device.control()), aborted_(aborted) {
  const std::int32_t count = device.eager_boxes() + device.captured_steps();
  for (std::int32_t i = 0; i < count; ++i) boxes_.push_back(device.box(i));
  expected_.resize(static_cast<std::size_t>(count));
}

void StreamService::start() {
  try {
    const SignalsBlocked blocked;
    thread_ = std::thread([this] { run(); });
  } catch (const std::system_error& error) {
    fail(TOKAVG_ERR_MEMORY, "no thread for the messages of the GPU could be started: %s; raise the limit of threads",
         error.what());
  }
}

bool StreamService::at_rest(std::int32_t box) const noexcept {
  MessageHeader& header = *boxes_[static_cast<std::size_t>(box)].header;
  return observe(header.begun) == observe(header.done);
}

bool StreamService::idle() const noexcept {
  const std::lock_guard lock(mutex_);
  for (std::int32_t box = 0; box < boxes(); ++box) {
    const Expected& expected = expected_[static_cast<std::size_t>(box)];
    const bool missing =
        !expected.captured && observe(boxes_[static_cast<std::size_t>(box)].header->done) == expected.before;
    if (missing || !at_rest(box)) return false;
  }
  return true;
}

void StreamService::stop() noexcept {
  stopping_.store(true);
  if (thread_.joinable()) thread_.join();
  // Whatever still waits waits in vain.
  if (observe(control_.failed) == 0) publish(control_.failed, static_cast<std::uint64_t>(-TOKAVG_ERR_ABORTED));
}

void StreamService::run() noexcept {
  Backoff backoff;
  while (!stopping_.load(std::memory_order_relaxed)) {
    if (!begun_.load(std::memory_order_acquire)) {
      backoff.pause();
      continue;
    }
    const std::optional<Error> failure = caught([&] {
      if (turn()) backoff.reset();
    });
    if (failure) fail_with({sticky(failure->status()), failure->text()});
    if (failed_.load(std::memory_order_relaxed)) return wind_up();
    backoff.pause();
  }
}

void StreamService::expect(std::int32_t box, const std::string& name, bool captured) {
  const std::lock_guard lock(mutex_);
  const std::uint64_t before = observe(boxes_[static_cast<std::size_t>(box)].header->done);
  expected_[static_cast<std::size_t>(box)] = {name, before, captured, std::nullopt};
}

void StreamService::forget(std::int32_t box) {
  const std::lock_guard lock(mutex_);
  expected_[static_cast<std::size_t>(box)] = {};
}

void StreamService::ask(std::int32_t box) {
  const std::lock_guard lock(mutex_);
  Expected& expected = expected_[static_cast<std::size_t>(box)];
  if (!expected.asked) expected.asked = Clock::now();
}

std::string StreamService::name_of(std::int32_t box) const {
  const std::lock_guard lock(mutex_);
  return expected_[static_cast<std::size_t>(box)].name;
}

std::optional<Clock::time_point> StreamService::asked_since(std::int32_t box) const {
  const std::lock_guard lock(mutex_);
  const Expected& expected = expected_[static_cast<std::size_t>(box)];
  const bool is_there = observe(boxes_[static_cast<std::size_t>(box)].header->done) != expected.before;
  return is_there ? std::nullopt : expected.asked;
}

void StreamService::check() const {
  if (!failed_.load(std::memory_order_acquire)) return;
  const std::lock_guard lock(mutex_);
  throw Error(*failure_);
}

void StreamService::fail_with(const Error& error) noexcept {
  try {
    const std::lock_guard lock(mutex_);
    if (failure_) return;
    failure_ = error;
  } catch (...) {
    failure_.emplace(error.status(), std::string());
  }
  failed_.store(true, std::memory_order_release);
  publish(control_.failed, static_cast<std::uint64_t>(-error.status()));
  release_streams(error);
}

void StreamService::fail_not_sent(std::int32_t box, Patience patience) const {
  fail(TOKAVG_ERR_TIMEOUT,
       "%s did not leave this rank within %g s: its stream has not reached the counts; look at what was enqueued "
       "before tokavg_reduce",
       name_of(box).c_str(), static_cast<double>(patience.timeout_ms) / 1000);
}

void StreamService::warn(const std::string& text) {
  const std::lock_guard lock(mutex_);
  warnings_.push_back(text);
}

std::vector<std::string> StreamService::take_warnings() {
  const std::lock_guard lock(mutex_);
  return std::exchange(warnings_, {});
}

}  // namespace tokavg
