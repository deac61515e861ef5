// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace tokavg::cuda {

// atomicAdd knows this type and not std::uint64_t, which is another one of the same size.
using Word = unsigned long long;

// What device work adds to one term, in device memory. Kernels add to it with integer atomics alone, so that no order
// shows. All zero is nothing; it may be zeroed with cudaMemsetAsync.
struct TermCell {
  Word tokens;       // scored
  Word weighted;     // those that had a weight given
  Word bad_weights;  // scored weights that are not finite, too large, or negative where weights divide
  Word bad_labels;   // scored labels outside the vocabulary (cross entropy)
  Word weights[4];   // sum of the weights given: limbs of radix 2^32 in units of 2^-72 (base/fixed_point.hpp)
  Word loss_tokens;  // tokens in the losses
  Word unaudited;    // calls that did not say how many
  Word nonfinite;    // losses that were NaN, infinite or 2^22 and more
  Word losses[4];    // sum of the other losses: limbs
};
// Each addition to a limb is below 2^32 (the top limb: within [-2^31, 2^31), two's complement), so 2^31 of them fit.

}  // namespace tokavg::cuda
