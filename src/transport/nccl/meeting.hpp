// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nccl.h>

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>

#include "base/errand.hpp"
#include "base/error.hpp"
#include "transport/nccl/deadline.hpp"
#include "transport/nccl/host_sums.hpp"
#include "transport/transport.hpp"

// How the ranks find out, before they rely on NCCL, that all are there and that none has failed: by sums over whatever
// already connects them.
namespace tokavg::nccl {

// What the ranks add to one another in one meeting. Trivial, for it lives in an errand too.
struct Notes {
  static constexpr std::size_t kWords = 32;
  std::array<std::uint64_t, kWords> words{};

  // This rank could not do its part.
  void put_failure(const Error& error, std::int32_t rank);
  void put_version(int version, std::int32_t rank);
  void put_id(const ncclUniqueId& id);  // one rank alone
  [[nodiscard]] ncclUniqueId id() const;

  // Throws, once the words are sums: this rank's own failure, or PEER that names the rank which has failed.
  void check_failures(const char* what, const std::optional<Error>& own) const;
  // Throws CONFIG where not all ranks put the same version.
  void check_version(int version, std::int32_t ranks) const;
};

// Begins a sum over what connects the ranks already.
using Start = std::function<std::unique_ptr<Reduction>(std::span<std::uint64_t> words)>;

// Each throws Error TIMEOUT when not all ranks have come by then, with the names of those missing where that is known.
void meet(const Start& start, Notes& notes, const char* what, const Deadline& deadline);
// Over NCCL itself: the first sums of a communicator. In an errand, for NCCL makes its connections now.
void meet(const std::shared_ptr<HostSums>& sums, Notes& notes, const Deadline& deadline);

}  // namespace tokavg::nccl
