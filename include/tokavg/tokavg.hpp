// SPDX-License-Identifier: Apache-2.0
/**
 * @file tokavg.hpp
 * @brief tokavg for C++20: header only, over the C interface; nothing of C++ crosses into the library.
 *
 *     tokavg::Context context(tokavg::mpi(MPI_COMM_WORLD), {.gradient = tokavg::Gradient::mean});
 *     for (const auto& y : labels) context.count(y);
 *     const tokavg::Ticket step = context.reduce();        // returns at once
 *     for (std::size_t m = 0; m < labels.size(); ++m) {
 *       forward(m, logits);                                // the counts are summed meanwhile
 *       context.cross_entropy(step, {.logits = logits, .labels = labels[m], .gradient = logits});
 *       backward(m);
 *     }
 *     context.finalize();
 *
 * - **Errors**: every function that can fail throws tokavg::Error, or, given a std::error_code as its last argument,
 * sets that and throws nothing. tokavg::Error is a std::system_error with the library's text. TOKAVG_EMPTY and
 * TOKAVG_PENDING are no errors but values of Step::state.
 * - **Life**: a Context is movable and belongs to one thread at a time. Its destructor frees it on this rank alone and
 *   never blocks; Context::finalize() is the collective end.
 * - **Views** hold pointers: what they point to is read, or written, before a call returns (device memory: in the order
 * of the stream).
 * - What this header does not wrap is reached through the C structs, which Context's functions take too.
 */
#ifndef TOKAVG_HPP
#define TOKAVG_HPP

#include "cpp/context.hpp"

#endif
