// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
#pragma once

#include <stddef.h>

#include <memory>
#include <mutex>

#include <executorch/backends/xnnpack/runtime/XNNPACKBackend.h>
#include <executorch/backends/xnnpack/runtime/delegate_memory.h>
#include <executorch/runtime/core/error.h>

namespace executorch::backends::xnnpack {

/// Scratch memory of delegates that run one at a time. Users hold the lock.
class Workspace final {
 public:
  Workspace() = default;
  Workspace(const Workspace&) = delete;
  Workspace& operator=(const Workspace&) = delete;

  std::unique_lock<std::mutex> lock() { return std::unique_lock<std::mutex>(mutex_); }

  /// Grows the memory to at least `bytes`, which may move it. Needs the lock.
  /// @param limit_of_all Maximum number of bytes of all delegates.
  /// @retval Error::MemoryAllocationFailed
  runtime::Error reserve(size_t bytes, size_t limit_of_all);
  /// Aligned to 64. Needs the lock.
  char* memory() const { return memory_.data(); }
  /// Takes the lock.
  size_t size();

 private:
  DelegateBlock memory_;
  std::mutex mutex_;
};

/// The users that share a workspace in mode PerModel.
struct WorkspaceUser {
  const void* program;
  const void* thread_pool;
};

/// The workspace for a delegate, which is freed with its last delegate.
std::shared_ptr<Workspace> workspace_for(WorkspaceSharingMode mode, const WorkspaceUser& user);

}  // namespace executorch::backends::xnnpack
