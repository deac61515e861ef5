// SPDX-License-Identifier: Apache-2.0
#include "calls/memory.hpp"

#include <cstring>

#include "expect.hpp"

namespace fuzz {

std::byte* Memory::block(std::size_t size, Use use) {
  Block block{std::make_unique<std::byte[]>(size), size, use, {}};
  std::memset(block.data.get(), 0xa5, size);
  std::byte* data = block.data.get();
  blocks_.push_back(std::move(block));
  return data;
}

void Memory::remember() {
  for (Block& block : blocks_) block.before.assign(block.data.get(), block.data.get() + block.size);
}

void Memory::check(bool failed) const {
  for (const Block& block : blocks_) {
    if (block.use == Use::kOutput && !failed) continue;
    const bool same = block.size == 0 || std::memcmp(block.data.get(), block.before.data(), block.size) == 0;
    EXPECT(same, "an %s of %zu bytes was written", block.use == Use::kOutput ? "output of a failed call" : "input",
           block.size);
  }
}

}  // namespace fuzz
