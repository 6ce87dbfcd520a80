// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// Softmax along contiguous rows of tensors that are computed in float32; portable kernels compute
// the rest.
#include <executorch/kernels/engine/softmax/softmax.h>
#include <executorch/kernels/loops/memory/check.h>
#include <executorch/kernels/loops/memory/strided.h>
#include <executorch/kernels/optimized/NativeFunctions.h>
#include <executorch/kernels/optimized/float_rows.h>
#include <executorch/kernels/portable/NativeFunctions.h>

#include <algorithm>

namespace executorch::kernels::optimized {
namespace {

using Softmax = void (*)(const engine::SoftmaxCall&, engine::Threads&, engine::InstructionSet);

/// Minimum number of elements for each thread.
constexpr size_t kMinElements = 1 << 15;

/// Returns false, without a result, for calls that the portable kernel must compute or refuse.
bool softmax(KernelRuntimeContext& ctx, Softmax function, const Tensor& self, int64_t dim,
             bool half_to_float, Tensor& out) {
  const ScalarType dtype = self.scalar_type();
  const int64_t rank = self.dim();
  if (half_to_float || out.scalar_type() != dtype || !is_floating(dtype) ||
      dtype == ScalarType::Double || rank == 0 || dim < -rank || dim >= rank) {
    return false;
  }
  if (!resize_like(ctx, out, self) || self.numel() == 0) return true;
  const int axis = int(dim < 0 ? dim + rank : dim);
  const Strided from(self), to(out);
  // The portable kernel computes many rows at a time if they lie across memory.
  if (from.strides[axis] != from.element_size() ||
      !std::equal(from.strides, from.strides + rank, to.strides)) {
    return false;
  }
  const size_t length = size_t(from.sizes[axis]);
  const RowTensors rows = {from.data, to.data, dtype, size_t(self.numel()) / length, length};
  return for_float_rows(
      ctx, rows, kMinElements,
      [&](const float* in, float* result, size_t, size_t count, engine::Threads& threads) {
        function({in, result, count, length, length, length}, threads, engine::instruction_set());
      });
}

}  // namespace

Tensor& _softmax_out(KernelRuntimeContext& ctx, const Tensor& self, int64_t dim, bool half_to_float,
                     Tensor& out) {
  if (softmax(ctx, engine::softmax, self, dim, half_to_float, out)) return out;
  return portable::_softmax_out(ctx, self, dim, half_to_float, out);
}

Tensor& _log_softmax_out(KernelRuntimeContext& ctx, const Tensor& self, int64_t dim,
                         bool half_to_float, Tensor& out) {
  if (softmax(ctx, engine::log_softmax, self, dim, half_to_float, out)) return out;
  return portable::_log_softmax_out(ctx, self, dim, half_to_float, out);
}

}  // namespace executorch::kernels::optimized
