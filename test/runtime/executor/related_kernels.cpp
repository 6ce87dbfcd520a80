// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// Kernels and backends for related_program(). They do almost nothing: the tests concern only their
// declared effects.
#include <string>

#include <executorch/runtime/backend/interface.h>
#include <executorch/runtime/kernel/boxing.h>

namespace executorch::testing {
namespace {

using aten::ArrayRef;
using aten::Tensor;
using runtime::Error;
using runtime::EValue;
using runtime::Kernel;
using runtime::KernelRuntimeContext;
using runtime::make_kernel;
using runtime::Result;
using runtime::Span;

Tensor& write(const Tensor& from, Tensor& to) {
  to.mutable_data_ptr<float>()[0] = from.const_data_ptr<float>()[0] + 1;
  return to;
}
Tensor& two(const Tensor& a, const Tensor&, Tensor& out) { return write(a, out); }
void pair(const Tensor& a, Tensor& out0, Tensor& out1) { write(write(a, out0), out1); }
void split(const Tensor&, ArrayRef<Tensor>) {}
Tensor& join(ArrayRef<Tensor> tensors, Tensor& out) { return write(tensors[0], out); }
Tensor& pick(ArrayRef<std::optional<Tensor>>, Tensor& out) { return out; }
Tensor& assign(Tensor& self, const Tensor& from) { return write(from, self); }
void silent(KernelRuntimeContext&, Span<EValue*>) {}

constexpr Kernel kKernels[] = {
    make_kernel<&two>("related::add.out"),
    make_kernel<&two>("related::apart.out").with(Kernel::kDisjoint),
    make_kernel<&two>("related::first.out").with(Kernel::kDisjoint | Kernel::kDisjointButFirst),
    make_kernel<&pair>("related::pair.out").with(Kernel::kDisjoint),
    make_kernel<&split>("related::split.out").with(Kernel::kDisjoint),
    make_kernel<&join>("related::join.out").with(Kernel::kDisjoint),
    make_kernel<&pick>("related::pick.out").with(Kernel::kDisjoint),
    make_kernel<&assign>("related::assign_").with(Kernel::kDisjoint),
    Kernel("related::silent.out", &silent),
};

/// The payload is the number of outputs that the backend reports; "?": it reports none.
class OutputsBackend final : public runtime::BackendInterface {
 public:
  bool is_available() const override { return true; }
  Result<runtime::DelegateHandle*> init(runtime::BackendInitContext&,
                                        runtime::FreeableBuffer* processed,
                                        ArrayRef<runtime::CompileSpec>) const override {
    return const_cast<void*>(processed->data());
  }
  Error execute(runtime::BackendExecutionContext&, runtime::DelegateHandle*,
                Span<EValue*>) const override {
    return Error::Ok;
  }
  size_t output_count(runtime::DelegateHandle* handle) const override {
    const char digit = *static_cast<const char*>(handle);
    return digit == '?' ? kUnknownOutputs : static_cast<size_t>(digit - '0');
  }
};

OutputsBackend outputs_backend;
[[maybe_unused]] const Error registered_backend =
    runtime::register_backend({"OutputsBackend", &outputs_backend});
[[maybe_unused]] const Error registered_kernels = runtime::register_kernels(kKernels);

}  // namespace
}  // namespace executorch::testing
