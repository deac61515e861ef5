// SPDX-License-Identifier: Apache-2.0
#include "transport/nccl/check.hpp"

#include <string>

#include "base/error.hpp"

namespace tokavg::nccl {

void check(const Library& library, ncclResult_t result, const char* call) {
  if (result == ncclSuccess) return;
  // Of the whole process, so perhaps of another call; better than nothing.
  const char* last = library.get_last_error(nullptr);
  std::string details = last == nullptr ? "" : last;
  while (!details.empty() && (details.back() == '\n' || details.back() == ' ')) details.pop_back();
  fail(TOKAVG_ERR_TRANSPORT, "%s failed: %s (%d)%s%s", call, library.get_error_string(result), static_cast<int>(result),
       details.empty() ? "; NCCL_DEBUG=WARN says more" : ": ", details.c_str());
}

}  // namespace tokavg::nccl
