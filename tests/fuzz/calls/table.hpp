// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <map>

#include "reader.hpp"
#include "tokavg/transport_plugin.h"

namespace fuzz {

// The table of a caller that is alone, so that each sum is what it was; that takes its time over it, and fails, as the
// bytes of its script say. It holds the library to the rules of transport_plugin.h.
class TableOfOne {
 public:
  explicit TableOfOne(Reader& in);
  TableOfOne(const TableOfOne&) = delete;
  TableOfOne& operator=(const TableOfOne&) = delete;
  ~TableOfOne();

  [[nodiscard]] tokavg_transport_t entries();
  // Never late, and never an error.
  [[nodiscard]] bool dependable() const noexcept { return dependable_; }

 private:
  struct Sum {
    std::uint64_t* words = nullptr;
    std::int64_t n_words = 0;
    std::uint8_t tests_left = 0;  // kNever: it does not complete
    bool gone = false;            // the request must not be used any more
    bool given_back = false;      // nor may the words
  };
  static constexpr std::uint8_t kNever = 255;

  static tokavg_status_t start(void* user, std::uint64_t* words, std::int64_t n_words, void** request_out) noexcept;
  static tokavg_status_t test(void* user, void* request, std::int32_t* done_out) noexcept;
  static tokavg_status_t cancel(void* user, void* request) noexcept;
  static tokavg_status_t late_ranks(void* user, void* request, std::int32_t* ranks_out, std::int32_t capacity,
                                    std::int32_t* count_out) noexcept;
  static tokavg_status_t abort(void* user) noexcept;
  static tokavg_status_t describe(void* user, void* request, char* text_out, std::int64_t capacity) noexcept;
  static void close(void* user, std::int32_t collective) noexcept;

  std::uint8_t next() noexcept;
  tokavg_status_t next_status() noexcept;
  Sum& sum_of(void* request);
  static void touch(const Sum& sum);

  std::array<std::uint8_t, 16> script_{};
  std::size_t at_ = 0;
  bool dependable_;
  bool closes_ = false;  // close is in the table
  bool closed_ = false;
  std::map<std::uintptr_t, Sum> sums_;  // by request
  std::uintptr_t last_ = 0;
  std::uint8_t optional_ = 0;
  std::uint32_t capabilities_ = 0;
};

}  // namespace fuzz
