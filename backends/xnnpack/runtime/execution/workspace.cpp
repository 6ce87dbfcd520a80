// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
#include <executorch/backends/xnnpack/runtime/execution/workspace.h>

#include <map>
#include <utility>

#include <executorch/runtime/platform/log.h>

namespace executorch::backends::xnnpack {

using runtime::Error;

namespace {

struct Workspaces {
  std::mutex mutex;
  std::map<std::pair<const void*, const void*>, std::weak_ptr<Workspace>> by_user;
};

Workspaces& workspaces() {
  // Never destroyed: delegates may end after static objects do.
  static auto* all = new Workspaces();
  return *all;
}

}  // namespace

Error Workspace::reserve(size_t bytes, size_t limit_of_all) {
  ET_CHECK_OR_RETURN_ERROR(
      memory_.grow(bytes, limit_of_all), MemoryAllocationFailed,
      "xnnpack: no memory for %zu bytes of intermediate results; all delegates have %zu bytes, "
      "expected at most %zu",
      bytes, delegate_bytes().taken(), limit_of_all);
  return Error::Ok;
}

size_t Workspace::size() {
  const std::unique_lock<std::mutex> guard = lock();
  return memory_.size();
}

std::shared_ptr<Workspace> workspace_for(WorkspaceSharingMode mode, const WorkspaceUser& user) {
  if (mode == WorkspaceSharingMode::Disabled) {
    return std::make_shared<Workspace>();
  }
  const bool is_global = mode == WorkspaceSharingMode::Global;
  Workspaces& all = workspaces();
  const std::lock_guard<std::mutex> lock(all.mutex);
  for (auto it = all.by_user.begin(); it != all.by_user.end();) {
    it = it->second.expired() ? all.by_user.erase(it) : std::next(it);
  }
  std::weak_ptr<Workspace>& known =
      all.by_user[is_global ? std::make_pair(nullptr, nullptr)
                            : std::make_pair(user.program, user.thread_pool)];
  std::shared_ptr<Workspace> workspace = known.lock();
  if (workspace == nullptr) {
    workspace = std::make_shared<Workspace>();
    known = workspace;
  }
  return workspace;
}

}  // namespace executorch::backends::xnnpack
