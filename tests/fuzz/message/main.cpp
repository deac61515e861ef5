// SPDX-License-Identifier: Apache-2.0
#include "message/parts.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  fuzz::Reader in(data, size);
  switch (in.below(4)) {
    case 0: fuzz::decode_any_words(in); break;
    case 1: fuzz::conclude_any_words(in); break;
    case 2: fuzz::sum_real_messages(in); break;
    default: fuzz::receive_in_a_context(in); break;
  }
  return 0;
}
