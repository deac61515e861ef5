// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <memory>
#include <vector>

namespace fuzz {

enum class Use { kInput, kOutput };

// What the arguments of one call point to. Each block has exactly the bytes that the library may touch, so that the
// sanitizer sees one too many on either side; and what may not change is compared afterwards.
class Memory {
 public:
  std::byte* block(std::size_t size, Use use);

  void remember();
  // Inputs are never written, outputs only where the call succeeds.
  void check(bool failed) const;

 private:
  struct Block {
    std::unique_ptr<std::byte[]> data;
    std::size_t size = 0;
    Use use = Use::kInput;
    std::vector<std::byte> before;
  };
  std::vector<Block> blocks_;
};

}  // namespace fuzz
