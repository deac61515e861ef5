// SPDX-License-Identifier: Apache-2.0
// malloc, calloc and realloc of glibc, but for the one that is to fail. Not for sanitizers, whose own these are.
#include <cerrno>
#include <cstddef>

#include "support/failing_allocations.hpp"

extern "C" {

void* __libc_malloc(std::size_t size);
void* __libc_calloc(std::size_t count, std::size_t size);
void* __libc_realloc(void* pointer, std::size_t size);
}

namespace {

bool fails(const void* caller) {
  if (!failing_allocations::fails(caller)) return false;
  errno = ENOMEM;
  return true;
}

}  // namespace

extern "C" {

void* malloc(std::size_t size) { return fails(__builtin_return_address(0)) ? nullptr : __libc_malloc(size); }
void* calloc(std::size_t count, std::size_t size) {
  return fails(__builtin_return_address(0)) ? nullptr : __libc_calloc(count, size);
}
void* realloc(void* pointer, std::size_t size) {
  return fails(__builtin_return_address(0)) ? nullptr : __libc_realloc(pointer, size);
}
}
