// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// Threads for kernels. The core has none: a thread pool that is linked offers its own.
#pragma once

#include <stddef.h>

#include <executorch/runtime/core/function_ref.h>

namespace executorch::runtime {

/// Interface to a thread pool. Both functions run on the kernel's calling thread, which may have
/// selected a pool.
struct Parallel {
  /// The number of threads, with the calling one; at least 1.
  size_t (*thread_count)();
  /// Calls task(i) for each i below `count`, in any order and at the same time; returns when all
  /// calls have.
  void (*run)(FunctionRef<void(size_t)> task, size_t count);
};

/// Offers threads to all kernels of the process; null withdraws them. `parallel` must live as long
/// as kernels run.
void set_parallel(const Parallel* parallel);

/// Returns the number of parts, each with `min_part` units of work or more, into which a kernel may
/// divide `work` units; 1 without threads. The kernel chooses the unit.
size_t parallel_parts(size_t work, size_t min_part);

/// Calls task(i) for each i below `count`, on the threads that are offered, if any. Tasks must not
/// use the kernel's context.
void run_parallel(FunctionRef<void(size_t)> task, size_t count);

}  // namespace executorch::runtime
