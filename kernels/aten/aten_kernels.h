// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// ATen's own operators as kernels, in ATen mode: whatever torch's dispatcher has runs without a
// kernel of ours. Linking the target aten_ops_lib registers all of them, found before portable ones
// of the same name; a library of the operators that a yaml lists is made with USE_ATEN_LIB
// (cmake/kernel_libraries.cmake).
#pragma once

#include <stddef.h>

#include <executorch/runtime/core/error.h>
#include <executorch/runtime/core/span.h>
#include <executorch/runtime/kernel/operator_registry.h>

namespace executorch::kernels {

/// How many operators there can be, of all calls.
inline constexpr size_t kMostAtenKernels = 3072;

/// Registers operators of torch's dispatcher (a user's own too), each as "aten::add.out" (without
/// an overload: "aten::relu_"). What an earlier call has registered is left out.
///
/// A call goes through the dispatcher, below autograd. Outputs that it resizes keep their dim
/// order; what ATen throws is logged and becomes Error::InvalidArgument, a wrong number of
/// arguments Error::InvalidProgram. What ATen warns of is logged, except that an output is resized.
/// @param priority Preferred: found before a portable kernel of the name, behind overriding ones.
/// @retval Error::OperatorMissing torch has no operator of a name; nothing is registered.
/// @retval Error::OutOfResources There are more than kMostAtenKernels; nothing is registered.
/// @retval Others As register_kernel_table().
[[nodiscard]] runtime::Error register_aten_kernels(
    runtime::Span<const char* const> names,
    runtime::KernelPriority priority = runtime::KernelPriority::Preferred);

/// The same for every operator that writes to an argument: out variants and operators in place.
/// Those that torch gets later are found when a program that is loaded names them, as long as there
/// is no other kernel of the name. A program that calls an operator whose library was unloaded in
/// the meantime gets Error::OperatorMissing.
[[nodiscard]] runtime::Error register_all_aten_kernels(
    runtime::KernelPriority priority = runtime::KernelPriority::Preferred);

}  // namespace executorch::kernels
