// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>

namespace tokavg {

// Libraries that are found while the program runs: MPI plugins, NCCL.
//
// A Dynlib holds a reference to a library; the last copy gives it back.
class Dynlib {
 public:
  Dynlib() = default;

  // A library that is already in the process, whoever loaded it and however (RTLD_LOCAL too); never loads anything.
  static Dynlib already_loaded(const char* soname);

  // Loads a file for good: code that runs in a thread of its own must not be unmapped. The path is absolute, so that
  // neither the current directory nor LD_LIBRARY_PATH can choose. Throws Error(status, the loader's reason).
  static Dynlib load_for_good(const std::string& path, int status_on_failure);

  // The same for a path or for the name of a file that the system's loader looks for; where it cannot be loaded, the
  // result is empty and `reason` says why.
  static Dynlib try_to_load_for_good(const std::string& file, std::string& reason);

  explicit operator bool() const noexcept { return handle_ != nullptr; }
  // NULL when the library has no such symbol.
  [[nodiscard]] void* symbol(const char* name) const noexcept;
  [[nodiscard]] std::shared_ptr<void> owner() const noexcept { return handle_; }

 private:
  explicit Dynlib(void* handle);
  std::shared_ptr<void> handle_;
};

// A symbol of the program or of any library that it loaded globally; NULL when there is none.
void* find_symbol_in_process(const char* name) noexcept;

// Keeps the library that this address is in loaded until the process ends, for threads that run its code. Does nothing
// where it is part of the program itself.
void keep_loaded(const void* address) noexcept;

// The absolute path of the file that the code or data at this address came from; empty when it is not known.
std::string file_of_address(const void* address);

// The absolute path of a library with this file name that is in the process; empty when there is none. Unlike
// already_loaded it needs no soname, which a library that was linked by hand may lack.
std::string loaded_file_named(const std::string& file_name);

// "/usr/lib" of "/usr/lib/libx.so"; empty for what is not an absolute path.
std::string folder_of_file(const std::string& file);

}  // namespace tokavg
