// SPDX-License-Identifier: Apache-2.0
#include "failures/scenarios.hpp"

#include <iterator>

namespace failures {

Scenario find_scenario(const std::string& name) {
  struct Known {
    const char* name;
    Scenario scenario;
  };
  static const Known known[] = {
      {"init_missing", init_missing},
      {"init_unreachable", init_unreachable},
      {"reduce_missing", reduce_missing},
      {"reduce_killed", reduce_killed},
      {"ring_late", ring_late},
      {"ring_missing", ring_missing},
      {"extra_reduce", extra_reduce},
      {"extra_flush", extra_flush},
      {"other_divisor", other_divisor},
      {"desync_and_failure", desync_and_failure},
      {"local_failures", local_failures},
      {"config_mismatch", config_mismatch},
      {"other_abi", other_library},
      {"other_wire", other_library},
      {"other_calls", other_calls},
      {"extra_init", extra_init},
      {"memory_failures", memory_failures},
      {"memory_init", memory_init},
      {"abort_while_waiting", abort_while_waiting},
      {"two_contexts", two_contexts},
      {"finalize_sends", finalize_sends},
      {"free_early", free_early},
  };
  for (const Known& one : known) {
    if (name == one.name) return one.scenario;
  }
  return find_fault_in_phase(name);
}

}  // namespace failures
