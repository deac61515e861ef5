// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "calls/arguments.hpp"
#include "calls/world.hpp"
#include "expect.hpp"

// Each makes one call, or a few, with arguments from the reader, and checks what came of it.
namespace fuzz {

// A context that exists, or a handle that is none: NULL, freed, of another kind, invented.
struct Handle {
  tokavg_context_t* ctx = nullptr;
  Rank* rank = nullptr;  // nullptr: no live context
};

// What holds after every call: a status that is known, an error with a text, what is dead stays so.
// `changes`: it is one of those that return the status of a context that has failed before anything else.
void check_status(const Handle& handle, tokavg_status_t status, bool changes);
// The text of this thread, where there is no context.
void check_thread_text(tokavg_status_t status);

// life.cpp
void open_alone(Reader& in, World& world);
void open_two_threads(Reader& in, World& world);
void finalize(Reader& in, World& world, const Handle& handle);
void free_context(World& world, const Handle& handle);
void abort_context(const Handle& handle);
void make_and_free_groups(Reader& in, World& world);
void end(World& world);

// step.cpp
void count(Reader& in, const Handle& handle);
void count_add(Reader& in, const Handle& handle);
void discard(const Handle& handle);
void reduce(Reader& in, const Handle& handle);
void flush(const Handle& handle);
void progress(const Handle& handle);

// result.cpp
tokavg_ticket_t a_ticket(Reader& in, const Handle& handle);
void wait(Reader& in, World& world, const Handle& handle);
void factor(Reader& in, const Handle& handle);
void factor_device(Reader& in, const Handle& handle);
void release(Reader& in, const Handle& handle);
void read_texts(Reader& in, World& world, const Handle& handle);
// Reduces on all ranks of the context and looks at what came of it.
void whole_step(World& world, const Handle& handle);

// loss.cpp
void loss(Reader& in, const Handle& handle);
void cross_entropy(Reader& in, const Handle& handle);
void scale(Reader& in, const Handle& handle);

}  // namespace fuzz
