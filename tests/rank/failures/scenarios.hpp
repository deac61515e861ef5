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
void other_library(Play& play);

// calls.cpp
void other_calls(Play& play);
void extra_init(Play& play);

// memory.cpp
void memory_failures(Play& play);
void memory_init(Play& play);

// phases.cpp: FAULT.PHASE; nullptr: there is none of this name.
Scenario find_fault_in_phase(const std::string& name);

// life.cpp
void abort_while_waiting(Play& play);
void two_contexts(Play& play);
void finalize_sends(Play& play);
void free_early(Play& play);

}  // namespace failures
