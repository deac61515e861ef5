// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>

#include "base/error.hpp"
#include "base/struct_sizes.hpp"

namespace tokavg {

// An uninitialised struct_size must not make us read far away.
inline constexpr std::uint32_t kLargestStruct = 65536;

// Copies the smaller of both sizes, zeroes the rest of ours, and refuses what a newer caller has set beyond our struct:
// ignoring it would change what the caller meant.
inline void copy_item_in(const char* argument, const void* theirs, std::uint32_t their_size, void* ours,
                         std::uint32_t our_size) {
  std::memset(ours, 0, our_size);
  std::memcpy(ours, theirs, std::min(their_size, our_size));
  const auto* bytes = static_cast<const unsigned char*>(theirs);
  for (std::uint32_t i = our_size; i < their_size; ++i) {
    if (bytes[i] != 0) {
      fail(TOKAVG_ERR_UNSUPPORTED,
           "%s has byte %u set, which this version of the library does not know; zero it, or update the library",
           argument, i);
    }
  }
}

// The one way in which structs of the caller are read; `smallest` is the shortest that ever existed. Inline, so that
// the usual case, in which both sizes are the same, is a few moves of a known length.
inline void copy_struct_in(const char* argument, const void* theirs, void* ours, std::uint32_t our_size,
                           std::uint32_t smallest) {
  if (theirs == nullptr) fail(TOKAVG_ERR_ARGUMENT, "%s is NULL; pass the address of a struct", argument);
  std::uint32_t their_size = 0;
  std::memcpy(&their_size, theirs, sizeof their_size);
  if (their_size == our_size) {
    std::memcpy(ours, theirs, our_size);
    return;
  }
  if (their_size < smallest || their_size > kLargestStruct) {
    fail(TOKAVG_ERR_ARGUMENT, "%s.struct_size is %u; set it to sizeof the struct, %u here", argument, their_size,
         our_size);
  }
  copy_item_in(argument, theirs, their_size, ours, our_size);
}

template <typename Struct>
Struct read_struct(const char* argument, const Struct* theirs) {
  static_assert(kSize10<Struct> <= sizeof(Struct));
  Struct ours;
  copy_struct_in(argument, theirs, &ours, static_cast<std::uint32_t>(sizeof ours), kSize10<Struct>);
  return ours;
}

// For a struct that is only written: the caller sets nothing but its size.
template <typename Struct>
std::uint32_t read_struct_size(const char* argument, const Struct* theirs) {
  if (theirs == nullptr) fail(TOKAVG_ERR_ARGUMENT, "%s is NULL; pass the address of a struct", argument);
  const std::uint32_t their_size = theirs->struct_size;
  if (their_size < kSize10<Struct> || their_size > kLargestStruct) {
    fail(TOKAVG_ERR_ARGUMENT, "%s.struct_size is %u; set it to sizeof the struct, %zu here", argument, their_size,
         sizeof(Struct));
  }
  return their_size;
}

// Writes all of the caller's struct_size and never beyond it: what we do not know is zero.
template <typename Struct>
void write_struct(Struct ours, std::uint32_t their_size, Struct* theirs) {
  ours.struct_size = their_size;
  std::memset(static_cast<void*>(theirs), 0, their_size);
  std::memcpy(static_cast<void*>(theirs), &ours, std::min<std::size_t>(their_size, sizeof ours));
}

}  // namespace tokavg
