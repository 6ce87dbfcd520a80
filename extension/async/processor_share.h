// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// Which processors the threads of a pool run on.
#pragma once

#include <stddef.h>

namespace executorch::extension {

/// Keeps the calling thread, the one of `index` among `count`, to a share of its own of the
/// processors that it may use. Schedulers leave two threads that wake together on one processor for
/// milliseconds, though another is idle: whoever woke them was busy there. Where there are fewer
/// processors than threads, or the system is not Linux, nothing is changed.
void keep_to_share_of_processors(size_t index, size_t count);

}  // namespace executorch::extension
