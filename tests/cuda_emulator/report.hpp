// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace cuda_emulator {

// A fault of the program under test for which CUDA promises nothing: says so on stderr and aborts.
[[noreturn, gnu::format(printf, 1, 2)]] void report(const char* format, ...);

// The same line, for what is an error code and not the end.
[[gnu::format(printf, 1, 2)]] void warn(const char* format, ...);

}  // namespace cuda_emulator
