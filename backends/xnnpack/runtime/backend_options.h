// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include <executorch/backends/xnnpack/runtime/XNNPACKBackend.h>
#include <executorch/extension/memory_allocator/physical_memory.h>
#include <executorch/kernels/engine/precision.h>
#include <executorch/runtime/backend/options.h>
#include <executorch/runtime/core/result.h>

namespace executorch::backends::xnnpack {

// Defaults of the build: EXECUTORCH_XNNPACK_SHARED_WORKSPACE and
// EXECUTORCH_XNNPACK_ENABLE_WEIGHT_CACHE.
#if defined(EXECUTORCH_XNNPACK_NO_SHARED_WORKSPACE)
inline constexpr WorkspaceSharingMode kDefaultSharing = WorkspaceSharingMode::Disabled;
#else
inline constexpr WorkspaceSharingMode kDefaultSharing = WorkspaceSharingMode::PerModel;
#endif
#if defined(EXECUTORCH_XNNPACK_NO_WEIGHT_CACHE)
inline constexpr bool kCachesWeightsByDefault = false;
#else
inline constexpr bool kCachesWeightsByDefault = true;
#endif

/// Values of the options (XNNPACKBackend.h).
struct Settings {
  WorkspaceSharingMode sharing = kDefaultSharing;
  bool caches_weights = kCachesWeightsByDefault;
  std::string cache_path;
  /// Unset: the precision of the export.
  std::optional<kernels::engine::Precision> precision;
  /// 0: no limit. Unset: three quarters of the memory that the process may use.
  std::optional<size_t> max_workspace_bytes;

  size_t workspace_limit() const {
    return max_workspace_bytes ? *max_workspace_bytes : extension::three_quarters_of_memory();
  }

  /// Sets one option.
  /// @retval Error::InvalidArgument A value of another type or out of range.
  /// @retval Error::NotFound Unknown option.
  runtime::Error set(const runtime::BackendOption& option);
  /// Reads one option.
  /// @retval Error::NotFound Unknown option.
  runtime::Error get(runtime::BackendOption& option) const;
};

/// The precision called "fp32" or "bf16".
/// @retval Error::InvalidArgument Any other name; the log says `where` it was found.
runtime::Result<kernels::engine::Precision> precision_named(std::string_view name,
                                                            const char* where);

/// The process's settings, by value: other threads may change them.
Settings current_settings();

/// Sets all of the options, or none if one is wrong.
runtime::Error change_settings(runtime::Span<runtime::BackendOption> options);

/// The process's settings with the changes of a program's options.
runtime::Result<Settings> settings_with(runtime::Span<const runtime::BackendOption> options);

}  // namespace executorch::backends::xnnpack
