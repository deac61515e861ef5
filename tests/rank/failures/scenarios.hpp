// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "failures/play.hpp"

namespace failures {

// missing.cpp
void init_missing(Play& play);
void init_unreachable(Play& play);
void reduce_missing(Play& play);
void reduce_killed(Play& play);
void ring_late(Play& play);
void ring_missing(Play& play);

// desync.cpp
void extra_reduce(Play& play);
void extra_flush(Play& play);
void other_divisor(Play& play);
void desync_and_failure(Play& play);

// local.cpp
void local_failures(Play& play);

// mismatch.cpp
void config_mismatch(Play& play);

// life.cpp
void abort_while_waiting(Play& play);
void two_contexts(Play& play);
void finalize_sends(Play& play);
void free_early(Play& play);

}  // namespace failures
