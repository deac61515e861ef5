// SPDX-License-Identifier: Apache-2.0
#include "life/process.hpp"

#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <thread>

namespace life {
namespace {

int entries_of(const char* folder) {
  const std::filesystem::directory_iterator all(folder);
  return static_cast<int>(std::distance(begin(all), end(all)));
}

}  // namespace

Usage usage() {
  Usage now;
  long pages = 0;
  long resident = 0;
  long shared = 0;
  std::ifstream("/proc/self/statm") >> pages >> resident >> shared;
  now.memory_kib = (resident - shared) * (sysconf(_SC_PAGESIZE) / 1024);
  now.threads = entries_of("/proc/self/task");
  now.files = entries_of("/proc/self/fd");
  return now;
}

std::string growth_since(const Usage& before, long most_kib) {
  Usage now = usage();
  for (int i = 0; i < 100 && now.threads > before.threads; ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
    now = usage();
  }
  std::string text;
  const auto grown = [&](const char* what, long from, long to, long most) {
    if (to - from > most)
      text += std::string(what) + " from " + std::to_string(from) + " to " + std::to_string(to) + "; ";
  };
  grown("threads", before.threads, now.threads, 0);
  grown("open files", before.files, now.files, 0);
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)  // which keep what was freed
  grown("memory in KiB", before.memory_kib, now.memory_kib, most_kib);
#else
  static_cast<void>(most_kib);
#endif
  return text;
}

}  // namespace life
