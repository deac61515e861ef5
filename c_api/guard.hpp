// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <new>
#include <utility>

#include "base/float_mode.hpp"
#include "c_api/handle.hpp"
#include "core/context.hpp"
#include "tokavg/tokavg.h"

// The boundary: nothing throws through it, every error leaves a status and a text.
namespace tokavg {

HandleTable<Context>& contexts() noexcept;

// The text of this thread's last error that belongs to no context.
void set_thread_text(const char* text) noexcept;
const char* thread_text() noexcept;

// Runs body, which returns a status; hands an Error to `note`.
template <typename Body, typename Note>
tokavg_status_t guard_body(Body&& body, Note&& note) noexcept {
  const FloatMode mode;
  try {
    return std::forward<Body>(body)();
  } catch (const Error& error) {
    note(error);
    return error.status();
  } catch (const std::bad_alloc&) {
    // Built where memory is short: the text may have to stay empty.
    try {
      note(Error(TOKAVG_ERR_MEMORY, "no memory"));
    } catch (...) {
    }
    return TOKAVG_ERR_MEMORY;
  } catch (const std::exception& error) {
    try {
      note(Error(TOKAVG_ERR_INTERNAL, format("a fault of tokavg itself, please report it: %s", error.what())));
    } catch (...) {
    }
    return TOKAVG_ERR_INTERNAL;
  } catch (...) {
    return TOKAVG_ERR_INTERNAL;
  }
}

// For functions without a context: the text is kept for this thread.
template <typename Body>
tokavg_status_t guard(Body&& body) noexcept {
  return guard_body(std::forward<Body>(body), [](const Error& error) { set_thread_text(error.what()); });
}

[[noreturn]] void fail_handle(const char* argument, const void* handle);

// For functions of a context: the text is kept in it, and `blame` says what an error means for the open step.
template <typename Body>
tokavg_status_t guard(tokavg_context_t* handle, Blame blame, Body&& body) noexcept {
  Context* context = contexts().find(handle);
  if (context == nullptr) {
    return guard([&]() -> tokavg_status_t { fail_handle("ctx", handle); });
  }
  return guard_body([&] { return std::forward<Body>(body)(*context); },
                    [&](const Error& error) { context->note(error, blame); });
}

}  // namespace tokavg
