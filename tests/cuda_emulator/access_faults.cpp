// SPDX-License-Identifier: Apache-2.0
#include <signal.h>

#include <cstring>

#include "cuda_emulator/kernel.hpp"
#include "cuda_emulator/lock.hpp"
#include "cuda_emulator/memory.hpp"
#include "cuda_emulator/report.hpp"

// A touch of memory that the toucher may not use ends in SIGSEGV; this says which memory it was and who.
namespace cuda_emulator {
namespace {

struct sigaction previous;

// Not ours: on to whoever was there before, or to the end that a fault normally has.
void pass_on(int signal, siginfo_t* info, void* context) {
  if ((previous.sa_flags & SA_SIGINFO) != 0 && previous.sa_sigaction != nullptr) {
    previous.sa_sigaction(signal, info, context);
  } else if (previous.sa_handler != SIG_DFL && previous.sa_handler != SIG_IGN) {
    previous.sa_handler(signal);
  } else {
    ::signal(signal, SIG_DFL);  // the instruction is tried again
  }
}

void name_fault(int signal, siginfo_t* info, void* context) {
  const void* address = info->si_addr;
  char place[128];
  describe_place(place, sizeof place);
  if (is_stack_overflow(address)) report("%s: stack overflow, local variables take too much", place);
  if (!is_emulated_memory(address)) {
    // On a stream's thread nobody else could say who it was.
    if (std::strcmp(place, "host code") != 0) report("%s: access to %p, which is no device memory", place, address);
    pass_on(signal, info, context);
    return;
  }
  const std::optional<Allocation> found = find_neighbour(address);
  if (!found) report("%s: access to %p, which was never allocated", place, address);
  const std::size_t offset = reinterpret_cast<std::uintptr_t>(address) - found->begin;
  const char* kind = found->kind == MemoryKind::kDevice ? "device memory" : "pinned memory";
  if (offset >= found->size) {
    report("%s: access to %p, past the end of %zu bytes of %s%s", place, address, found->size, kind,
           found->freed ? " that were freed" : "");
  }
  if (found->freed) {
    report("%s: access to freed %s %p (byte %zu of %zu)", place, kind, address, offset, found->size);
  }
  if (std::strcmp(place, "host code") == 0) {
    report("host access to device memory %p (byte %zu of %zu, device %d)", address, offset, found->size, found->device);
  }
  report("%s: access to memory %p of another device (byte %zu of %zu, device %d)", place, address, offset, found->size,
         found->device);
}

}  // namespace

void watch_faults() {
  static Lock& lock = *new Lock;
  const Locked locked(lock);
  struct sigaction now;
  sigaction(SIGSEGV, nullptr, &now);
  if ((now.sa_flags & SA_SIGINFO) != 0 && now.sa_sigaction == name_fault) return;
  previous = now;
  struct sigaction ours;
  std::memset(&ours, 0, sizeof ours);
  ours.sa_sigaction = name_fault;
  ours.sa_flags = SA_SIGINFO | SA_ONSTACK | SA_NODEFER;
  sigemptyset(&ours.sa_mask);
  sigaction(SIGSEGV, &ours, nullptr);
}

}  // namespace cuda_emulator
