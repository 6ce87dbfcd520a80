// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// RAII selection of a pool for the calling thread.
#pragma once

#include <executorch/extension/threadpool/threadpool.h>

namespace executorch::extension::threadpool {

/// While an object of this type exists in a thread, everything runs on that thread.
struct NoThreadPoolGuard {
  static bool is_enabled();
  static void set_enabled(bool enabled);

  NoThreadPoolGuard() : was_enabled_(is_enabled()) { set_enabled(true); }
  ~NoThreadPoolGuard() { set_enabled(was_enabled_); }
  NoThreadPoolGuard(const NoThreadPoolGuard&) = delete;
  NoThreadPoolGuard& operator=(const NoThreadPoolGuard&) = delete;

 private:
  const bool was_enabled_;
};

/// The calling thread uses this pool while the object lives. A method's pool is chosen by such an
/// object around Program::load_method() (its delegates keep the pool's workers) and around
/// Method::execute() (for its kernels).
class ThreadPoolScope final {
 public:
  /// `pool` must outlive the object; null keeps the current selection.
  explicit ThreadPoolScope(ThreadPool* pool);
  ~ThreadPoolScope();
  ThreadPoolScope(const ThreadPoolScope&) = delete;
  ThreadPoolScope& operator=(const ThreadPoolScope&) = delete;

 private:
  ThreadPool* const outer_;
};

}  // namespace executorch::extension::threadpool

// Documented names of the same things.
// Within namespace torch, executorch::… still finds what ::executorch has.
namespace torch::executorch {
using namespace ::executorch;  // NOLINT: the purpose of it
}  // namespace torch::executorch
namespace torch::executorch::threadpool {
using ::executorch::extension::threadpool::NoThreadPoolGuard;
}  // namespace torch::executorch::threadpool
