// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include "transport/nccl/communicator.hpp"

// Communicators of our own: small, blocking, made within a deadline.
namespace tokavg::nccl {

// What one rank gives to all, by which they find each other.
ncclUniqueId make_id(const Library& library);

struct Seat {
  int device = 0;
  std::int32_t rank = 0;
  std::int32_t ranks = 1;
};

// Both are collective. They throw Error: what NCCL reports, or TIMEOUT; what NCCL is doing then goes on in a thread
// that is left behind, and is aborted should it ever end.
std::shared_ptr<Communicator> make_by_id(const std::shared_ptr<const Library>& library, const Seat& seat,
                                         const ncclUniqueId& id, const Deadline& deadline);
std::shared_ptr<Communicator> make_by_split(const Communicator& lent, const Deadline& deadline);

}  // namespace tokavg::nccl
