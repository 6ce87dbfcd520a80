// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// Assignment of a pool's threads to processors.
#pragma once

#include <stddef.h>

namespace executorch::extension {

/// Binds the calling thread, number `index` of `count`, to its own share of the allowed processors.
/// Otherwise schedulers leave two threads that wake together on one processor for milliseconds
/// while another is idle. Does nothing with fewer processors than threads, and outside Linux.
void bind_to_processor_share(size_t index, size_t count);

}  // namespace executorch::extension
