// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstdint>
#include <span>

#include "tokavg/types.h"

// How a GPU hands a message over and gets the sums: memory that host and device both see. Plain words, for kernels
// write them too; on the host they are touched through the functions below alone.
namespace tokavg {

struct alignas(64) MessageHeader {
  // Numbers of messages of this device, from 1. begun <= what the box holds is this message's from here on; published:
  // its words are there; done: the sums are there too. A box is free when done == begun.
  std::uint64_t begun;
  std::uint64_t published;
  std::uint64_t done;
  std::uint64_t roll;           // what this rank said in it
  std::uint64_t reduce_number;  // how many steps were closed before it, itself included
  std::uint64_t local_tokens[TOKAVG_MAX_TERMS];
};

// Of a whole context.
struct alignas(64) StreamControl {
  std::uint64_t asked;   // the newest message that a stream waits for
  std::uint64_t failed;  // 0, or minus the status that ended the context: nothing waits any longer
};

struct MessageBox {
  MessageHeader* header = nullptr;
  std::span<std::uint64_t> host_part;  // what the host adds: written before the message is enqueued
  std::span<std::uint64_t> words;      // this rank's, for the one who sums them
  std::span<std::uint64_t> sums;
};

// Stores before publish() are seen by who reads the value.
inline std::uint64_t observe(std::uint64_t& word) noexcept {
  return std::atomic_ref(word).load(std::memory_order_acquire);
}
inline void publish(std::uint64_t& word, std::uint64_t value) noexcept {
  std::atomic_ref(word).store(value, std::memory_order_release);
}
// For words that may be overwritten meanwhile: who reads them checks afterwards.
inline std::uint64_t peek(std::uint64_t& word) noexcept {
  return std::atomic_ref(word).load(std::memory_order_relaxed);
}
inline void poke(std::uint64_t& word, std::uint64_t value) noexcept {
  std::atomic_ref(word).store(value, std::memory_order_relaxed);
}

}  // namespace tokavg
