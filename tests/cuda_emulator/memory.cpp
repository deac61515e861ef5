// SPDX-License-Identifier: Apache-2.0
#include "cuda_emulator/memory.hpp"

#include <sched.h>
#include <sys/mman.h>

#include <array>
#include <cstring>
#include <map>
#include <vector>

#include "cuda_emulator/lock.hpp"
#include "cuda_emulator/report.hpp"
#include "cuda_emulator/sanitizers.hpp"
#include "cuda_emulator/settings.hpp"

#ifdef CUDA_EMULATOR_ASAN
#include <sanitizer/asan_interface.h>
#else
#define ASAN_POISON_MEMORY_REGION(begin, size) (static_cast<void>(begin), static_cast<void>(size))
#define ASAN_UNPOISON_MEMORY_REGION(begin, size) (static_cast<void>(begin), static_cast<void>(size))
#endif

namespace cuda_emulator {
namespace {

constexpr std::size_t kPage = 4096;
constexpr std::size_t kAlignment = 256;
constexpr std::size_t kChunk = std::size_t{1} << 30;  // of addresses, not of memory
constexpr int kPoison = 0xCD;
constexpr std::size_t kFilledAtMost = std::size_t{1} << 30;  // larger ones take no memory until they are touched

std::size_t round_up(std::size_t size, std::size_t unit) { return (size + unit - 1) / unit * unit; }

struct Pages {
  char* begin;
  std::size_t size;
};

// All pages of an allocation, but for the one behind them that stays closed.
Pages pages_of(const Allocation& allocation) {
  const std::uintptr_t begin = allocation.begin / kPage * kPage;
  const std::uintptr_t end = allocation.begin + round_up(allocation.size, kAlignment);
  return {reinterpret_cast<char*>(begin), end - begin};
}

struct Memory {
  Lock lock;
  std::map<std::uintptr_t, Allocation> allocations;  // by their beginning; also what was freed
  std::map<std::uintptr_t, std::uintptr_t> chunks;   // end -> begin
  std::uintptr_t next = 0;
  std::uintptr_t chunk_end = 0;
  std::array<int, kMostDevices> open{};
};

Memory& memory() {
  static Memory& only = *new Memory;
  return only;
}

bool reserve(std::size_t size) {
  if (memory().chunk_end - memory().next >= size) return true;
  const std::size_t chunk = size > kChunk ? size : kChunk;
  void* begin = mmap(nullptr, chunk, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (begin == MAP_FAILED) return false;
  memory().next = reinterpret_cast<std::uintptr_t>(begin);
  memory().chunk_end = memory().next + chunk;
  memory().chunks[memory().chunk_end] = memory().next;
  return true;
}

void protect(const Allocation& allocation, bool open) {
  const Pages pages = pages_of(allocation);
  mprotect(pages.begin, pages.size, open ? PROT_READ | PROT_WRITE : PROT_NONE);
}

void poison(const Allocation& allocation) {
  const Pages pages = pages_of(allocation);
  char* begin = reinterpret_cast<char*>(allocation.begin);
  char* end = begin + allocation.size;
  if (allocation.size <= kFilledAtMost) {
    std::memset(pages.begin, kPoison, pages.size);
  } else {
    std::memset(pages.begin, kPoison, static_cast<std::size_t>(begin - pages.begin));
    std::memset(end, kPoison, static_cast<std::size_t>(pages.begin + pages.size - end));
  }
  ASAN_POISON_MEMORY_REGION(pages.begin, static_cast<std::size_t>(begin - pages.begin));
  ASAN_POISON_MEMORY_REGION(end, round_up(allocation.size, kAlignment) - allocation.size);
}

void check_edges(const Allocation& allocation) {
  const Pages pages = pages_of(allocation);
  const char* begin = reinterpret_cast<const char*>(allocation.begin);
  const char* end = begin + allocation.size;
  ASAN_UNPOISON_MEMORY_REGION(pages.begin, static_cast<std::size_t>(begin - pages.begin));
  ASAN_UNPOISON_MEMORY_REGION(end, static_cast<std::size_t>(pages.begin + pages.size - end));
  for (const char* byte = pages.begin; byte != pages.begin + pages.size; ++byte) {
    if (byte == begin) byte += allocation.size;
    if (byte == pages.begin + pages.size) break;
    if (static_cast<unsigned char>(*byte) != kPoison) {
      report("memory at %p, %zu bytes: byte %td was written", static_cast<const void*>(begin), allocation.size,
             byte - begin);
    }
  }
}

// The thread that faulted might hold the lock itself, so this gives up after a while.
std::unique_lock<Lock> lock_in_handler() {
  std::unique_lock<Lock> locked(memory().lock, std::try_to_lock);
  for (int tries = 0; tries < 10000 && !locked.owns_lock(); ++tries) {
    sched_yield();
    static_cast<void>(locked.try_lock());
  }
  return locked;
}

// The allocation that begins at or before the address.
const Allocation* before(std::uintptr_t address) {
  auto next = memory().allocations.upper_bound(address);
  return next == memory().allocations.begin() ? nullptr : &std::prev(next)->second;
}

bool in_a_chunk(std::uintptr_t address) {
  const auto chunk = memory().chunks.upper_bound(address);
  return chunk != memory().chunks.end() && address >= chunk->second;
}

}  // namespace

void* allocate(std::size_t size, MemoryKind kind, int device) {
  watch_faults();
  const Locked locked(memory().lock);
  const std::size_t bytes = round_up(round_up(size, kAlignment), kPage);
  if (size > (std::size_t{1} << 46) || !reserve(bytes + kPage)) return nullptr;
  Allocation allocation;
  allocation.begin = memory().next + bytes - round_up(size, kAlignment);
  allocation.size = size;
  allocation.kind = kind;
  allocation.device = device;
  const Pages pages = pages_of(allocation);
  if (mprotect(pages.begin, pages.size, PROT_READ | PROT_WRITE) != 0) return nullptr;
  memory().next += bytes + kPage;
  poison(allocation);
  memory().allocations[allocation.begin] = allocation;
  if (kind == MemoryKind::kDevice && memory().open[static_cast<std::size_t>(device)] == 0) protect(allocation, false);
  return reinterpret_cast<void*>(allocation.begin);
}

bool release(void* pointer, MemoryKind kind) {
  const Locked locked(memory().lock);
  const auto found = memory().allocations.find(reinterpret_cast<std::uintptr_t>(pointer));
  if (found == memory().allocations.end() || found->second.freed || found->second.kind != kind) return false;
  Allocation& allocation = found->second;
  protect(allocation, true);
  check_edges(allocation);
  allocation.freed = true;
  const Pages pages = pages_of(allocation);
  madvise(pages.begin, pages.size, MADV_DONTNEED);
  protect(allocation, false);
  return true;
}

std::optional<Allocation> find_allocation(const void* address) {
  const Locked locked(memory().lock);
  const auto where = reinterpret_cast<std::uintptr_t>(address);
  const Allocation* found = before(where);
  if (found == nullptr || found->freed || where >= found->begin + found->size) return std::nullopt;
  return *found;
}

std::optional<Allocation> find_neighbour(const void* address) {
  const Unseen unseen;
  const std::unique_lock<Lock> locked = lock_in_handler();
  if (!locked.owns_lock()) return std::nullopt;
  const Allocation* found = before(reinterpret_cast<std::uintptr_t>(address));
  return found == nullptr ? std::nullopt : std::optional(*found);
}

bool is_emulated_memory(const void* address) {
  const Unseen unseen;
  const std::unique_lock<Lock> locked = lock_in_handler();
  return locked.owns_lock() && in_a_chunk(reinterpret_cast<std::uintptr_t>(address));
}

std::size_t living_allocations(MemoryKind kind) {
  const Locked locked(memory().lock);
  std::size_t living = 0;
  for (const auto& [begin, allocation] : memory().allocations) {
    if (!allocation.freed && allocation.kind == kind) ++living;
  }
  return living;
}

namespace {

void open_or_close(int device, int step) {
  const Locked locked(memory().lock);
  int& open = memory().open[static_cast<std::size_t>(device)];
  open += step;
  const bool changes = open == (step > 0 ? 1 : 0);
  if (!changes) return;
  for (const auto& [begin, allocation] : memory().allocations) {
    const bool concerned = allocation.kind == MemoryKind::kDevice && allocation.device == device && !allocation.freed;
    if (concerned) protect(allocation, step > 0);
  }
}

}  // namespace

DeviceAccess::DeviceAccess(int device) : device_(device) {
  watch_faults();
  open_or_close(device, 1);
}

DeviceAccess::~DeviceAccess() { open_or_close(device_, -1); }

}  // namespace cuda_emulator
