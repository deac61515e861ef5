// SPDX-License-Identifier: Apache-2.0
#include "base/dynlib.hpp"

#include <dlfcn.h>
#include <link.h>

#include <cinttypes>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <fstream>
#include <string_view>

#include "base/error.hpp"

namespace tokavg {
namespace {

// The kernel's view of an address. The loader's own record is relative where the library was found through a relative
// LD_LIBRARY_PATH, and the current directory may have changed since.
std::string mapped_file(std::uintptr_t address) {
  std::ifstream maps("/proc/self/maps");
  for (std::string line; std::getline(maps, line);) {
    std::uintptr_t begin = 0;
    std::uintptr_t end = 0;
    // NOLINTNEXTLINE(cert-err34-c): the kernel writes these numbers
    if (std::sscanf(line.c_str(), "%" SCNxPTR "-%" SCNxPTR, &begin, &end) != 2) continue;
    if (address < begin || address >= end) continue;
    const std::string::size_type slash = line.find('/');
    return slash == std::string::npos ? std::string() : line.substr(slash);
  }
  return {};
}

}  // namespace

Dynlib::Dynlib(void* handle) : handle_(handle, [](void* library) { dlclose(library); }) {}

Dynlib Dynlib::already_loaded(const char* soname) {
  void* handle = dlopen(soname, RTLD_NOLOAD | RTLD_LAZY);
  return handle == nullptr ? Dynlib() : Dynlib(handle);
}

Dynlib Dynlib::load_for_good(const std::string& path, int status_on_failure) {
  if (!path.starts_with('/')) fail(TOKAVG_ERR_INTERNAL, "%s is not an absolute path", path.c_str());
  void* handle = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
  if (handle == nullptr) {
    const char* reason = dlerror();  // names the file
    fail(status_on_failure, "cannot load a plugin: %s", reason == nullptr ? path.c_str() : reason);
  }
  return Dynlib(handle);
}

Dynlib Dynlib::try_to_load_for_good(const std::string& file, std::string& reason) {
  void* handle = dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
  if (handle != nullptr) return Dynlib(handle);
  const char* text = dlerror();
  reason = text == nullptr ? file : text;
  return {};
}

void* Dynlib::symbol(const char* name) const noexcept {
  return handle_ == nullptr ? nullptr : dlsym(handle_.get(), name);
}

void* find_symbol_in_process(const char* name) noexcept { return dlsym(RTLD_DEFAULT, name); }

void keep_loaded(const void* address) noexcept {
  Dl_info info{};
  if (dladdr(address, &info) == 0 || info.dli_fname == nullptr) return;
  void* handle = dlopen(info.dli_fname, RTLD_NOLOAD | RTLD_NODELETE | RTLD_LAZY);
  if (handle != nullptr) dlclose(handle);
}

std::string file_of_address(const void* address) {
  Dl_info info{};
  if (dladdr(address, &info) == 0 || info.dli_fname == nullptr) return {};
  const std::string file = info.dli_fname;
  return file.starts_with('/') ? file : mapped_file(reinterpret_cast<std::uintptr_t>(address));
}

std::string loaded_file_named(const std::string& file_name) {
  struct Search {
    std::string ending;
    std::string found;
  } search = {"/" + file_name, {}};
  const auto visit = [](dl_phdr_info* library, std::size_t /*size*/, void* data) {
    auto* wanted = static_cast<Search*>(data);
    const std::string_view file = library->dlpi_name == nullptr ? "" : library->dlpi_name;
    if (!file.starts_with('/') || !file.ends_with(wanted->ending)) return 0;
    wanted->found = file;
    return 1;
  };
  dl_iterate_phdr(visit, &search);
  return search.found;
}

std::string folder_of_file(const std::string& file) {
  if (!file.starts_with('/')) return {};
  const std::string::size_type slash = file.rfind('/');
  return slash == 0 ? "/" : file.substr(0, slash);
}

}  // namespace tokavg
