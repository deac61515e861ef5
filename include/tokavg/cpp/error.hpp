// SPDX-License-Identifier: Apache-2.0
/** @file error.hpp @brief A status of the library as std::error_code and as an exception. Included by tokavg.hpp. */
#ifndef TOKAVG_CPP_ERROR_HPP
#define TOKAVG_CPP_ERROR_HPP

#include <string>
#include <system_error>

#include "../tokavg.h"

/** @brief tokavg for C++. The inline namespace keeps its names apart from those inside the library. */
namespace tokavg {
inline namespace api1 {

/** @brief The category of the library's codes: values are tokavg_status_t, messages the names of status.h. */
class Category final : public std::error_category {
 public:
  /** @brief "tokavg". @return a static text */
  const char* name() const noexcept override { return "tokavg"; }
  /** @brief The name of a status. @param status any value @return for instance "TOKAVG_ERR_TIMEOUT" */
  std::string message(int status) const override { return tokavg_status_name(status); }
};

/** @brief The one object of its kind. @return a reference for the life of the program */
inline const std::error_category& category() noexcept {
  static const Category the_category;
  return the_category;
}

/** @brief A status as a code. @param status what a C function returned @return empty where it is >= 0 */
inline std::error_code code_of(tokavg_status_t status) noexcept {
  return status < 0 ? std::error_code(status, category()) : std::error_code();
}

/** @brief A copy of the text of the last error. @param ctx a context, or nullptr: of this thread @return perhaps empty
 */
inline std::string last_error(tokavg_context_t* ctx) {
  int64_t needed = 0;
  if (tokavg_last_error(ctx, nullptr, 0, &needed) != TOKAVG_OK || needed < 1) return {};
  std::string text(static_cast<std::size_t>(needed), '\0');
  if (tokavg_last_error(ctx, text.data(), needed, nullptr) != TOKAVG_OK) return {};
  text.resize(static_cast<std::size_t>(needed - 1));
  return text;
}

/** @brief What functions without an error_code throw: code() is the status, what() has the library's text. */
class Error : public std::system_error {
 public:
  /** @brief Of a call that has just failed. @param status below 0 @param ctx where it failed, or nullptr */
  Error(tokavg_status_t status, tokavg_context_t* ctx) : std::system_error(code_of(status), last_error(ctx)) {}
  /** @brief Of a code. @param code what was set @param ctx where it was set, or nullptr */
  Error(const std::error_code& code, tokavg_context_t* ctx) : std::system_error(code, last_error(ctx)) {}
  /** @brief The status. @return below 0 */
  tokavg_status_t status() const noexcept { return code().value(); }
};

/** @brief Throws Error unless the code is empty. @param code what a call set @param ctx where, or nullptr */
inline void throw_if(const std::error_code& code, tokavg_context_t* ctx) {
  if (code) throw Error(code, ctx);
}

}  // namespace api1
}  // namespace tokavg

#endif
