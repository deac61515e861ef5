// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <exception>
#include <new>
#include <optional>
#include <string>
#include <utility>

#include "tokavg/status.h"

namespace tokavg {

// What every layer throws and the boundary (c_api/guard.hpp) turns into a status and a text.
class Error : public std::exception {
 public:
  Error(tokavg_status_t status, std::string text) : status_(status), text_(std::move(text)) {}
  [[nodiscard]] tokavg_status_t status() const noexcept { return status_; }
  [[nodiscard]] const std::string& text() const noexcept { return text_; }
  [[nodiscard]] const char* what() const noexcept override { return text_.c_str(); }

 private:
  tokavg_status_t status_;
  std::string text_;
};

// printf into a string.
[[gnu::format(printf, 1, 2)]] std::string format(const char* pattern, ...);

// Throws Error with a printf-formatted text.
[[noreturn, gnu::format(printf, 2, 3)]] void fail(tokavg_status_t status, const char* pattern, ...);

const char* status_name(tokavg_status_t status) noexcept;

// What the body throws, as an Error; empty when it throws nothing.
template <typename Body>
std::optional<Error> caught(Body&& body) {
  try {
    body();
  } catch (const Error& error) {
    return error;
  } catch (const std::bad_alloc&) {
    return Error(TOKAVG_ERR_MEMORY, "no memory");
  } catch (const std::exception& error) {
    return Error(TOKAVG_ERR_INTERNAL, error.what());
  }
  return std::nullopt;
}

// Errors that end a context and not just a step or a call.
bool is_sticky(tokavg_status_t status) noexcept;

}  // namespace tokavg
