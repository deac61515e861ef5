// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <unistd.h>

#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <thread>
#include <vector>

namespace tokavg::host {

// A few threads that share out loops: the caller's and count - 1 of its own, which sleep between loops. With a count of
// 1 there is no thread at all. One loop at a time.
class Workers {
 public:
  explicit Workers(int count);
  ~Workers();
  Workers(const Workers&) = delete;
  Workers& operator=(const Workers&) = delete;

  [[nodiscard]] std::size_t count() const noexcept { return threads_.size() + 1; }

  // Calls body(worker, begin, end), which must not throw, for pieces of [0, size) of about `grain`; which worker gets
  // which piece is left to chance, so a result must not depend on it. Returns when all is done.
  template <typename Body>
  void run(std::int64_t size, std::int64_t grain, const Body& body) {
    if (threads_.empty() || size <= grain || process_ != getpid()) {  // a forked child has none of the threads
      if (size > 0) body(std::size_t{0}, std::int64_t{0}, size);
      return;
    }
    const auto call = [](const void* self, std::size_t worker, std::int64_t begin, std::int64_t end) noexcept {
      (*static_cast<const Body*>(self))(worker, begin, end);
    };
    share({&body, call, size, grain});
  }

 private:
  struct Loop {
    const void* body = nullptr;
    void (*call)(const void* body, std::size_t worker, std::int64_t begin, std::int64_t end) noexcept = nullptr;
    std::int64_t size = 0;
    std::int64_t grain = 1;
  };
  void share(const Loop& loop);
  void work(std::size_t worker);
  void take_pieces(std::size_t worker) noexcept;
  void stop() noexcept;

  std::mutex mutex_;
  std::condition_variable begun_;
  std::condition_variable ended_;
  Loop loop_;
  std::uint64_t loops_ = 0;  // begun so far
  std::size_t busy_ = 0;     // threads that have not finished the latest
  bool stopping_ = false;
  std::atomic<std::int64_t> next_{0};  // the first of [0, size) that nobody has taken
  const pid_t process_ = getpid();
  std::vector<std::thread> threads_;
};

}  // namespace tokavg::host
