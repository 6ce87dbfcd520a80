// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// Memory for when there is none: XNNPACK does not look at every answer of its allocator.
#pragma once

#include <stddef.h>

namespace executorch::backends::xnnpack {

/// `size` bytes at a multiple of `alignment` (a power of two) of a reserve of the process, small
/// but enough for XNNPACK to come to an end; null if that is used up too. has_run_out() (library.h)
/// is true then.
void* take_from_reserve(size_t size, size_t alignment);
bool is_in_reserve(const void* memory);
/// The bytes that were asked for at `memory`, which is in the reserve.
size_t size_in_reserve(const void* memory);
/// Gives back `memory`, which is in the reserve.
void return_to_reserve(const void* memory);

/// For memory that was missing elsewhere.
void note_shortage();

}  // namespace executorch::backends::xnnpack
