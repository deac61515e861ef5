// SPDX-License-Identifier: Apache-2.0
#include "core/watchdog.hpp"

namespace tokavg {
namespace {

constexpr std::chrono::seconds kGrace(1);  // docs/nccl.md, "Failures"

}  // namespace

Watchdog::Watchdog(StreamDevice& device, StreamSums& sums, Patience patience, const std::atomic<bool>& aborted)
    : StreamService(device, aborted), sums_(sums), patience_(patience), waits_(static_cast<std::size_t>(boxes())) {}

bool Watchdog::turn() {
  if (aborted().load(std::memory_order_relaxed)) fail(TOKAVG_ERR_ABORTED, "tokavg_abort was called on this rank");
  sums_.check();
  const Clock::time_point now = Clock::now();
  const std::uint64_t asked = observe(control().asked);
  for (std::int32_t index = 0; index < boxes(); ++index) look_at(index, asked, now);
  return false;
}

void Watchdog::look_at(std::int32_t index, std::uint64_t asked, Clock::time_point now) {
  MessageHeader& header = *box(index).header;
  const std::uint64_t done = observe(header.done);
  const std::uint64_t begun = observe(header.begun);
  const std::optional<Clock::time_point> host_asked = asked_since(index);
  Wait& wait = waits_[static_cast<std::size_t>(index)];
  const bool stream_asked = begun != done && asked >= begun;
  if (!stream_asked && !host_asked) {
    wait.number = 0;
    return;
  }
  if (wait.number != begun + 1)
    wait = {begun + 1, host_asked ? *host_asked : now, false};  // + 1: also before the first
  const auto waited = now - wait.since;
  const std::string name = name_of(index);
  if (waited >= std::chrono::milliseconds(patience_.timeout_ms)) {
    if (begun == done) fail_not_sent(index, patience_);
    fail(TOKAVG_ERR_TIMEOUT,
         "%s did not complete within %g s: NCCL does not tell which ranks are missing; look at the slowest ranks, or "
         "raise timeout_ms. Sums over this communicator have been given up",
         name.c_str(), static_cast<double>(patience_.timeout_ms) / 1000);
  }
  if (!wait.warned && waited >= std::chrono::milliseconds(patience_.warn_ms)) {
    wait.warned = true;
    warn(format("%s: waits for the other ranks since %.1f s", name.c_str(), seconds_between(wait.since, now)));
  }
}

void Watchdog::release_streams(const Error& why) noexcept {
  if (!sums_.lent() || why.status() == TOKAVG_ERR_TIMEOUT) cancel();
}

void Watchdog::wind_up() noexcept {
  const Clock::time_point end = Clock::now() + kGrace;
  Backoff backoff;
  while (!stopping() && !idle()) {
    if (Clock::now() >= end) return cancel();
    backoff.pause();
  }
}

void Watchdog::cancel() noexcept {
  static_cast<void>(caught([this] { sums_.cancel(); }));
}

}  // namespace tokavg
