// SPDX-License-Identifier: Apache-2.0
#include "support/failing_allocations.hpp"

#include <link.h>

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <new>

namespace failing_allocations {
namespace {

struct Range {
  std::uintptr_t begin, end;
};

struct Thread {
  bool in_library;
  std::int64_t made;
  std::int64_t failing;
  std::array<Range, 4> code;  // of libtokavg and of the plugin that is loaded
  std::size_t n_code;
};
thread_local Thread self{};

std::atomic<std::int64_t> now_alive{0};

int add_code(dl_phdr_info* object, std::size_t, void*) {
  if (std::strstr(object->dlpi_name, "libtokavg") == nullptr) return 0;
  for (int i = 0; i < object->dlpi_phnum; ++i) {
    const auto& header = object->dlpi_phdr[i];
    if (header.p_type != PT_LOAD || (header.p_flags & PF_X) == 0 || self.n_code == self.code.size()) continue;
    const std::uintptr_t begin = object->dlpi_addr + header.p_vaddr;
    self.code[self.n_code++] = {begin, begin + header.p_memsz};
  }
  return 0;
}

bool is_code(const void* caller) {
  const auto address = reinterpret_cast<std::uintptr_t>(caller);
  for (std::size_t i = 0; i < self.n_code; ++i) {
    if (address >= self.code[i].begin && address < self.code[i].end) return true;
  }
  return false;
}

// In front of what operator new gives: whether it counts as alive.
struct alignas(std::max_align_t) Header {
  bool counted;
};

}  // namespace

InLibrary::InLibrary(std::int64_t failing) {
  self = {};
  dl_iterate_phdr(add_code, nullptr);
  self.failing = failing;
  self.in_library = true;
}

InLibrary::~InLibrary() { self.in_library = false; }

std::int64_t InLibrary::made() const { return self.made; }

std::int64_t alive() { return now_alive.load(); }

bool fails(const void* caller) {
  if (!self.in_library || (caller != nullptr && !is_code(caller))) return false;
  return ++self.made == self.failing;
}

namespace {

void* allocate(std::size_t size) noexcept {
  if (fails(nullptr)) return nullptr;
  auto* const header = static_cast<Header*>(std::malloc(sizeof(Header) + size));
  if (header == nullptr) return nullptr;
  header->counted = self.in_library;
  if (header->counted) now_alive.fetch_add(1);
  return header + 1;
}

void release(void* pointer) noexcept {
  if (pointer == nullptr) return;
  Header* const header = static_cast<Header*>(pointer) - 1;
  if (header->counted) now_alive.fetch_sub(1);
  std::free(header);
}

// Not counted as alive: there is no room for a header in front.
void* allocate(std::size_t size, std::align_val_t alignment) noexcept {
  if (fails(nullptr)) return nullptr;
  const auto unit = static_cast<std::size_t>(alignment);
  return std::aligned_alloc(unit, (size + unit - 1) / unit * unit);
}

}  // namespace
}  // namespace failing_allocations

using failing_allocations::allocate;
using failing_allocations::release;

// All forms: those of a sanitizer do not call each other.
void* operator new(std::size_t size) {
  void* const pointer = allocate(size);
  if (pointer == nullptr) throw std::bad_alloc();
  return pointer;
}
void* operator new[](std::size_t size) { return operator new(size); }
void* operator new(std::size_t size, const std::nothrow_t&) noexcept { return allocate(size); }
void* operator new[](std::size_t size, const std::nothrow_t&) noexcept { return allocate(size); }
void operator delete(void* pointer) noexcept { release(pointer); }
void operator delete[](void* pointer) noexcept { release(pointer); }
void operator delete(void* pointer, std::size_t) noexcept { release(pointer); }
void operator delete[](void* pointer, std::size_t) noexcept { release(pointer); }
void operator delete(void* pointer, const std::nothrow_t&) noexcept { release(pointer); }
void operator delete[](void* pointer, const std::nothrow_t&) noexcept { release(pointer); }

void* operator new(std::size_t size, std::align_val_t alignment) {
  void* const pointer = allocate(size, alignment);
  if (pointer == nullptr) throw std::bad_alloc();
  return pointer;
}
void* operator new[](std::size_t size, std::align_val_t alignment) { return operator new(size, alignment); }
void operator delete(void* pointer, std::align_val_t) noexcept { std::free(pointer); }
void operator delete[](void* pointer, std::align_val_t) noexcept { std::free(pointer); }
void operator delete(void* pointer, std::size_t, std::align_val_t) noexcept { std::free(pointer); }
void operator delete[](void* pointer, std::size_t, std::align_val_t) noexcept { std::free(pointer); }
