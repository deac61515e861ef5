// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstring>
#include <new>

#include "c_api/guard.hpp"
#include "c_api/text.hpp"

namespace tokavg {
namespace {

constexpr std::size_t kThreadText = 1024;
thread_local char last_text[kThreadText];

}  // namespace

HandleTable<Context>& contexts() noexcept {
  // Never destroyed: a context may be freed from an exit handler.
  alignas(HandleTable<Context>) static unsigned char storage[sizeof(HandleTable<Context>)];
  static auto& table = *new (storage) HandleTable<Context>(1);
  return table;
}

void set_thread_text(const char* text) noexcept {
  std::strncpy(last_text, text, kThreadText - 1);
  last_text[kThreadText - 1] = '\0';
}

const char* thread_text() noexcept { return last_text; }

void fail_handle(const char* argument, const void* handle) {
  if (handle == nullptr) fail(TOKAVG_ERR_HANDLE, "%s is NULL; make it first", argument);
  fail(TOKAVG_ERR_HANDLE, "%s is %p, which is not a live handle of this library: it was freed, or never made here",
       argument, handle);
}

tokavg_status_t copy_text_out(std::string_view text, char* out, std::int64_t capacity, std::int64_t* needed_out) {
  if (capacity < 0) fail(TOKAVG_ERR_ARGUMENT, "capacity is %lld; it must be >= 0", static_cast<long long>(capacity));
  if (out == nullptr && capacity > 0) fail(TOKAVG_ERR_ARGUMENT, "text is NULL although capacity is not 0");
  if (capacity > 0) {
    const std::size_t length = std::min(text.size(), static_cast<std::size_t>(capacity) - 1);
    std::memcpy(out, text.data(), length);
    out[length] = '\0';
  }
  if (needed_out != nullptr) *needed_out = static_cast<std::int64_t>(text.size()) + 1;
  return TOKAVG_OK;
}

}  // namespace tokavg

using namespace tokavg;

const char* tokavg_status_name(tokavg_status_t status) noexcept { return status_name(status); }

tokavg_status_t tokavg_last_error(tokavg_context_t* ctx, char* text, int64_t capacity, int64_t* needed_out) noexcept {
  if (ctx == nullptr) return guard([&] { return copy_text_out(thread_text(), text, capacity, needed_out); });
  return guard(ctx, Blame::kNothing,
               [&](Context& context) { return copy_text_out(context.last_text(), text, capacity, needed_out); });
}
