// SPDX-License-Identifier: Apache-2.0
// Stands in for libFuzzer where the compiler has none: runs a fuzzer once on each file of the folders it is given.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <vector>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

namespace {

namespace fs = std::filesystem;

std::vector<fs::path> files_of(const fs::path& place) {
  std::vector<fs::path> files;
  if (!fs::is_directory(place)) return {place};
  for (const fs::directory_entry& entry : fs::directory_iterator(place)) files.push_back(entry.path());
  std::sort(files.begin(), files.end());
  return files;
}

std::vector<std::uint8_t> bytes_of(const fs::path& file) {
  std::ifstream in(file, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
}

}  // namespace

int main(int argc, char** argv) {
  std::size_t n_files = 0;
  for (int i = 1; i < argc; ++i) {
    for (const fs::path& file : files_of(argv[i])) {
      const std::vector<std::uint8_t> bytes = bytes_of(file);
      // Said before it runs: the last line names the one that does not come back.
      std::printf("%s: %zu bytes\n", file.filename().c_str(), bytes.size());
      std::fflush(stdout);
      LLVMFuzzerTestOneInput(bytes.data(), bytes.size());
      ++n_files;
    }
  }
  std::printf("replayed %zu inputs\n", n_files);
  return n_files == 0 ? 1 : 0;
}
