// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "base/message_words.hpp"
#include "expect.hpp"
#include "reader.hpp"

// What ranks send one another, in three ways: any words at all, words of ranks that keep to the format, and words that
// reach a context through a caller's table. One function a file.
namespace fuzz {

// A few that lie on a border, else anything.
inline std::uint64_t word(Reader& in) {
  constexpr std::uint64_t kOne = 1;
  static constexpr std::uint64_t kBorders[] = {0,
                                               1,
                                               2,
                                               (kOne << 31) - 1,
                                               kOne << 31,
                                               (kOne << 31) + 1,
                                               (kOne << 32) - 1,
                                               kOne << 32,
                                               (kOne << 62),
                                               (kOne << 63) - 1,
                                               kOne << 63,
                                               ~std::uint64_t{0}};
  return in.pick_or_any(kBorders);
}

// Mostly a short one, which is read as the longest is.
inline tokavg::MessageLayout a_layout(Reader& in) {
  const bool is_long = in.one_in(8);
  const std::size_t terms = 1 + in.below(is_long ? 8 : 2);
  const std::size_t in_flight = 2 + in.below(is_long ? 15 : 2);
  return {static_cast<std::int32_t>(terms), static_cast<std::int32_t>(in_flight)};
}

void decode_any_words(Reader& in);
void conclude_any_words(Reader& in);
void sum_real_messages(Reader& in);
void receive_in_a_context(Reader& in);

}  // namespace fuzz
