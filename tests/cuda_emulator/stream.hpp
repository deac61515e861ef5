// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cuda_runtime_api.h>

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>

#include "cuda_emulator/lock.hpp"
#include "cuda_emulator/random.hpp"

namespace cuda_emulator {

class Capture;

// A point in a stream that others can wait for; what came before it is then seen.
class Marker {
 public:
  void reach();
  void wait();
  bool reached();

 private:
  Lock lock_;
  std::condition_variable changed_;
  bool reached_ = false;
};

struct Work {
  std::function<void()> run;
  bool always = false;  // also on a device that is broken: markers, else everybody would wait for ever
};

// A queue with a thread of its own. Work that is enqueued is ordered after what its host thread did before, and
// after the work before it in the queue; nothing else.
class Stream : public std::enable_shared_from_this<Stream> {
 public:
  // Legacy: the default stream of the device. Blocking: one that is ordered with it.
  enum class Kind { kLegacy, kBlocking, kNonBlocking };

  Stream(int device, Kind kind);
  ~Stream();
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;

  void push(Work work);
  std::shared_ptr<Marker> push_marker();
  void push_wait(std::shared_ptr<Marker> marker);

  bool idle();
  void synchronize();

  // No more work will come; the thread ends when the rest is done.
  void close();
  bool done();  // closed, and nothing is left

  int device() const { return device_; }
  bool legacy() const { return kind_ == Kind::kLegacy; }
  bool blocking() const { return kind_ == Kind::kBlocking; }
  void set_delay(unsigned microseconds) { delay_ = microseconds; }
  std::uint64_t random() { return random_.next(); }

  // Counts of work that matter to the legacy default stream; guarded by the device's lock.
  std::uint64_t enqueued = 0;
  std::uint64_t awaited = 0;          // of the works above, those that the default stream waits for
  std::uint64_t default_awaited = 0;  // of the default stream's works, those that this one waits for

  // While the stream is captured; guarded by the lock of captures.
  std::shared_ptr<Capture> capture;

 private:
  struct Entry {
    Work work;
    char enqueued = 0;  // only its address matters
  };

  void run();
  void run_one(Entry& entry);
  void pause();

  const int device_;
  const Kind kind_;
  Random random_;
  std::atomic<unsigned> delay_{0};
  Lock lock_;
  std::condition_variable changed_;
  std::deque<std::unique_ptr<Entry>> queue_;
  bool running_ = false;
  bool started_ = false;
  bool closed_ = false;
  char finished_ = 0;  // only its address matters
};

// The next random number of the stream whose work the calling thread runs.
std::uint64_t random_of_stream();

// Sleeps of every work of a device.
void set_delay(int device, unsigned microseconds);

}  // namespace cuda_emulator
