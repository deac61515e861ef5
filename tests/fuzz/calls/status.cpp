// SPDX-License-Identifier: Apache-2.0
#include <cstring>

#include "calls/calls.hpp"

namespace fuzz {
namespace {

bool is_sticky(tokavg_status_t status) { return status <= TOKAVG_ERR_DESYNC && status >= TOKAVG_ERR_DEVICE; }

void check_text(tokavg_context_t* ctx, tokavg_status_t status) {
  char text[512];
  std::int64_t needed = 0;
  EXPECT(tokavg_last_error(ctx, text, sizeof text, &needed) == TOKAVG_OK, "tokavg_last_error");
  EXPECT(needed > 10 && std::strlen(text) > 9 && std::strchr(text, ' ') != nullptr, "%d with the text \"%s\"", status,
         text);
}

// No fault of the library itself, and never short of memory: nothing here is large.
void check_known(tokavg_status_t status) {
  EXPECT(status <= TOKAVG_EMPTY && status > TOKAVG_ERR_INTERNAL && status != TOKAVG_ERR_MEMORY, "status %d", status);
  EXPECT(std::strcmp(tokavg_status_name(status), "TOKAVG_UNKNOWN_STATUS") != 0, "status %d has no name", status);
}

}  // namespace

void check_thread_text(tokavg_status_t status) {
  check_known(status);
  if (status < 0) check_text(nullptr, status);
}

void check_status(const Handle& handle, tokavg_status_t status, bool changes) {
  if (handle.rank == nullptr) {
    EXPECT(status == TOKAVG_ERR_HANDLE, "%d for a handle that is none", status);
    return check_thread_text(status);
  }
  Rank& rank = *handle.rank;
  check_known(status);
  EXPECT(status != TOKAVG_ERR_HANDLE, "a live context was not found");
  if (status < 0) check_text(handle.ctx, status);
  if (changes && rank.dead != TOKAVG_OK) EXPECT(status == rank.dead, "%d, but it failed with %d", status, rank.dead);
  if (changes && rank.dead == TOKAVG_OK && rank.finalized)
    EXPECT(status == TOKAVG_ERR_STATE, "%d of a context that is finalized", status);
  if (rank.dead == TOKAVG_OK && is_sticky(status)) {
    EXPECT(!rank.dependable, "%d of a context that is alone", status);
    rank.dead = status;
  }
}

}  // namespace fuzz
