// SPDX-License-Identifier: Apache-2.0
#include "support/internal_struct.h"

#include <cstdio>

#include "base/error.hpp"
#include "base/struct_copy.hpp"

namespace tokavg {
template <>
inline constexpr std::uint32_t kSize10<internal_grown_t> = INTERNAL_GROWN_SHORTEST;
}  // namespace tokavg

namespace {

template <typename Call>
tokavg_status_t guarded(char* text_out, Call call) noexcept {
  try {
    call();
    return TOKAVG_OK;
  } catch (const tokavg::Error& error) {
    std::snprintf(text_out, 256, "%s", error.text().c_str());
    return error.status();
  }
}

}  // namespace

tokavg_status_t internal_read_grown(const void* theirs, internal_grown_t* ours_out, char text_out[256]) {
  return guarded(text_out,
                 [&] { *ours_out = tokavg::read_struct("grown", static_cast<const internal_grown_t*>(theirs)); });
}

tokavg_status_t internal_write_grown(const internal_grown_t* ours, void* theirs, char text_out[256]) {
  return guarded(text_out, [&] {
    auto* out = static_cast<internal_grown_t*>(theirs);
    tokavg::write_struct(*ours, tokavg::read_struct_size("grown", out), out);
  });
}
