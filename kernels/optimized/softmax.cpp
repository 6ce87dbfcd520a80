// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// Softmax of whatever is computed in float32; rows that are not contiguous float32 pass through a
// buffer.
#include <executorch/kernels/optimized/NativeFunctions.h>
#include <executorch/kernels/optimized/isa.h>
#include <executorch/kernels/portable/NativeFunctions.h>
#include <executorch/kernels/portable/loops/check.h>
#include <executorch/kernels/portable/loops/convert.h>
#include <executorch/kernels/portable/normalize/rows.h>

namespace executorch::kernels::optimized {
namespace {

using portable::Compute;
using portable::Strided;

/// False where the portable kernel has to do it (or to refuse it).
bool softmax(KernelRuntimeContext& ctx, Isa::Map row_function, const Tensor& self, int64_t dim,
             bool half_to_float, Tensor& out) {
  const ScalarType dtype = self.scalar_type();
  const int64_t rank = self.dim();
  if (half_to_float || out.scalar_type() != dtype || !portable::is_floating(dtype) ||
      dtype == ScalarType::Double || rank == 0 || dim < -rank || dim >= rank) {
    return false;
  }
  if (!portable::resize_like(ctx, out, self)) return true;
  const int axis = int(dim < 0 ? dim + rank : dim);
  const Strided to(out), from(self);
  constexpr int64_t kSize = sizeof(float);
  if (dtype == ScalarType::Float && to.strides[axis] == kSize && from.strides[axis] == kSize) {
    portable::for_each_row_along(to, from, axis, [&](const portable::Row& row) {
      row_function(reinterpret_cast<const float*>(row.in), reinterpret_cast<float*>(row.out),
                   row.n);
    });
    return true;
  }
  const auto memory = ctx.allocate_temp(size_t(from.sizes[axis] * kSize), 64);
  if (!memory.ok()) return false;
  char* const buffer = static_cast<char*>(*memory);
  const portable::Convert load = portable::load(dtype, Compute::Float);
  const portable::Convert store = portable::store(Compute::Float, dtype);
  portable::for_each_row_along(to, from, axis, [&](const portable::Row& row) {
    load(buffer, kSize, row.in, row.in_stride, row.n);
    row_function(reinterpret_cast<const float*>(buffer), reinterpret_cast<float*>(buffer), row.n);
    store(row.out, row.out_stride, buffer, kSize, row.n);
  });
  return true;
}

}  // namespace

Tensor& _softmax_out(KernelRuntimeContext& ctx, const Tensor& self, int64_t dim, bool half_to_float,
                     Tensor& out) {
  if (softmax(ctx, isa().softmax, self, dim, half_to_float, out)) return out;
  return portable::_softmax_out(ctx, self, dim, half_to_float, out);
}

Tensor& _log_softmax_out(KernelRuntimeContext& ctx, const Tensor& self, int64_t dim,
                         bool half_to_float, Tensor& out) {
  if (softmax(ctx, isa().log_softmax, self, dim, half_to_float, out)) return out;
  return portable::_log_softmax_out(ctx, self, dim, half_to_float, out);
}

}  // namespace executorch::kernels::optimized
