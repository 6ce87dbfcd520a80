// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// The threads of a pool: our own (worker_pool.h), unless a shared XNNPACK brings a pthreadpool.
#pragma once

#include <stddef.h>

#include <memory>

#include <executorch/extension/threadpool/threadpool.h>

namespace executorch::extension::threadpool {

/// Starts workers for a pool of `count` threads (at least 2) including the caller; null if the
/// system cannot create them.
std::shared_ptr<pthreadpool> start_workers(size_t count);

/// Threads of workers and the caller together.
size_t count_threads(pthreadpool_t workers);

/// Calls fn(i) for each i below `range` on the workers and the calling thread.
void run_on_workers(pthreadpool_t workers, runtime::FunctionRef<void(size_t)> fn, size_t range);

}  // namespace executorch::extension::threadpool
