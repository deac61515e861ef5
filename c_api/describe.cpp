// SPDX-License-Identifier: Apache-2.0
#include "core/describe.hpp"
#include "c_api/guard.hpp"
#include "c_api/text.hpp"
#include "tokavg/version.h"

using namespace tokavg;

const char* tokavg_version() noexcept { return TOKAVG_VERSION_STRING; }

int32_t tokavg_abi_version() noexcept { return TOKAVG_ABI_VERSION; }

tokavg_status_t tokavg_describe(tokavg_context_t* ctx, char* text, int64_t capacity, int64_t* needed_out) noexcept {
  if (ctx == nullptr) return guard([&] { return copy_text_out(describe_library(), text, capacity, needed_out); });
  return guard(ctx, Blame::kNothing,
               [&](Context& context) { return copy_text_out(context.describe(), text, capacity, needed_out); });
}
