// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "base/error.hpp"
#include "core/settings.hpp"

// The handshake of tokavg_init: one message of fixed size, whatever the version, by which all ranks find out whether
// they are configured alike. Future versions may append fields; they keep the size and the first words.
namespace tokavg {

inline constexpr std::size_t kHandshakeWords = 128;
inline constexpr std::uint64_t kWireVersion = 1;

// What the ranks know together afterwards.
struct Agreed {
  std::int32_t label_ranks = 0;
  std::int32_t gradient_ranks = 1;
  std::uint64_t config_hash = 0;  // of the fields that must agree; part of every message's roll call
};

std::vector<std::uint64_t> offer(const Settings& settings, std::int32_t rank, bool failed);

// Throws Error on every rank when they do not agree: CONFIG with the field, or PEER (its own failure on the failing
// rank).
Agreed conclude(const Settings& settings, std::span<const std::uint64_t> words, std::int32_t ranks,
                const std::optional<Error>& own_failure);

}  // namespace tokavg
