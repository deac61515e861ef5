// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "core/courier.hpp"

namespace tokavg {

// The thread that looks after the messages of a device while the host is elsewhere: it makes no call of the device's,
// only watches the boxes. Two kinds: Bridge and Watchdog.
class StreamService {
 public:
  StreamService(StreamDevice& device, const std::atomic<bool>& aborted);
  StreamService(const StreamService&) = delete;
  StreamService& operator=(const StreamService&) = delete;
  virtual ~StreamService() = default;

  // Makes the thread: before the ranks agree, so that one without threads left tells the others. It does nothing until
  // begin().
  void start();
  void begin() noexcept { begun_.store(true); }
  // The thread ends, and no stream waits any longer. Before the destructor.
  void stop() noexcept;
  // Has every message that was enqueued arrived, and every replay that has begun ended?
  [[nodiscard]] bool idle() const noexcept;
  // Is no message of this box between its making and its sums?
  [[nodiscard]] bool at_rest(std::int32_t box) const noexcept;

  // A message will come in this box: at once, or with every replay of a graph.
  void expect(std::int32_t box, const std::string& name, bool captured);
  // It does not, after all.
  void forget(std::int32_t box);
  // The host waits for what this box holds, or will hold.
  void ask(std::int32_t box);
  // Throws what has ended the context.
  void check() const;
  // Ends the context, on behalf of the host.
  void fail_with(const Error& error) noexcept;
  std::vector<std::string> take_warnings();
  // Throws where sums that have come may be worthless nevertheless. The context's thread.
  virtual void vouch() {}

 protected:
  // Looks once; true when there was something to do. Throws what ends the context.
  virtual bool turn() = 0;
  // The context has failed. Streams that wait for other than the control word are told here. Any thread.
  virtual void release_streams(const Error& /*why*/) noexcept {}
  // After that, on the service's thread, until it is stopping.
  virtual void wind_up() noexcept {}
  [[nodiscard]] bool stopping() const noexcept { return stopping_.load(std::memory_order_relaxed); }

  [[nodiscard]] std::int32_t boxes() const noexcept { return static_cast<std::int32_t>(expected_.size()); }
  MessageBox box(std::int32_t index) const { return boxes_[static_cast<std::size_t>(index)]; }
  [[nodiscard]] StreamControl& control() const noexcept { return control_; }
  [[nodiscard]] const std::atomic<bool>& aborted() const noexcept { return aborted_; }
  std::string name_of(std::int32_t box) const;
  // When the host first asked for what the box is to hold; empty: it did not, or it is there.
  [[nodiscard]] std::optional<Clock::time_point> asked_since(std::int32_t box) const;
  void warn(const std::string& text);
  // The deadline has passed, and not for another rank's sake: this one has not come so far.
  [[noreturn]] void fail_not_sent(std::int32_t box, Patience patience) const;

 private:
  struct Expected {
    std::string name;
    std::uint64_t before = 0;  // the message that was in the box
    bool captured = true;      // it may never come
    std::optional<Clock::time_point> asked;
  };
  void run() noexcept;

  StreamControl& control_;
  const std::atomic<bool>& aborted_;
  std::vector<MessageBox> boxes_;
  mutable std::mutex mutex_;  // of what follows
  std::vector<Expected> expected_;
  std::vector<std::string> warnings_;
  std::optional<Error> failure_;
  std::atomic<bool> failed_{false};
  std::atomic<bool> begun_{false};
  std::atomic<bool> stopping_{false};
  std::thread thread_;
};

}  // namespace tokavg
