// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// Softmax of whatever is computed in float32; rows that are not contiguous float32 pass through a
// buffer.
#include <executorch/kernels/loops/check.h>
#include <executorch/kernels/loops/convert.h>
#include <executorch/kernels/loops/divide.h>
#include <executorch/kernels/loops/lines.h>
#include <executorch/kernels/optimized/NativeFunctions.h>
#include <executorch/kernels/optimized/isa.h>
#include <executorch/kernels/optimized/part_buffers.h>
#include <executorch/kernels/portable/NativeFunctions.h>

namespace executorch::kernels::optimized {
namespace {

/// Elements worth the start of a thread.
constexpr int64_t kLeast = 1 << 15;
constexpr int64_t kSize = sizeof(float);

/// Lines of one dtype and one length, where each begins and how far apart its elements lie.
struct Lines {
  LoopNest nest;
  ScalarType dtype;
  int64_t length, to_stride, from_stride;

  Lines(const Strided& to, const Strided& from, int axis)
      : nest(without(to, axis), without(from, axis)),
        dtype(from.dtype),
        length(line_length(from, axis)),
        to_stride(line_stride(to, axis)),
        from_stride(line_stride(from, axis)) {}

  bool in_place() const {
    return dtype == ScalarType::Float && to_stride == kSize && from_stride == kSize;
  }
};

void lines_in_place(const LoopNest& nest, int64_t n, Isa::Map row_function) {
  nest.for_each_outer(nest.rank(), [&](char* const* at) {
    row_function(reinterpret_cast<const float*>(at[1]), reinterpret_cast<float*>(at[0]), n);
  });
}

/// Each by way of a buffer for one.
void lines_through(const LoopNest& nest, const Lines& lines, Isa::Map row_function, char* buffer) {
  const Convert load = kernels::load(lines.dtype, Compute::Float);
  const Convert store = kernels::store(Compute::Float, lines.dtype);
  nest.for_each_outer(nest.rank(), [&](char* const* at) {
    load(buffer, kSize, at[1], lines.from_stride, lines.length);
    row_function(reinterpret_cast<const float*>(buffer), reinterpret_cast<float*>(buffer),
                 lines.length);
    store(at[0], lines.to_stride, buffer, kSize, lines.length);
  });
}

/// False where the portable kernel has to do it (or to refuse it).
bool softmax(KernelRuntimeContext& ctx, Isa::Map row_function, const Tensor& self, int64_t dim,
             bool half_to_float, Tensor& out) {
  const ScalarType dtype = self.scalar_type();
  const int64_t rank = self.dim();
  if (half_to_float || out.scalar_type() != dtype || !is_floating(dtype) ||
      dtype == ScalarType::Double || rank == 0 || dim < -rank || dim >= rank) {
    return false;
  }
  if (!resize_like(ctx, out, self)) return true;
  const int axis = int(dim < 0 ? dim + rank : dim);
  const Lines lines(Strided(out), Strided(self), axis);
  // Of lines across memory, the portable kernel takes many at a time.
  if (lines.from_stride != self.element_size()) return false;
  NestDivision division(lines.nest, 1, self.numel(), kLeast);
  if (lines.in_place()) {
    division.run(
        [&](int64_t, const LoopNest& part) { lines_in_place(part, lines.length, row_function); });
    return true;
  }
  const size_t each = size_t(lines.length * kSize);
  char* const buffers = part_buffers(ctx, division, each);
  if (buffers == nullptr) return false;
  division.run([&](int64_t index, const LoopNest& part) {
    lines_through(part, lines, row_function, buffers + each * size_t(index));
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
