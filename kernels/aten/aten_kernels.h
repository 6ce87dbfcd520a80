// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// Kernels for ATen mode that call operators of torch's dispatcher. Linking the target aten_ops_lib
// registers all of these operators; they take precedence over portable kernels of the same name.
// USE_ATEN_LIB (cmake/kernel_libraries.cmake) makes a library of the operators that a yaml lists.
#pragma once

#include <stddef.h>

#include <executorch/runtime/core/error.h>
#include <executorch/runtime/core/span.h>
#include <executorch/runtime/kernel/operator_registry.h>

namespace executorch::kernels {

/// The maximum number of operators, of all calls together.
inline constexpr size_t kMaxAtenKernels = 3072;

/// Registers operators of torch's dispatcher, custom ones included. A name is "aten::add.out", or
/// "aten::relu_" without an overload. Operators that an earlier call registered are skipped.
///
/// A call goes through the dispatcher, below autograd. Outputs that it resizes keep their dim
/// order. Exceptions of ATen are logged and become Error::InvalidArgument; a wrong number of
/// arguments is Error::InvalidProgram. Warnings of ATen are logged, except those about resized
/// outputs.
/// @param priority Preferred: takes precedence over portable kernels, but not over overriding ones.
/// @retval Error::OperatorMissing torch lacks one of the operators; nothing is registered.
/// @retval Error::OutOfResources More than kMaxAtenKernels; nothing is registered.
/// @retval Others As register_kernel_table().
[[nodiscard]] runtime::Error register_aten_kernels(
    runtime::Span<const char* const> names,
    runtime::KernelPriority priority = runtime::KernelPriority::Preferred);

/// The same for every operator that writes to an argument: out variants and in-place operators.
/// Operators that are added to torch later are looked up when a program that uses them is loaded,
/// unless another kernel has the name. A program whose operator was unloaded in the meantime gets
/// Error::OperatorMissing.
[[nodiscard]] runtime::Error register_all_aten_kernels(
    runtime::KernelPriority priority = runtime::KernelPriority::Preferred);

}  // namespace executorch::kernels
