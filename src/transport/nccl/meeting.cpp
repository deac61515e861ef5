// SPDX-License-Identifier: Apache-2.0
#include "transport/nccl/meeting.hpp"

#include <cstring>
#include <thread>

#include "base/message_words.hpp"
#include "transport/rank_list.hpp"

namespace tokavg::nccl {
namespace {

// Where what begins.
constexpr std::size_t kFailed = 0;
constexpr std::size_t kStatus = 3;
constexpr std::size_t kVersion = 4;
constexpr std::size_t kId = 7;
constexpr std::size_t kIdWords = sizeof(ncclUniqueId) / sizeof(std::uint64_t);
static_assert(kId + kIdWords <= Notes::kWords);
static_assert(sizeof(ncclUniqueId) % sizeof(std::uint64_t) == 0);

[[noreturn]] void fail_late(const Reduction& sum, const std::vector<std::int32_t>& late, const char* what,
                            const Deadline& deadline) {
  const std::string who = late.empty() ? "which ranks are missing is not known" : name_ranks(late) + " did not arrive";
  fail(TOKAVG_ERR_TIMEOUT, "%s was not complete within %g s: %s (here: %s)", what, deadline.seconds, who.c_str(),
       sum.describe().c_str());
}

void wait_for(Reduction& sum, const char* what, const Deadline& deadline) {
  for (;;) {
    try {
      if (sum.test()) return;
    } catch (const Error& error) {
      // Another rank's deadline has passed: this rank names the same ranks.
      if (error.status() == TOKAVG_ERR_TIMEOUT) fail_late(sum, sum.late_ranks(), what, deadline);
      fail(error.status(), "%s: %s", what, error.text().c_str());
    }
    if (Clock::now() >= deadline.end) {
      const std::vector<std::int32_t> late = sum.late_ranks();
      // The last rank may come while the list is made: then nobody is late.
      if (late.empty() && sum.test()) return;
      fail_late(sum, late, what, deadline);
    }
    std::this_thread::sleep_for(std::chrono::microseconds(100));
  }
}

}  // namespace

void Notes::put_failure(const Error& error, std::int32_t rank) {
  add_roll(&words[kFailed], 1, rank);
  words[kStatus] = static_cast<std::uint64_t>(error.status());
}

void Notes::put_version(int version, std::int32_t rank) {
  add_roll(&words[kVersion], static_cast<std::uint64_t>(version), rank);
}

void Notes::put_id(const ncclUniqueId& id) { std::memcpy(&words[kId], &id, sizeof id); }

ncclUniqueId Notes::id() const {
  ncclUniqueId id;
  std::memcpy(&id, &words[kId], sizeof id);
  return id;
}

void Notes::check_failures(const char* what, const std::optional<Error>& own) const {
  if (own) throw Error(*own);
  const std::uint64_t count = words[kFailed];
  if (count == 0) return;
  if (count == 1) {
    fail(TOKAVG_ERR_PEER, "%s failed on rank %llu (%s); its own text says why", what,
         static_cast<unsigned long long>(words[kFailed + 1] - 1),
         status_name(static_cast<tokavg_status_t>(words[kStatus])));
  }
  fail(TOKAVG_ERR_PEER, "%s failed on %llu ranks; their own texts say why", what,
       static_cast<unsigned long long>(count));
}

void Notes::check_version(int version, std::int32_t ranks) const {
  const std::array<std::uint64_t, kRollWords> nobody{};
  const auto places = sums_of_places(nobody.data(), ranks);
  for (std::size_t i = 0; i < kRollWords; ++i) {
    if (words[kVersion + i] == places[i] * static_cast<std::uint64_t>(version)) continue;
    fail(TOKAVG_ERR_CONFIG,
         "the ranks have different versions of NCCL, which cannot talk to each other; this one has %s: use one on all "
         "ranks (TOKAVG_NCCL_PATH)",
         version_text(version).c_str());
  }
}

void meet(const Start& start, Notes& notes, const char* what, const Deadline& deadline) {
  const std::unique_ptr<Reduction> sum = start(notes.words);
  wait_for(*sum, what, deadline);
}

void meet(const std::shared_ptr<HostSums>& sums, Notes& notes, const Deadline& deadline) {
  constexpr char kWhat[] = "the first all-reduce of NCCL";
  struct Shared {
    Notes notes;
    std::unique_ptr<Reduction> sum;  // destroyed before the notes
  };
  const auto shared = std::make_shared<Shared>();
  shared->notes = notes;
  Errand errand([sums, shared, end = deadline.end] {
    sums->warm_up(end);
    shared->sum = sums->start(shared->notes.words);
  });
  if (!errand.done_by(deadline.end)) {
    sums->abort();
    fail(TOKAVG_ERR_TIMEOUT,
         "%s did not even begin within %g s: which ranks are missing is not known (the thread that called "
         "ncclAllReduce is left behind)",
         kWhat, deadline.seconds);
  }
  wait_for(*shared->sum, kWhat, deadline);
  notes = shared->notes;
}

}  // namespace tokavg::nccl
