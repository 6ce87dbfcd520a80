// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// Softmax of whatever is computed in float32; rows that are not contiguous float32 pass through a
// buffer.
#include <executorch/kernels/optimized/NativeFunctions.h>
#include <executorch/kernels/optimized/isa.h>
#include <executorch/kernels/portable/NativeFunctions.h>
#include <executorch/kernels/portable/loops/check.h>
#include <executorch/kernels/portable/loops/convert.h>
#include <executorch/kernels/portable/loops/lines.h>

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
  const int64_t n = portable::line_length(from, axis);
  const int64_t to_stride = portable::line_stride(to, axis);
  const int64_t from_stride = portable::line_stride(from, axis);
  if (dtype == ScalarType::Float && to_stride == kSize && from_stride == kSize) {
    portable::for_each_line(to, from, axis, [&](char* const* at) {
      row_function(reinterpret_cast<const float*>(at[1]), reinterpret_cast<float*>(at[0]), n);
    });
    return true;
  }
  const auto memory = ctx.allocate_temp(size_t(n * kSize), 64);
  if (!memory.ok()) return false;
  char* const buffer = static_cast<char*>(*memory);
  const portable::Convert load = portable::load(dtype, Compute::Float);
  const portable::Convert store = portable::store(Compute::Float, dtype);
  portable::for_each_line(to, from, axis, [&](char* const* at) {
    load(buffer, kSize, at[1], from_stride, n);
    row_function(reinterpret_cast<const float*>(buffer), reinterpret_cast<float*>(buffer), n);
    store(at[0], to_stride, buffer, kSize, n);
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
