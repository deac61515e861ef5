// SPDX-License-Identifier: Apache-2.0
// A tokavg context of the tool, and the one way to check a call.
#pragma once

#include <tokavg/tokavg.h>

#include <exception>

namespace tokavg_tool {

/// Throws a Failure with the library's own text when `status` is an error.
/// @param context the context of the call; NULL: the call had none
void check(tokavg_status_t status, tokavg_context_t* context, const char* call);

/// A configuration with the library's defaults, to be completed by the caller.
tokavg_config_t default_config();

/// Owns a context. Leaving by an exception aborts it first: the other ranks must not wait for us.
class Context {
 public:
  explicit Context(const tokavg_config_t& config);
  ~Context();
  Context(const Context&) = delete;
  Context& operator=(const Context&) = delete;

  [[nodiscard]] tokavg_context_t* get() const { return context_; }
  void check(tokavg_status_t status, const char* call) const { tokavg_tool::check(status, context_, call); }

  /// Closes the open step under the caller's own step number.
  [[nodiscard]] tokavg_ticket_t reduce(int64_t step) const;
  /// The complete result; a step whose losses were never sent is a Failure here.
  [[nodiscard]] tokavg_result_t wait(tokavg_ticket_t ticket, int32_t what) const;
  double factor(tokavg_ticket_t ticket) const;
  void finalize() const;

 private:
  tokavg_context_t* context_ = nullptr;
  int exceptions_at_start_ = std::uncaught_exceptions();
};

}  // namespace tokavg_tool
