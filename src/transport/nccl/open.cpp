// SPDX-License-Identifier: Apache-2.0
#include "transport/nccl/open.hpp"

#include <algorithm>
#include <utility>

#include "base/error.hpp"
#include "transport/nccl/gpu.hpp"
#include "transport/nccl/meeting.hpp"
#include "transport/nccl/own.hpp"

namespace tokavg::nccl {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

using MakeCommunicator = std::function<std::shared_ptr<Communicator>()>;

std::size_t longest(const TransportOptions& options) {
  return std::max(static_cast<std::size_t>(std::max<std::int64_t>(options.max_words, 0)), Notes::kWords);
}

// Of an open that fails: longer than a lent communicator is given until it is aborted, so that nothing touches it after
// tokavg_init.
constexpr milliseconds kLongEnough = seconds(2);

// Ranks do not begin at the same moment: those whose deadline has passed still tell the others why they fail.
Deadline with_grace(Deadline deadline) {
  deadline.end = std::max(deadline.end, Clock::now()) + milliseconds(100);
  return deadline;
}

std::shared_ptr<HostSums> make_own(const MakeCommunicator& make, std::size_t max_words) {
  std::shared_ptr<Communicator> communicator = make();
  try {
    return std::make_shared<HostSums>(communicator, max_words);
  } catch (...) {
    communicator->abort();
    throw;
  }
}

// Makes a communicator of our own on all ranks, or fails on all of them.
std::shared_ptr<HostSums> make_own_together(const Start& over, std::int32_t rank, const MakeCommunicator& make,
                                            std::size_t max_words, const Deadline& deadline) {
  constexpr char kWhat[] = "making a communicator of NCCL";
  std::shared_ptr<HostSums> sums;
  const std::optional<Error> own = caught([&] { sums = make_own(make, max_words); });
  try {
    Notes made;
    if (own) made.put_failure(*own, rank);
    const std::optional<Error> unheard = caught([&] { meet(over, made, kWhat, with_grace(deadline)); });
    if (own) throw Error(*own);
    if (unheard) throw Error(*unheard);
    made.check_failures(kWhat, own);
    Notes first;
    meet(sums, first, deadline);
  } catch (...) {
    if (sums != nullptr) retire(sums, false, kLongEnough);
    throw;
  }
  return sums;
}

// The caller's communicator. What is wrong with this rank alone is told to the others, so far as it can be used.
std::shared_ptr<HostSums> open_lent(const TransportOptions& options, const Deadline& deadline) {
  if (options.comm == nullptr) {
    fail(TOKAVG_ERR_CONFIG, "config.comm is NULL; with TOKAVG_COMM_NCCL it is the ncclComm_t itself");
  }
  // The config lends the communicator as const void*, as all communicators.
  auto* comm = static_cast<ncclComm_t>(const_cast<void*>(options.comm));
  const auto communicator = Communicator::lent(Library::find(Origin::kThisProcess, options.nccl_path), comm);
  const std::optional<Error> own = caught([&] {
    if (options.device_index < 0 || options.device_index == communicator->device()) return;
    fail(TOKAVG_ERR_CONFIG,
         "config.device_index is %d, but config.comm is a communicator on device %d; leave device_index at -1, or lend "
         "a communicator of that device",
         options.device_index, communicator->device());
  });
  auto sums = std::make_shared<HostSums>(communicator, longest(options));
  try {
    Notes first;
    if (own) first.put_failure(*own, communicator->rank());
    meet(sums, first, deadline);
    first.check_failures("taking config.comm", own);
  } catch (const Error& error) {
    retire(sums, false, kLongEnough);
    const bool unsaid = !communicator->usable() && error.text().find(kObituary) == std::string::npos;
    throw unsaid ? Error(error.status(), error.text() + "; " + kObituary) : error;
  }
  return sums;
}

std::shared_ptr<HostSums> split(const std::shared_ptr<HostSums>& lent, const TransportOptions& options,
                                const Deadline& deadline) {
  const Communicator& parent = lent->communicator();
  const Start over = [&lent](std::span<std::uint64_t> words) { return lent->start(words); };
  std::shared_ptr<HostSums> sums;
  const std::optional<Error> failure = caught([&] {
    // Where it fails the others may still be in it, and nothing else can be said over this communicator.
    std::shared_ptr<Communicator> made = make_by_split(parent, deadline);
    sums = make_own_together(
        over, parent.rank(), [&made] { return made; }, longest(options), deadline);
  });
  retire(lent, true, kLongEnough);
  if (failure) throw Error(*failure);
  return sums;
}

std::shared_ptr<HostSums> bootstrap(Transport& transport, const TransportOptions& options, const Deadline& deadline) {
  constexpr char kWhat[] = "preparing NCCL";
  const Start over = [&transport](std::span<std::uint64_t> words) { return transport.start(words); };
  Seat seat{0, transport.rank(), transport.ranks()};
  std::shared_ptr<const Library> library;
  Notes prepared;
  const std::optional<Error> own = caught([&] {
    library = Library::find(Origin::kAnywhere, options.nccl_path);
    seat.device = choose_gpu(options.device_index);
    prepared.put_version(library->version, seat.rank);
    if (seat.rank == 0) prepared.put_id(make_id(*library));
  });
  if (own) prepared.put_failure(*own, seat.rank);
  meet(over, prepared, kWhat, deadline);
  prepared.check_failures(kWhat, own);
  prepared.check_version(library->version, seat.ranks);
  return make_own_together(
      over, seat.rank, [&] { return make_by_id(library, seat, prepared.id(), deadline); }, longest(options), deadline);
}

}  // namespace

Opened open_sums(const TransportOptions& options) {
  const Deadline deadline(options.timeout_ms);
  if (options.comm_kind == TOKAVG_COMM_NCCL) {
    std::shared_ptr<HostSums> lent = open_lent(options, deadline);
    if (!options.own_communicator) return {std::move(lent), "lent", {}};
    return {split(lent, options, deadline), "split", {}};
  }
  TransportOptions under = options;
  under.transport = TOKAVG_TRANSPORT_AUTO;
  under.progress = TOKAVG_PROGRESS_CALLER;  // for a few sums that are waited for
  under.max_words = static_cast<std::int64_t>(Notes::kWords);
  const std::unique_ptr<Transport> transport = open_transport(under);
  Opened opened{bootstrap(*transport, options, deadline), "own", transport->describe()};
  transport->close();
  return opened;
}

}  // namespace tokavg::nccl
