// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nccl.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/error.hpp"
#include "transport/transport.hpp"

// Ranks that are threads of this process, each with an emulated GPU of its own.
namespace nccl_test {

// How the ranks come to a communicator.
enum class Way { kLent, kSplit, kOwn };
inline constexpr Way kWays[] = {Way::kLent, Way::kSplit, Way::kOwn};
const char* name_of(Way way);

struct Rank {
  Way way;
  int rank;
  int ranks;
  tokavg::TransportOptions options;  // deadline 10 s
  ncclComm_t lent = nullptr;         // kLent, kSplit

  // The lent communicator has been aborted; or, where it is not to be, it has not.
  void expect_lent_dead(bool dead);

  // The main thread reports them.
  std::vector<std::string> faults;
  void expect(bool good, const std::string& what);
  // The error is there, has this status, and its text has each word.
  void expect_error(const std::optional<tokavg::Error>& error, tokavg_status_t status,
                    const std::vector<std::string>& words);

  // Opens, or expects nothing and gives the error back.
  std::unique_ptr<tokavg::Transport> open();
  std::optional<tokavg::Error> open_error();
  // words[i] = rank + i, and their sums; false where they are wrong. Throws what the transport throws.
  void good_sum(tokavg::Transport& transport, std::size_t n_words = 64);
};

// Polls until it is done, gives up after ten seconds.
bool wait_for(tokavg::Reduction& sum);

// Runs body on all ranks, and checks at the end that nothing is left on the emulated GPUs. Returns how many faults
// there were, each of which it has printed.
// A communicator may be left for each rank that never got out of making it.
int run(const std::string& name, Way way, int ranks, const std::function<void(Rank&)>& body,
        std::size_t communicators_left = 0);

// True once `done` is; looks again and again, for five seconds.
bool soon(const std::function<bool()>& done);

}  // namespace nccl_test
