// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

// One allocation of one thread fails. Replaces operator new of the whole program and, outside of sanitizers, makes
// malloc and its kind fail where code of tokavg calls them (MPI and others do not expect that).
namespace failing_allocations {

// While one lives, allocations of its thread are the library's: they are numbered, and those not freed are known.
class InLibrary {
 public:
  // The allocation with this number fails, from 1 on; 0: none does.
  explicit InLibrary(std::int64_t failing);
  ~InLibrary();
  InLibrary(const InLibrary&) = delete;
  InLibrary& operator=(const InLibrary&) = delete;

  [[nodiscard]] std::int64_t made() const;  // so far, the one that failed included
};

// Of operator new, of all threads, made while an InLibrary lived and not deleted.
std::int64_t alive();

// For the replacements: is this allocation to fail? caller: where it returns to; nullptr counts always.
bool fails(const void* caller);

}  // namespace failing_allocations
