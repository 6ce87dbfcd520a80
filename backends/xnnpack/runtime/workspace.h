// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
#pragma once

#include <stddef.h>

#include <memory>
#include <mutex>

#include <xnnpack.h>

#include <executorch/backends/xnnpack/runtime/XNNPACKBackend.h>
#include <executorch/runtime/core/result.h>

namespace executorch::backends::xnnpack {

/// Scratch memory of delegates that run one at a time. XNNPACK lets it grow, and moves all runtimes
/// that use it when it does: whatever is done with one of them, its end too, needs the lock.
class Workspace final {
 public:
  /// @retval Error::MemoryAllocationFailed
  static runtime::Result<std::shared_ptr<Workspace>> create();
  ~Workspace() { xnn_release_workspace(workspace_); }
  Workspace(const Workspace&) = delete;
  Workspace& operator=(const Workspace&) = delete;

  std::unique_lock<std::mutex> lock() { return std::unique_lock<std::mutex>(mutex_); }
  xnn_workspace_t get() const { return workspace_; }

  /// Plans a runtime's memory for the sizes of inputs that it has been given. Needs the lock.
  xnn_status reshape(xnn_runtime_t runtime);
  /// Makes the memory at least so large; it may move. Needs the lock.
  /// @retval Error::MemoryAllocationFailed
  runtime::Error reserve(size_t bytes);
  /// Aligned to 64. Needs the lock.
  char* memory() const { return memory_.get(); }
  /// The bytes that it has, by what has been planned so far. Takes the lock.
  size_t size();

 private:
  explicit Workspace(xnn_workspace_t workspace) : workspace_(workspace) {}

  struct Free {
    void operator()(char* memory) const;
  };

  xnn_workspace_t workspace_;
  std::unique_ptr<char, Free> memory_;
  std::mutex mutex_;
  size_t size_ = 0;
};

/// Who shares a workspace in mode PerModel.
struct WorkspaceUser {
  const void* program;
  const void* thread_pool;
};

/// The workspace for a delegate; it goes with the last delegate that has it.
/// @retval Error::MemoryAllocationFailed
runtime::Result<std::shared_ptr<Workspace>> workspace_for(WorkspaceSharingMode mode,
                                                          const WorkspaceUser& user);

}  // namespace executorch::backends::xnnpack
