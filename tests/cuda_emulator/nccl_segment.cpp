// SPDX-License-Identifier: Apache-2.0
#include "cuda_emulator/nccl_segment.hpp"

#include <fcntl.h>
#include <linux/futex.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <climits>
#include <cstdio>
#include <cstring>
#include <map>
#include <new>

#include "cuda_emulator/lock.hpp"

namespace cuda_emulator {

struct Segment::Header {
  std::uint64_t token;
  std::atomic<int> ranks;
  std::atomic<std::uint32_t> bell;
};

namespace {

constexpr std::size_t kHeaderBytes = 4096;
constexpr char kMagic[8] = {'t', 'o', 'k', 'a', 'v', 'g', 'e', 'm'};

struct IdContents {
  char magic[8];
  int process;
  int descriptor;
  std::uint64_t token;
};
static_assert(sizeof(IdContents) <= sizeof(ncclUniqueId));

IdContents contents_of(const ncclUniqueId& id) {
  IdContents contents;
  std::memcpy(&contents, id.internal, sizeof contents);
  return contents;
}

struct OpenIds {
  Lock lock;
  std::map<std::uint64_t, int> descriptors;  // by token
};

OpenIds& open_ids() {
  static OpenIds& only = *new OpenIds;
  return only;
}

int open_memory(const IdContents& contents) {
  if (std::memcmp(contents.magic, kMagic, sizeof kMagic) != 0) return -1;
  char path[64];
  std::snprintf(path, sizeof path, "/proc/%d/fd/%d", contents.process, contents.descriptor);
  return ::open(path, O_RDWR | O_CLOEXEC);
}

}  // namespace

bool make_unique_id(ncclUniqueId* id) {
  IdContents contents{};
  std::memcpy(contents.magic, kMagic, sizeof kMagic);
  if (getrandom(&contents.token, sizeof contents.token, 0) != sizeof contents.token) return false;
  contents.process = getpid();
  contents.descriptor = memfd_create("tokavg_nccl_emulator", MFD_CLOEXEC);
  const bool written = contents.descriptor >= 0 && ftruncate(contents.descriptor, kHeaderBytes) == 0 &&
                       pwrite(contents.descriptor, &contents.token, sizeof contents.token, 0) ==
                           static_cast<ssize_t>(sizeof contents.token);
  if (!written) return false;
  std::memset(id, 0, sizeof *id);
  std::memcpy(id->internal, &contents, sizeof contents);
  const Locked locked(open_ids().lock);
  open_ids().descriptors[contents.token] = contents.descriptor;
  return true;
}

void close_unique_id(const ncclUniqueId& id) {
  const Locked locked(open_ids().lock);
  const auto found = open_ids().descriptors.find(contents_of(id).token);
  if (found == open_ids().descriptors.end()) return;
  close(found->second);
  open_ids().descriptors.erase(found);
}

std::shared_ptr<Segment> Segment::open(const ncclUniqueId& id, int ranks, ncclResult_t* why) {
  *why = ncclInvalidArgument;
  const IdContents contents = contents_of(id);
  const int descriptor = open_memory(contents);
  if (descriptor < 0) return nullptr;
  const std::size_t size = kHeaderBytes + sizeof(SharedRank) * static_cast<std::size_t>(ranks);
  struct stat status;
  // Larger only, for a rank that believes in fewer ranks must not take memory away.
  bool sized = fstat(descriptor, &status) == 0;
  if (sized && static_cast<std::size_t>(status.st_size) < size) {
    sized = ftruncate(descriptor, static_cast<off_t>(size)) == 0;
  }
  void* mapping = sized ? mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, 0) : MAP_FAILED;
  close(descriptor);
  if (mapping == MAP_FAILED) {
    *why = ncclSystemError;
    return nullptr;
  }
  std::shared_ptr<Segment> segment(new Segment(mapping, size));
  int agreed = 0;
  const bool first = segment->header_->ranks.compare_exchange_strong(agreed, ranks);
  if (segment->header_->token != contents.token || (!first && agreed != ranks)) return nullptr;
  *why = ncclSuccess;
  return segment;
}

// All zero, as the memory is at first, is a valid state of everything in it.
Segment::Segment(void* mapping, std::size_t size)
    : mapping_(mapping),
      size_(size),
      header_(static_cast<Header*>(mapping)),
      ranks_(reinterpret_cast<SharedRank*>(static_cast<char*>(mapping) + kHeaderBytes)) {}

Segment::~Segment() { munmap(mapping_, size_); }

std::uint64_t Segment::token() const { return header_->token; }
std::uint32_t Segment::bell() const { return header_->bell.load(); }

void Segment::ring() {
  header_->bell.fetch_add(1);
  syscall(SYS_futex, &header_->bell, FUTEX_WAKE, INT_MAX, nullptr, nullptr, 0);
}

// Not for ever: giving up does not ring.
void Segment::listen(std::uint32_t heard) const {
  const timespec longest = {0, 2000000};
  syscall(SYS_futex, &header_->bell, FUTEX_WAIT, heard, &longest, nullptr, 0);
}

}  // namespace cuda_emulator
