// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
#include "test_kernels.h"

#include <executorch/runtime/core/exec_aten/util/tensor_checks.h>
#include <executorch/runtime/kernel/boxing.h>

namespace executorch::testing {

using aten::ArrayRef;
using aten::SizesType;
using aten::Tensor;
using runtime::Error;
using runtime::EValue;
using runtime::Kernel;
using runtime::KernelRuntimeContext;
using runtime::make_kernel;
using runtime::Span;

bool fail_switch = true;

namespace {

Tensor& add_out(KernelRuntimeContext& context, const Tensor& a, const Tensor& b, Tensor& out) {
  ET_KERNEL_CHECK(context, a.numel() == b.numel(), InvalidArgument, out);
  ET_KERNEL_CHECK(context, runtime::resize_tensor(out, a.sizes()) == Error::Ok, InvalidArgument,
                  out);
  for (ssize_t i = 0; i < out.numel(); ++i) {
    out.mutable_data_ptr<float>()[i] = a.const_data_ptr<float>()[i] + b.const_data_ptr<float>()[i];
  }
  return out;
}

Tensor& scale_out(KernelRuntimeContext& context, const Tensor& a, double factor, Tensor& out) {
  ET_KERNEL_CHECK(context, runtime::resize_tensor(out, a.sizes()) == Error::Ok, InvalidArgument,
                  out);
  for (ssize_t i = 0; i < out.numel(); ++i) {
    out.mutable_data_ptr<float>()[i] = a.const_data_ptr<float>()[i] * static_cast<float>(factor);
  }
  return out;
}

Tensor& fill_out(KernelRuntimeContext& context, ArrayRef<int64_t> sizes, Tensor& out) {
  ET_KERNEL_CHECK(context, runtime::resize_tensor(out, sizes) == Error::Ok, InvalidArgument, out);
  for (ssize_t i = 0; i < out.numel(); ++i) {
    out.mutable_data_ptr<float>()[i] = static_cast<float>(out.numel());
  }
  return out;
}

Tensor& fail_out(KernelRuntimeContext& context, const Tensor& a, Tensor& out) {
  if (fail_switch) {
    context.fail(Error::NotSupported);
    return out;
  }
  return scale_out(context, a, 1, out);
}

Tensor& temp_out(KernelRuntimeContext& context, const Tensor& a, int64_t size, Tensor& out) {
  const auto memory = context.allocate_temp(static_cast<size_t>(size));
  if (!memory.ok()) {
    context.fail(memory.error());
    return out;
  }
  return scale_out(context, a, 1, out);
}

void count(KernelRuntimeContext&, Span<EValue*> args) { *args[0] = EValue(args[0]->toInt() + 1); }

constexpr Kernel kKernels[] = {
    make_kernel<&add_out>("test::add.out"),   make_kernel<&scale_out>("test::scale.out"),
    make_kernel<&fill_out>("test::fill.out"), make_kernel<&fail_out>("test::fail.out"),
    make_kernel<&temp_out>("test::temp.out"), Kernel("test::count.int", &count),
};

[[maybe_unused]] const Error registered = runtime::register_kernels(kKernels);

}  // namespace

Span<const Kernel> test_kernels() { return kKernels; }

}  // namespace executorch::testing
