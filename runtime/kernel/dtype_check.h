// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// Kernels of a library that was built for some dtypes only: a program with tensors of another dtype
// is refused when it is loaded, before such a kernel could meet it. Code generation registers the
// kernels of a dtype-selective build so.
#pragma once

#include <executorch/runtime/kernel/boxing.h>

namespace executorch {
namespace ET_RUNTIME_NAMESPACE {
namespace internal {

/// NotSupported, after a message with argument and dtype, for a tensor whose dtype is not of the
/// set (bit i: the dtype of number i). The arguments have passed their signature's check.
Error check_dtypes(Span<EValue* const> args, uint64_t dtypes);

template <ArgCheck kCheck, uint64_t kDtypes>
Error check_signature_and_dtypes(Span<EValue* const> args) {
  const Error error = kCheck(args);
  return error == Error::Ok ? check_dtypes(args, kDtypes) : error;
}

}  // namespace internal

/// As make_kernel(), for tensors of the dtypes alone (bit i: the dtype of number i).
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
