// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// The runtime's names that every kernel of this library uses.
#pragma once

#include <executorch/runtime/core/error.h>
#include <executorch/runtime/core/exec_aten/exec_aten.h>
#include <executorch/runtime/core/exec_aten/util/tensor_checks.h>
#include <executorch/runtime/kernel/kernel_runtime_context.h>

#include <cstdint>
#include <optional>
#include <string_view>
#include <tuple>

namespace executorch::kernels {

using ::executorch::aten::ArrayRef;
using ::executorch::aten::BFloat16;
using ::executorch::aten::Half;
using ::executorch::aten::Layout;
using ::executorch::aten::MemoryFormat;
using ::executorch::aten::Scalar;
using ::executorch::aten::ScalarType;
using ::executorch::aten::SizesType;
using ::executorch::aten::Tensor;
using ::executorch::ET_RUNTIME_NAMESPACE::KernelRuntimeContext;
using ::executorch::runtime::Error;

/// Highest rank of a tensor that the runtime accepts.
inline constexpr int kMaxRank = 16;

/// True if the target lacks an operating system: one thread, and RAM is the scarcest resource.
#if defined(__unix__) || defined(__APPLE__) || defined(_WIN32)
inline constexpr bool is_bare_metal = false;
#else
inline constexpr bool is_bare_metal = true;
#endif

}  // namespace executorch::kernels
