// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// The operators that give a copy of a tensor with one view of it replaced.
#include <executorch/kernels/portable/NativeFunctions.h>
#include <executorch/kernels/portable/loops/broadcast.h>
#include <executorch/kernels/portable/loops/copy.h>
#include <executorch/kernels/portable/shape/view.h>

namespace executorch::kernels::portable {
namespace {

// out = self, then view(out) = src.
template <class View>
Tensor& scatter_view(KernelRuntimeContext& ctx, const Tensor& self, const Tensor& src, Tensor& out,
                     View view) {
  if (!expect_same_dtype(ctx, "self", self, "src", src) ||
      !expect_same_dtype(ctx, "self", self, "out", out) || !resize_like(ctx, out, self) ||
      !copy(ctx, Strided(out), Strided(self))) {
    return out;
  }
  const std::optional<Strided> target = view(out);
  if (!target.has_value()) return out;
  const Shape shape = shape_of(*target);
  if (ET_EXPECT(ctx, Shape(src) == shape, "src must have shape %s, found %s", ShapeText(shape).text,
                ShapeText(src).text)) {
    copy(ctx, *target, Strided(src));
  }
  return out;
}

}  // namespace

Tensor& select_scatter_out(KernelRuntimeContext& ctx, const Tensor& self, const Tensor& src,
                           int64_t dim, int64_t index, Tensor& out) {
  return scatter_view(ctx, self, src, out,
                      [&](const Tensor& t) { return selected(ctx, t, dim, index); });
}

Tensor& slice_scatter_out(KernelRuntimeContext& ctx, const Tensor& self, const Tensor& src,
                          int64_t dim, std::optional<int64_t> start, std::optional<int64_t> end,
                          int64_t step, Tensor& out) {
  return scatter_view(ctx, self, src, out,
                      [&](const Tensor& t) { return sliced(ctx, t, dim, start, end, step); });
}

Tensor& diagonal_scatter_out(KernelRuntimeContext& ctx, const Tensor& self, const Tensor& src,
                             int64_t offset, int64_t dim1, int64_t dim2, Tensor& out) {
  return scatter_view(ctx, self, src, out,
                      [&](const Tensor& t) { return diagonal(ctx, t, offset, dim1, dim2); });
}

Tensor& as_strided_scatter_out(KernelRuntimeContext& ctx, const Tensor& self, const Tensor& src,
                               ArrayRef<int64_t> size, ArrayRef<int64_t> stride,
                               std::optional<int64_t> storage_offset, Tensor& out) {
  return scatter_view(ctx, self, src, out, [&](const Tensor& t) {
    return restrided(ctx, t, size, stride, storage_offset);
  });
}

}  // namespace executorch::kernels::portable
