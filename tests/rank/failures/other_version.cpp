// SPDX-License-Identifier: Apache-2.0
// What a later version of the library says in the handshake: OTHER_ABI and OTHER_WIRE are its numbers. Takes the place
// of agreement.cpp in a library that is this one otherwise.
#include "core/agreement.hpp"
#include "tokavg/version.h"

#undef TOKAVG_ABI_VERSION
#define TOKAVG_ABI_VERSION OTHER_ABI

namespace tokavg {
inline constexpr std::uint64_t kOtherWire = OTHER_WIRE;
}  // namespace tokavg
#define kWireVersion kOtherWire

#include "core/agreement.cpp"
