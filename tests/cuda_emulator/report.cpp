// SPDX-License-Identifier: Apache-2.0
#include "cuda_emulator/report.hpp"

#include <unistd.h>

#include <cstdarg>
#include <cstdio>
#include <cstdlib>

namespace cuda_emulator {
namespace {

// One write(), so that lines of several ranks do not mix; also usable in a signal handler of a fiber.
void print(const char* format, std::va_list arguments) {
  char line[512];
  int length = std::snprintf(line, sizeof line, "cuda_emulator: ");
  length += std::vsnprintf(line + length, sizeof line - 1 - static_cast<std::size_t>(length), format, arguments);
  if (length > static_cast<int>(sizeof line) - 2) length = static_cast<int>(sizeof line) - 2;
  line[length++] = '\n';
  static_cast<void>(!write(STDERR_FILENO, line, static_cast<std::size_t>(length)));
}

}  // namespace

void report(const char* format, ...) {
  std::va_list arguments;
  va_start(arguments, format);
  print(format, arguments);
  va_end(arguments);
  std::abort();
}

void warn(const char* format, ...) {
  std::va_list arguments;
  va_start(arguments, format);
  print(format, arguments);
  va_end(arguments);
}

}  // namespace cuda_emulator
