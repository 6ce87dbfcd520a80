// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
#include <executorch/backends/xnnpack/runtime/workspace.h>

#include <mutex>
#include <unordered_map>

#include <executorch/backends/xnnpack/runtime/status.h>
#include <executorch/runtime/platform/log.h>

namespace executorch::backends::xnnpack {
namespace {

struct Workspaces {
  std::mutex mutex;
  std::unordered_map<const void*, std::weak_ptr<xnn_workspace>> by_owner;
};

Workspaces& workspaces() {
  // Never destroyed: delegates may end after static objects do.
  static auto* all = new Workspaces();
  return *all;
}

}  // namespace

runtime::Result<Workspace> workspace_of(const void* owner) {
  Workspaces& all = workspaces();
  const std::lock_guard<std::mutex> lock(all.mutex);
  for (auto it = all.by_owner.begin(); it != all.by_owner.end();) {
    it = it->second.expired() ? all.by_owner.erase(it) : std::next(it);
  }
  std::weak_ptr<xnn_workspace>& known = all.by_owner[owner];
  if (Workspace shared = known.lock()) {
    return shared;
  }
  xnn_workspace_t created = nullptr;
  const xnn_status status = xnn_create_workspace(&created);
  ET_CHECK_OR_RETURN_ERROR(status == xnn_status_success, MemoryAllocationFailed,
                           "xnnpack: no workspace: %s", status_text(status));
  Workspace workspace(created, WorkspaceDeleter());
  known = workspace;
  return workspace;
}

}  // namespace executorch::backends::xnnpack
