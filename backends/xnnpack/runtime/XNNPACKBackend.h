// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// The backend's name and its options, for runtime::set_option() (all programs that are loaded from
// then on) and LoadBackendOptionsMap (one method).
#pragma once

namespace executorch::backends::xnnpack {

inline constexpr char xnnpack_backend_key[] = "XnnpackBackend";

/// Int: a WorkspaceSharingMode. Default: PerModel.
inline constexpr char workspace_sharing_mode_option_key[] = "workspace_sharing_mode";

/// Bool: delegates of the process share equal packed weights. Default: true.
inline constexpr char weight_cache_option_key[] = "weight_cache_enabled";

/// Text: the path of a file with packed weights, which the next start maps instead of packing.
/// It is written when a method that was loaded with it first runs, or is destroyed. Use one file
/// for each program (or set of programs used together). A file that is damaged, writable by
/// others, or of another machine, version or user is ignored and replaced. The key that signs it
/// is in $XDG_CACHE_HOME/executorch (else $HOME/.cache/executorch). Default: empty, no file.
inline constexpr char packed_cache_path_option_key[] = "packed_cache_path";

/// Text: the precision to which matrix products and convolutions of float32 may round their
/// factors, for speed and smaller packed weights: "fp32" (no rounding) or "bf16". Sums, results and
/// all other operators stay float32. Default: empty, the precision of the export, else "fp32".
inline constexpr char compute_precision_option_key[] = "compute_precision";

/// Int, or text of digits for larger numbers: the limit of a delegate's scratch memory in bytes,
/// 0 for no limit. Default: three quarters of the machine's memory, or of a container's limit,
/// which all delegates together have too, unless this option is larger. A delegate that exceeds it
/// gives MemoryAllocationFailed when its method is loaded, which plans for the largest inputs, or
/// when it runs.
inline constexpr char max_workspace_bytes_option_key[] = "max_workspace_bytes";

/// Delegates that share scratch memory, and therefore run one at a time.
enum class WorkspaceSharingMode {
  /// None: each delegate has its own scratch memory.
  Disabled = 0,
  /// The delegates of a program's methods that were loaded for the same thread pool, which runs
  /// them one at a time anyway. Methods with different pools can run at the same time.
  PerModel = 1,
  /// All delegates of the process.
  Global = 2,
  /// The number of modes.
  Count,
};

}  // namespace executorch::backends::xnnpack
