// SPDX-License-Identifier: Apache-2.0
// Two communicators on the same GPUs: the same order on all ranks is well, another one is an error on all of them. (The
// emulator sees what a GPU shows as a hang, now and then.)
#include "nccl/ranks.hpp"

namespace {

using namespace nccl_test;
using tokavg::Error;
using tokavg::Reduction;
using tokavg::Transport;

// One sum on each, in this rank's order.
std::optional<Error> sum_both(Rank& rank, Transport& first, Transport& second) {
  std::vector<std::uint64_t> a(10, 1);
  std::vector<std::uint64_t> b(10, 2);
  return tokavg::caught([&] {
    const std::unique_ptr<Reduction> one = first.start(a);
    const std::unique_ptr<Reduction> other = second.start(b);
    // Both are asked: where the other rank has given up already, one of them never ends, and the other tells why.
    const bool done = soon([&] {
      const bool one_done = one->test();
      return other->test() && one_done;
    });
    rank.expect(done, "not complete");
  });
}

void play(Rank& rank, bool differ) {
  const std::unique_ptr<Transport> one = rank.open();
  const std::unique_ptr<Transport> other = rank.open();
  if (one == nullptr || other == nullptr) return;
  const bool turned = differ && rank.rank == 1;
  const std::optional<Error> error = turned ? sum_both(rank, *other, *one) : sum_both(rank, *one, *other);
  if (differ) return rank.expect_error(error, TOKAVG_ERR_TRANSPORT, {"NCCL", "invalid usage"});
  rank.expect(!error, error ? error->text() : "");
  one->close();
  other->close();
}

}  // namespace

int main() {
  int faults = 0;
  // Own communicators alone: on one that is lent both would be the same.
  for (const Way way : {Way::kSplit, Way::kOwn}) faults += run("same order", way, 3, [](Rank& r) { play(r, false); });
  for (const Way way : {Way::kOwn}) faults += run("other order", way, 2, [](Rank& r) { play(r, true); });
  return faults == 0 ? 0 : 1;
}
