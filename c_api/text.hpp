// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string_view>

#include "tokavg/status.h"

namespace tokavg {

// Texts are copied out, cut to fit and zero-terminated; needed_out says how much room the whole one takes.
tokavg_status_t copy_text_out(std::string_view text, char* out, std::int64_t capacity, std::int64_t* needed_out);

}  // namespace tokavg
