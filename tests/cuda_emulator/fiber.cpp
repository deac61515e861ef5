// SPDX-License-Identifier: Apache-2.0
#include "cuda_emulator/fiber.hpp"

#include <signal.h>
#include <sys/mman.h>

#include <memory>

#include "cuda_emulator/lock.hpp"
#include "cuda_emulator/report.hpp"
#include "cuda_emulator/sanitizers.hpp"

namespace cuda_emulator {
namespace {

constexpr std::size_t kGuard = 64 * 1024;  // wide, for one large local array may step over a page
#if defined(CUDA_EMULATOR_ASAN) || defined(CUDA_EMULATOR_TSAN)
constexpr std::size_t kStack = 256 * 1024;
#else
constexpr std::size_t kStack = 64 * 1024;
#endif

constexpr std::size_t kSignalStack = 64 * 1024;

}  // namespace

Fiber::Fiber() {
  mapping_ = mmap(nullptr, kGuard + kStack, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (mapping_ == MAP_FAILED) report("no memory for the stack of a CUDA thread");
  mprotect(mapping_, kGuard, PROT_NONE);
  char* bottom = static_cast<char*>(mapping_) + kGuard;
  // Stacks at the same offset of a page would all compete for the same lines of the cache.
  static std::size_t colour = 0;
  colour = (colour + 192) % 4096;
  prepare_context(context_, bottom, kStack - colour);
}

Fiber::~Fiber() { munmap(mapping_, kGuard + kStack); }

bool Fiber::overflown_at(const void* address) const {
  const char* begin = static_cast<const char*>(mapping_);
  return address >= begin && address < begin + kGuard;
}

void use_alternate_signal_stack() {
  stack_t now{};
  if (sigaltstack(nullptr, &now) != 0 || (now.ss_flags & SS_DISABLE) == 0) return;  // a sanitizer has set one
  thread_local const std::unique_ptr<char[]> memory = std::make_unique<char[]>(kSignalStack);
  now.ss_sp = memory.get();
  now.ss_size = kSignalStack;
  now.ss_flags = 0;
  sigaltstack(&now, nullptr);
}

namespace {

struct Pool {
  Lock lock;
  std::vector<std::unique_ptr<Fiber>> all;
  std::vector<Fiber*> free;
};

#ifdef CUDA_EMULATOR_TSAN
// One for each thread that runs kernels: a stack that another stream has used would look like memory that they share,
// and to pass it on with an order would hide where they lack one.
Pool& pool() {
  thread_local Pool mine;
  return mine;
}
#else
Pool& pool() {
  static Pool& only = *new Pool;  // threads may still run when static objects are destroyed
  return only;
}
#endif

}  // namespace

std::vector<Fiber*> take_fibers(std::size_t count) {
  const Locked locked(pool().lock);
  std::vector<Fiber*>& free = pool().free;
  while (free.size() < count) free.push_back(pool().all.emplace_back(std::make_unique<Fiber>()).get());
  const std::vector<Fiber*> taken(free.end() - static_cast<std::ptrdiff_t>(count), free.end());
  free.resize(free.size() - count);
  return taken;
}

void give_fibers_back(const std::vector<Fiber*>& fibers) {
  const Locked locked(pool().lock);
  pool().free.insert(pool().free.end(), fibers.begin(), fibers.end());
}

}  // namespace cuda_emulator
