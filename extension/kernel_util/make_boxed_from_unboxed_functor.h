// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// Registering a user's own kernel by naming its typed function:
//
//   Tensor& mul3_out(KernelRuntimeContext& ctx, const Tensor& in, Tensor& out);
//   EXECUTORCH_LIBRARY(my_ops, "mul3.out", mul3_out);
//
// Its arguments are the schema's, outputs last; the context is optional. docs/architecture.md has
// the table of C++ types for schema types.
#pragma once

#include <executorch/runtime/core/error.h>
#include <executorch/runtime/kernel/boxing.h>
#include <executorch/runtime/kernel/operator_registry.h>

namespace executorch::extension {

/// A typed function as a value whose type names it; see EXECUTORCH_FN.
template <auto kFunction>
struct CompileTimeFunction final {};

/// The boxed function of EXECUTORCH_FN(function) alone: WrapUnboxedIntoFunctor<Type>::call.
template <typename Function>
struct WrapUnboxedIntoFunctor;

template <auto kFunction>
struct WrapUnboxedIntoFunctor<CompileTimeFunction<kFunction>> final {
  static void call(runtime::KernelRuntimeContext& context, runtime::Span<runtime::EValue*> stack) {
    runtime::make_kernel<kFunction>("").op_(context, stack);
  }
};

/// The boxed kernel of EXECUTORCH_FN(function); `op_name` must outlive it.
template <auto kFunction>
constexpr runtime::Kernel make_boxed_kernel(const char* op_name, CompileTimeFunction<kFunction>) {
  return runtime::make_kernel<kFunction>(op_name);
}

}  // namespace executorch::extension

/// `make_boxed_kernel("my_ops::mul3.out", EXECUTORCH_FN(mul3_out))`. A second argument, the name
/// for event tracers in ExecuTorch 1.4, is ignored: tracers take the kernel's.
#define EXECUTORCH_FN(...) ET_INTERNAL_FUNCTION(__VA_ARGS__, )
#define ET_INTERNAL_FUNCTION(function, ...) \
  ::executorch::extension::CompileTimeFunction<&function> {}

/// Registers `function` as the kernel "<ns>::<op_name>" before main() runs. A second registration
/// of the same operator is logged and ignored. The object file must be linked into the program:
/// CMake links all files of an OBJECT library, but only referenced files of a STATIC one.
#define EXECUTORCH_LIBRARY(ns, op_name, function) \
  ET_INTERNAL_LIBRARY(ns, op_name, {}, function, __COUNTER__)

/// The same for tensors of certain dtypes and dim orders only, given as the text of a KernelKey
/// such as "v1/6;0,1|6;0,1" (runtime/kernel/operator_registry.h). For these tensors it precedes the
/// operator's other kernels.
#define EXECUTORCH_PARTIAL_LIBRARY(ns, op_name, key, function) \
  ET_INTERNAL_LIBRARY(ns, op_name, key, function, __COUNTER__)

#define ET_INTERNAL_LIBRARY(ns, op_name, key, function, id) \
  ET_INTERNAL_LIBRARY_NAMED(ns, op_name, key, function, id)
#define ET_INTERNAL_LIBRARY_NAMED(ns, op_name, key, function, id)                     \
  [[maybe_unused]] static const ::executorch::runtime::Error et_library_##ns##_##id = \
      ::executorch::ET_RUNTIME_NAMESPACE::register_kernel(                            \
          ::executorch::ET_RUNTIME_NAMESPACE::make_kernel<function>(#ns "::" op_name, key))

// Documented names of the same things.
namespace torch::executor {
using ::executorch::extension::make_boxed_kernel;
using ::executorch::extension::WrapUnboxedIntoFunctor;
}  // namespace torch::executor
