// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>

namespace tokavg {

// What a tokavg_threads_t stands for: get() is the `comm` of COMM_THREADS. Contexts that were opened from it outlive
// it. Throws Error(TOKAVG_ERR_ARGUMENT) unless ranks is 1 to 65536. Defined in threads/.
std::shared_ptr<void> make_thread_group(std::int32_t ranks);

}  // namespace tokavg
