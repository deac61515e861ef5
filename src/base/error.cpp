// SPDX-License-Identifier: Apache-2.0
#include "base/error.hpp"

#include <cstdarg>
#include <cstdio>

namespace tokavg {
namespace {

std::string vformat(const char* pattern, va_list arguments) {
  va_list again;
  va_copy(again, arguments);
  const int length = std::vsnprintf(nullptr, 0, pattern, arguments);
  std::string text(length > 0 ? static_cast<std::size_t>(length) : 0U, '\0');
  std::vsnprintf(text.data(), text.size() + 1, pattern, again);
  va_end(again);
  return text;
}

}  // namespace

std::string format(const char* pattern, ...) {
  va_list arguments;
  va_start(arguments, pattern);
  std::string text = vformat(pattern, arguments);
  va_end(arguments);
  return text;
}

void fail(tokavg_status_t status, const char* pattern, ...) {
  va_list arguments;
  va_start(arguments, pattern);
  std::string text = vformat(pattern, arguments);
  va_end(arguments);
  throw Error(status, std::move(text));
}

const char* status_name(tokavg_status_t status) noexcept {
  switch (status) {
    case TOKAVG_OK: return "TOKAVG_OK";
    case TOKAVG_PENDING: return "TOKAVG_PENDING";
    case TOKAVG_EMPTY: return "TOKAVG_EMPTY";
    case TOKAVG_ERR_ARGUMENT: return "TOKAVG_ERR_ARGUMENT";
    case TOKAVG_ERR_CONFIG: return "TOKAVG_ERR_CONFIG";
    case TOKAVG_ERR_STATE: return "TOKAVG_ERR_STATE";
    case TOKAVG_ERR_STALE: return "TOKAVG_ERR_STALE";
    case TOKAVG_ERR_LABEL: return "TOKAVG_ERR_LABEL";
    case TOKAVG_ERR_WEIGHT: return "TOKAVG_ERR_WEIGHT";
    case TOKAVG_ERR_OVERFLOW: return "TOKAVG_ERR_OVERFLOW";
    case TOKAVG_ERR_COPIES: return "TOKAVG_ERR_COPIES";
    case TOKAVG_ERR_PEER: return "TOKAVG_ERR_PEER";
    case TOKAVG_ERR_DESYNC: return "TOKAVG_ERR_DESYNC";
    case TOKAVG_ERR_TIMEOUT: return "TOKAVG_ERR_TIMEOUT";
    case TOKAVG_ERR_ABORTED: return "TOKAVG_ERR_ABORTED";
    case TOKAVG_ERR_TRANSPORT: return "TOKAVG_ERR_TRANSPORT";
    case TOKAVG_ERR_DEVICE: return "TOKAVG_ERR_DEVICE";
    case TOKAVG_ERR_MEMORY: return "TOKAVG_ERR_MEMORY";
    case TOKAVG_ERR_UNSUPPORTED: return "TOKAVG_ERR_UNSUPPORTED";
    case TOKAVG_ERR_NOT_BUILT: return "TOKAVG_ERR_NOT_BUILT";
    case TOKAVG_ERR_HANDLE: return "TOKAVG_ERR_HANDLE";
    case TOKAVG_ERR_INTERNAL: return "TOKAVG_ERR_INTERNAL";
    default: return "TOKAVG_UNKNOWN_STATUS";
  }
}

bool is_sticky(tokavg_status_t status) noexcept {
  return status == TOKAVG_ERR_TIMEOUT || status == TOKAVG_ERR_DESYNC || status == TOKAVG_ERR_ABORTED ||
         status == TOKAVG_ERR_TRANSPORT || status == TOKAVG_ERR_DEVICE;
}

}  // namespace tokavg
