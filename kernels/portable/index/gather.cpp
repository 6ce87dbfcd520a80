// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// Elements and slices along one dimension, picked by an index tensor.
#include <executorch/kernels/loops/memory/copy.h>
#include <executorch/kernels/loops/memory/dim_slices.h>
#include <executorch/kernels/loops/memory/positions.h>
#include <executorch/kernels/portable/NativeFunctions.h>

#include <algorithm>
#include <cstring>

namespace executorch::kernels::portable {
namespace {

/// A line of `size` elements, `stride` bytes apart.
struct Line {
  const char* data;
  int64_t stride, size;
};

template <class T>
void pick(KernelRuntimeContext& ctx, char* to, int64_t to_stride, const Line& from,
          const int64_t* index, int64_t n) {
  for (int64_t i = 0; i < n; ++i) {
    const int64_t at = load_index(index + i);
    if (!expect_within(ctx, at, from.size)) return;
    *reinterpret_cast<T*>(to + i * to_stride) =
        *reinterpret_cast<const T*>(from.data + at * from.stride);
  }
}

/// Every dimension but `dim` of the index fits into self.
bool expect_index_fits(KernelRuntimeContext& ctx, const Tensor& self, const Tensor& index,
                       int dim) {
  if (index.numel() == 0) return true;  // Any shape and dtype, as in torch.
  if (!expect_index_dtype(ctx, "index", index)) return false;
  const Shape whole(self), picked(index);
  bool fits = (whole.rank > 0 ? whole.rank : 1) == (picked.rank > 0 ? picked.rank : 1);
  for (int d = 0; fits && d < picked.rank && d < whole.rank; ++d) {
    fits = d == dim || picked.sizes[d] <= whole.sizes[d];
  }
  return ET_EXPECT(ctx, fits,
                   "index of shape %s does not fit self of shape %s outside of dimension %d",
                   ShapeText(picked).text, ShapeText(whole).text, dim);
}

}  // namespace

Tensor& gather_out(KernelRuntimeContext& ctx, const Tensor& self, int64_t dim, const Tensor& index,
                   bool, Tensor& out) {
  int d;
  if (!expect_dim(ctx, dim, static_cast<int>(self.dim()), &d) ||
      !expect_index_fits(ctx, self, index, d) || !expect_movable(ctx, "self", self) ||
      !expect_same_dtype(ctx, "self", self, "out", out) || !resize_like(ctx, out, index) ||
      index.numel() == 0) {
    return out;
  }
  const Strided from(self), to(out), where(index);
  const int64_t size = line_length(from, d), length = line_length(where, d);
  Strided cropped = from;  // To the index's sizes: one loop nest serves both.
  for (int i = 0; i < cropped.rank && i < where.rank; ++i) cropped.sizes[i] = where.sizes[i];
  visit_width(from.element_size(), [&](auto tag) {
    using T = ET_TYPE_OF(tag);
    Reader<int64_t> indices(where.dtype);
    for_each_line(to, where, cropped, d, [&](char* const* at) {
      for (int64_t first = 0; first < length; first += kBlock) {
        const int64_t n = length - first < kBlock ? length - first : kBlock;
        const int64_t* const index_block =
            indices(at[1] + first * line_stride(where, d), line_stride(where, d), n);
        if (ctx.failure_state() != Error::Ok) return;
        pick<T>(ctx, at[0] + first * line_stride(to, d), line_stride(to, d),
                {at[2], line_stride(from, d), size}, index_block, n);
      }
    });
  });
  return out;
}

Tensor& index_select_out(KernelRuntimeContext& ctx, const Tensor& self, int64_t dim,
                         const Tensor& index, Tensor& out) {
  int d;
  if (!expect_dim(ctx, dim, static_cast<int>(self.dim()), &d) ||
      !expect_index_dtype(ctx, "index", index) ||
      !ET_EXPECT(ctx, index.dim() <= 1, "index must have rank 1, found %d",
                 static_cast<int>(index.dim())) ||
      !expect_movable(ctx, "self", self) || !expect_same_dtype(ctx, "self", self, "out", out)) {
    return out;
  }
  const Strided from(self), where(index);
  Shape shape(self);
  if (shape.rank > 0) shape.sizes[d] = where.numel();
  if (!resize(ctx, out, shape)) return out;
  const Strided to(out);
  Strided source = from, target = to;
  if (from.rank > 0) {
    source.narrow(d, 0, 1);
    target.narrow(d, 0, 1);
  }
  // Slices of one layout: rows are copied as bytes.
  const LoopNest slice(target, source);
  const int64_t bytes = slice.row() * from.element_size();
  const bool dense = slice.stride(0) == from.element_size() && slice.stride(1) == slice.stride(0);
  Reader<int64_t> indices(where.dtype);
  const int64_t* block = nullptr;
  const int64_t count = where.numel(), step = line_stride(where, 0);
  for (int64_t i = 0; i < count; ++i) {
    const int64_t place = i % kBlock;
    if (place == 0) block = indices(where.data + i * step, step, std::min(kBlock, count - i));
    const int64_t picked = load_index(block + place);
    if (!expect_within(ctx, picked, line_length(from, d))) return out;
    const int64_t there = to.rank > 0 ? i * to.strides[d] : 0;
    const int64_t here = picked * line_stride(from, d);
    if (dense) {
      slice.for_each_row([&](char* const* at) {
        std::memmove(at[0] + there, at[1] + here, static_cast<size_t>(bytes));
      });
      continue;
    }
    source.data = from.data + here, target.data = to.data + there;
    if (!copy(ctx, target, source)) return out;
  }
  return out;
}
}  // namespace executorch::kernels::portable
