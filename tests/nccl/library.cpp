// SPDX-License-Identifier: Apache-2.0
// library CASE [FILE]: how a libnccl is found, in a process that has none to begin with.
#include "transport/nccl/library.hpp"

#include <dlfcn.h>

#include <cstdio>
#include <cstdlib>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "base/error.hpp"

namespace {

using tokavg::nccl::Library;
using tokavg::nccl::Origin;

int failures = 0;

void expect(bool good, const std::string& what) {
  if (good) return;
  ++failures;
  std::printf("FAIL %s\n", what.c_str());
}

void expect_error(Origin origin, const std::string& path, tokavg_status_t status,
                  const std::vector<std::string>& words) {
  const auto error = tokavg::caught([&] { Library::find(origin, path); });
  if (!error) return expect(false, "it was found");
  std::printf("%s: %s\n", tokavg::status_name(error->status()), error->what());
  expect(error->status() == status, std::string("not ") + tokavg::status_name(status));
  for (const std::string& word : words)
    expect(error->text().find(word) != std::string::npos, "it does not say " + word);
}

void expect_found(Origin origin, const std::string& path, const std::string& file, int version) {
  std::shared_ptr<const Library> library;
  const auto error = tokavg::caught([&] { library = Library::find(origin, path); });
  if (error) return expect(false, error->text());
  expect(library->file == file, "found " + library->file);
  expect(library->version == version, "its version is " + tokavg::nccl::version_text(library->version));
}

// A communicator needs the library that made it: none is loaded, whatever the path.
void lent_without_library(const std::string& file) {
  expect_error(Origin::kThisProcess, "", TOKAVG_ERR_CONFIG, {"config.comm", "libnccl.so.2", "link"});
  expect_error(Origin::kThisProcess, file, TOKAVG_ERR_CONFIG, {"config.comm"});
}

void not_there(const std::string& file) {
  expect_error(Origin::kAnywhere, file + ".not", TOKAVG_ERR_TRANSPORT, {"TOKAVG_NCCL_PATH", file + ".not"});
}

// LD_LIBRARY_PATH leads to a file that is no library.
void broken(const std::string& /*file*/) {
  expect_error(Origin::kAnywhere, "", TOKAVG_ERR_TRANSPORT, {"libnccl.so.2", "install", "TOKAVG_NCCL_PATH"});
}

void relative(const std::string& /*file*/) {
  expect_error(Origin::kAnywhere, "libnccl.so.2", TOKAVG_ERR_CONFIG, {"TOKAVG_NCCL_PATH", "absolute", "libnccl.so.2"});
}

void by_path(const std::string& file) { expect_found(Origin::kAnywhere, file, file, 22809); }

void too_old(const std::string& file) {
  expect_error(Origin::kAnywhere, file, TOKAVG_ERR_UNSUPPORTED, {file, "2.16.2", "2.18.1"});
}

void lacks_split(const std::string& file) {
  expect_error(Origin::kAnywhere, file, TOKAVG_ERR_TRANSPORT, {file, "ncclCommSplit"});
}

void not_nccl(const std::string& file) {
  expect_error(Origin::kAnywhere, file, TOKAVG_ERR_TRANSPORT, {file, "ncclGetVersion"});
}

// As Python and Julia load it. It has the soname that one looks for.
void loaded_locally(const std::string& file) {
  expect(dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL) != nullptr, "dlopen");
  expect_found(Origin::kThisProcess, "", file, 22809);
  expect_found(Origin::kAnywhere, "/not/needed", file, 22809);
}

void loaded_globally(const std::string& file) {
  expect(dlopen(file.c_str(), RTLD_NOW | RTLD_GLOBAL) != nullptr, "dlopen");
  expect_found(Origin::kThisProcess, "", file, 22809);
}

// A real one, where there is one, has all symbols. This needs no GPU.
void real(const std::string& /*file*/) {
  if (dlopen("libnccl.so.2", RTLD_NOW | RTLD_LOCAL) == nullptr) {
    std::printf("skipped: %s\n", dlerror());
    std::exit(77);
  }
  std::shared_ptr<const Library> library;
  const auto error = tokavg::caught([&] { library = Library::find(Origin::kThisProcess, ""); });
  if (error) return expect(false, error->text());
  std::printf("%s is NCCL %s\n", library->file.c_str(), tokavg::nccl::version_text(library->version).c_str());
}

void versions(const std::string& /*file*/) {
  expect(tokavg::nccl::version_text(22809) == "2.28.9", "2.28.9");
  expect(tokavg::nccl::version_text(21805) == "2.18.5", "2.18.5");
  expect(tokavg::nccl::version_text(2708) == "2.7.8", "2.7.8");
  expect(tokavg::nccl::version_text(23007) == "2.30.7", "2.30.7");
}

}  // namespace

int main(int argc, char** argv) {
  const std::map<std::string, std::function<void(const std::string&)>> cases = {
      {"lent_without_library", lent_without_library},
      {"not_there", not_there},
      {"broken", broken},
      {"relative", relative},
      {"by_path", by_path},
      {"too_old", too_old},
      {"lacks_split", lacks_split},
      {"not_nccl", not_nccl},
      {"loaded_locally", loaded_locally},
      {"loaded_globally", loaded_globally},
      {"real", real},
      {"versions", versions}};
  if (argc < 2 || cases.count(argv[1]) == 0) {
    std::fprintf(stderr, "usage: %s CASE [FILE]\n", argv[0]);
    return 2;
  }
  cases.at(argv[1])(argc > 2 ? argv[2] : "");
  std::printf("%s: %s\n", argv[1], failures == 0 ? "pass" : "fail");
  return failures == 0 ? 0 : 1;
}
