// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// Views of a tensor: see view.h.
#include <executorch/kernels/loops/memory/check.h>
#include <executorch/kernels/loops/memory/copy.h>
#include <executorch/kernels/portable/NativeFunctions.h>
#include <executorch/kernels/portable/shape/view.h>

#include <algorithm>

namespace executorch::kernels::portable {
namespace {

int64_t clip(int64_t value, int64_t size) {
  if (value < 0) value += size;
  return value < 0 ? 0 : value > size ? size : value;
}
}  // namespace

Shape shape_of(const Strided& view) {
  Shape shape;
  for (int d = 0; d < view.rank; ++d) shape.append(view.sizes[d]);
  return shape;
}

std::optional<Strided> selected(KernelRuntimeContext& ctx, const Tensor& self, int64_t dim,
                                int64_t index) {
  int d;
  if (!ET_EXPECT(ctx, self.dim() > 0, "select needs a tensor of rank 1 or more, found rank 0") ||
      !expect_dim(ctx, dim, static_cast<int>(self.dim()), &d)) {
    return std::nullopt;
  }
  Strided view(self);
  const int64_t size = view.sizes[d];
  if (!ET_EXPECT(ctx, index >= -size && index < size,
                 "index must be within [%" PRId64 ", %" PRId64 "], found %" PRId64, -size, size - 1,
                 index)) {
    return std::nullopt;
  }
  view.narrow(d, index < 0 ? index + size : index, 1);
  view.remove(d);
  return view;
}

std::optional<Strided> sliced(KernelRuntimeContext& ctx, const Tensor& self, int64_t dim,
                              std::optional<int64_t> start, std::optional<int64_t> end,
                              int64_t step) {
  int d;
  if (!ET_EXPECT(ctx, self.dim() > 0, "slice needs a tensor of rank 1 or more, found rank 0") ||
      !expect_dim(ctx, dim, static_cast<int>(self.dim()), &d) ||
      !ET_EXPECT(ctx, step > 0, "step must be positive, found %" PRId64, step)) {
    return std::nullopt;
  }
  Strided view(self);
  const int64_t size = view.sizes[d];
  const int64_t first = clip(start.value_or(0), size), last = clip(end.value_or(size), size);
  // Without adding step, which may be as large as an int64.
  const int64_t count = last > first ? (last - first - 1) / step + 1 : 0;
  view.narrow(d, first, count, count > 1 ? step : 1);
  return view;
}

std::optional<Strided> diagonal(KernelRuntimeContext& ctx, const Tensor& self, int64_t offset,
                                int64_t dim1, int64_t dim2) {
  int a, b;
  const int rank = static_cast<int>(self.dim());
  if (!expect_dim(ctx, dim1, rank, &a) || !expect_dim(ctx, dim2, rank, &b) ||
      !ET_EXPECT(ctx, a != b, "dim1 and dim2 must differ, found %d twice", a)) {
    return std::nullopt;
  }
  Strided view(self);
  const int64_t rows = view.sizes[a], columns = view.sizes[b];
  offset = std::clamp(offset, -rows, columns);  // the diagonal is empty at the corners and beyond
  const int64_t below = offset < 0 ? -offset : 0, right = offset > 0 ? offset : 0;
  const int64_t count = rows - below < columns - right ? rows - below : columns - right;
  const int64_t step = view.strides[a] + view.strides[b];
  if (count > 0) view.data += below * view.strides[a] + right * view.strides[b];
  view.remove(a > b ? a : b);
  view.remove(a > b ? b : a);
  view.append(count, step);
  return view;
}

std::optional<Strided> restrided(KernelRuntimeContext& ctx, const Tensor& self,
                                 ArrayRef<int64_t> size, ArrayRef<int64_t> stride,
                                 std::optional<int64_t> storage_offset) {
  const int64_t offset = storage_offset.value_or(0), available = self.numel();
  if (!ET_EXPECT(ctx, size.size() == stride.size() && Shape::fits(size),
                 "size and stride must have one length of at most %d, found %zu and %zu", kMaxRank,
                 size.size(), stride.size()) ||
      !ET_EXPECT(ctx, offset >= 0 && offset <= available,
                 "storage_offset must be within [0, %" PRId64 "], found %" PRId64, available,
                 offset)) {
    return std::nullopt;
  }
  Strided view(self);
  view.rank = 0;
  int64_t last = offset;
  bool empty = false, inside = true;
  for (size_t d = 0; d < size.size(); ++d) {
    if (!ET_EXPECT(ctx, size[d] >= 0 && stride[d] >= 0,
                   "size and stride must not be negative, found %" PRId64 " and %" PRId64, size[d],
                   stride[d])) {
      return std::nullopt;
    }
    empty = empty || size[d] == 0;
    const bool walks = size[d] > 1 && stride[d] > 0;
    inside = inside && (!walks || (available - last) / stride[d] >= size[d] - 1);
    if (walks && inside) last += (size[d] - 1) * stride[d];
    view.append(size[d], walks && inside ? stride[d] * view.element_size() : 0);
  }
  if (!ET_EXPECT(ctx, empty || (inside && last < available),
                 "the view reaches beyond the %" PRId64 " elements of self", available)) {
    return std::nullopt;
  }
  view.data += offset * view.element_size();
  return view;
}

Tensor& copy_view(KernelRuntimeContext& ctx, const std::optional<Strided>& view, Tensor& out) {
  if (!view.has_value()) return out;
  if (resize(ctx, out, shape_of(*view))) copy(ctx, Strided(out), *view);
  return out;
}
}  // namespace executorch::kernels::portable
