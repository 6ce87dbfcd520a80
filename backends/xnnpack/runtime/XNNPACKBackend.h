// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// The backend's name and its options, for runtime::set_option() (all programs that are loaded from
// then on) and LoadBackendOptionsMap (one method).
#pragma once

namespace executorch::backends::xnnpack {

inline constexpr char xnnpack_backend_key[] = "XnnpackBackend";

/// Int: a WorkspaceSharingMode; PerModel if it is not set.
inline constexpr char workspace_sharing_mode_option_key[] = "workspace_sharing_mode";

/// Bool: whether packed weights exist once in the process, whoever uses them; true if it is not
/// set.
inline constexpr char weight_cache_option_key[] = "weight_cache_enabled";

/// Text: a file that keeps packed weights, so that the next start maps them instead of packing.
/// It is written when a method that was loaded with it first runs, or ends. One file for each
/// program (or set of programs used together). What is damaged, of another machine, version or
/// user, or writable by others is ignored and replaced: the file is signed with a key that lies in
/// $XDG_CACHE_HOME/executorch (else $HOME/.cache/executorch). Empty, which is the default: none.
inline constexpr char packed_cache_path_option_key[] = "packed_cache_path";

/// Text: the precision that products of float32 values may round their factors to, for speed and
/// smaller packed weights: "fp32" (no rounding) or "bf16". Sums, results and all other operators
/// stay float32. Empty (default): the precision that the program was exported with, else "fp32".
inline constexpr char compute_precision_option_key[] = "compute_precision";

/// Int, or text of digits for what an int does not hold: the most bytes of scratch memory that a
/// delegate may want, 0: no limit; three quarters of the machine's memory if it is not set. A
/// delegate that wants more is MemoryAllocationFailed: when its method is loaded, which plans for
/// the largest inputs, or when it runs.
inline constexpr char max_workspace_bytes_option_key[] = "max_workspace_bytes";

/// Who shares scratch memory, and so runs one delegate at a time.
enum class WorkspaceSharingMode {
  /// Nobody: each delegate has its own.
  Disabled = 0,
  /// The delegates of those methods of a program that were loaded for one thread pool, where they
  /// take turns anyway. Methods with pools of their own run at once.
  PerModel = 1,
  /// All delegates of the process.
  Global = 2,
  /// No mode: how many there are.
  Count,
};

}  // namespace executorch::backends::xnnpack
