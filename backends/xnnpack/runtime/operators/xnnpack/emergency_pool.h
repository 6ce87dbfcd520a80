// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// Emergency pool for allocation failures: XNNPACK does not check every result of its allocator.
#pragma once

#include <stddef.h>

namespace executorch::backends::xnnpack {

/// Allocates from the process's pool, so that XNNPACK can return after an allocation failure; null
/// if the pool is exhausted. Afterwards has_run_out() (library.h) is true.
/// @param alignment A power of two.
void* take_from_pool(size_t size, size_t alignment);
bool is_in_pool(const void* memory);
/// The requested size of `memory`, which must be in the pool.
size_t size_in_pool(const void* memory);
/// Frees `memory`, which must be in the pool.
void return_to_pool(const void* memory);

/// Records an allocation failure outside the pool.
void note_shortage();

}  // namespace executorch::backends::xnnpack
