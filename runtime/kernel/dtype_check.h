// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// Checks for kernels of a library that was built for some dtypes only: loading refuses a program
// with tensors of another dtype, so such a kernel never meets one. Code generation registers the
// kernels of a dtype-selective build with these checks.
#pragma once

#include <executorch/runtime/kernel/boxing.h>

#include <optional>

namespace executorch {
namespace ET_RUNTIME_NAMESPACE {
namespace internal {

/// Returns NotSupported, and logs argument and dtype, for a tensor whose dtype is not in the set
/// (bit i: dtype number i). The arguments must have passed their signature's check.
Error check_dtypes(Span<EValue* const> args, uint64_t dtypes);
/// The same for one tensor, which is argument number `argument`.
Error check_dtype(const executorch::aten::Tensor& tensor, uint64_t dtypes, size_t argument);

/// The same for each kind of argument of a typed function.
inline Error check_dtype_of(const executorch::aten::Tensor& tensor, uint64_t dtypes, size_t i) {
  return check_dtype(tensor, dtypes, i);
}
template <class T>
Error check_dtype_of(const std::optional<T>& tensor, uint64_t dtypes, size_t i) {
  return tensor.has_value() ? check_dtype_of(*tensor, dtypes, i) : Error::Ok;
}
template <class T>
Error check_dtype_of(executorch::aten::ArrayRef<T> tensors, uint64_t dtypes, size_t i) {
  for (const T& tensor : tensors) {
    ET_CHECK_OK_OR_RETURN_ERROR(check_dtype_of(tensor, dtypes, i));
  }
  return Error::Ok;
}

template <ArgCheck kCheck, uint64_t kDtypes>
Error check_signature_and_dtypes(Span<EValue* const> args) {
  const Error error = kCheck(args);
  return error == Error::Ok ? check_dtypes(args, kDtypes) : error;
}

}  // namespace internal

/// For the typed entry points of such a library: returns true if it serves the dtypes of all
/// tensors among the operator's arguments; else the context fails, after a message.
template <uint64_t kDtypes, class... Tensors>
bool serves_dtypes(KernelRuntimeContext& ctx, const Tensors&... tensors) {
  Error error = Error::Ok;
  size_t argument = 0;
  const auto check = [&](const auto& tensor) {
    if (error == Error::Ok) error = internal::check_dtype_of(tensor, kDtypes, argument++);
  };
  (check(tensors), ...);
  if (error != Error::Ok) ctx.fail(error);
  return error == Error::Ok;
}

/// Same as make_kernel(), only for tensors of these dtypes (bit i: the dtype with value i).
template <auto kFunction, uint64_t kDtypes>
constexpr Kernel make_kernel_for_dtypes(const char* name, KernelKey key = {}) {
  Kernel kernel = make_kernel<kFunction>(name, key);
  kernel.check_ =
      &internal::check_signature_and_dtypes<internal::Signature<decltype(kFunction)>::kCheck,
                                            kDtypes>;
  return kernel;
}

}  // namespace ET_RUNTIME_NAMESPACE
}  // namespace executorch
