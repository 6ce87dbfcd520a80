// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// Operators that return a copy of a view of a tensor.
#include <executorch/kernels/loops/dtype/convert.h>
#include <executorch/kernels/loops/memory/broadcast.h>
#include <executorch/kernels/loops/memory/copy.h>
#include <executorch/kernels/loops/memory/index_order.h>
#include <executorch/kernels/portable/NativeFunctions.h>
#include <executorch/kernels/portable/shape/view.h>

namespace executorch::kernels::portable {
namespace {

std::optional<Strided> permuted(KernelRuntimeContext& ctx, const Tensor& self,
                                ArrayRef<int64_t> dims) {
  const Strided whole(self);
  uint32_t mask;
  if (!ET_EXPECT(ctx, dims.size() == size_t(whole.rank),
                 "dims must name all %d dimensions, found %zu", whole.rank, dims.size()) ||
      !expect_dims(ctx, dims, whole.rank, &mask)) {
    return std::nullopt;
  }
  Strided view = whole;
  for (int d = 0; d < whole.rank; ++d) {
    const int64_t from = dims[d] < 0 ? dims[d] + whole.rank : dims[d];
    view.sizes[d] = whole.sizes[from];
    view.strides[d] = whole.strides[from];
  }
  return view;
}

std::optional<Strided> transposed(KernelRuntimeContext& ctx, const Tensor& self, int64_t dim0,
                                  int64_t dim1) {
  const int rank = static_cast<int>(self.dim());
  int a, b;
  if (!expect_dim(ctx, dim0, rank, &a) || !expect_dim(ctx, dim1, rank, &b)) return std::nullopt;
  Strided view(self);
  if (rank == 0) return view;
  std::swap(view.sizes[a], view.sizes[b]);
  std::swap(view.strides[a], view.strides[b]);
  return view;
}

Strided squeezed(const Tensor& self, uint32_t mask) {
  Strided view(self);
  for (int d = view.rank - 1; d >= 0; --d) {
    if ((mask >> d & 1) != 0 && view.sizes[d] == 1) view.remove(d);
  }
  return view;
}

/// A size of -1 keeps self's size.
std::optional<Strided> expanded_to(KernelRuntimeContext& ctx, const Tensor& self,
                                   ArrayRef<int64_t> size) {
  const Shape from(self);
  if (!ET_EXPECT(ctx, Shape::fits(size) && size.size() >= size_t(from.rank),
                 "size must have %d to %d items, found %zu", from.rank, kMaxRank, size.size())) {
    return std::nullopt;
  }
  Shape shape(size);
  const int added = shape.rank - from.rank;
  for (int d = added; d < shape.rank; ++d) {
    if (shape.sizes[d] == -1) shape.sizes[d] = from.sizes[d - added];
  }
  if (!ET_EXPECT(ctx, broadcasts_to(from, shape), "self of shape %s does not expand to %s",
                 ShapeText(from).text, ShapeText(shape).text)) {
    return std::nullopt;
  }
  return expanded(Strided(self), shape);
}

/// The shape of a view, its one -1 worked out.
bool infer_view(KernelRuntimeContext& ctx, const Tensor& self, ArrayRef<int64_t> size,
                Shape& shape) {
  if (!ET_EXPECT(ctx, Shape::fits(size), "size must have at most %d items, found %zu", kMaxRank,
                 size.size())) {
    return false;
  }
  shape = Shape(size);
  int inferred = -1;
  int64_t known = 1;
  bool overflow = false;
  for (int d = 0; d < shape.rank; ++d) {
    if (shape.sizes[d] == -1 && inferred < 0) {
      inferred = d;
    } else {
      overflow = overflow || shape.sizes[d] < 0 ||
                 (known != 0 && shape.sizes[d] > std::numeric_limits<int64_t>::max() / known);
      if (!overflow) known *= shape.sizes[d];
    }
  }
  const int64_t numel = self.numel();
  if (!overflow && inferred >= 0 && known > 0 && numel % known == 0) {
    shape.sizes[inferred] = numel / known;
    known = numel;
    inferred = -1;
  }
  return ET_EXPECT(ctx, !overflow && inferred < 0 && known == numel, "cannot view %s with size %s",
                   ShapeText(self).text, ShapeText(shape).text);
}

/// Copies in index order between shapes with the same number of elements.
bool copy_reshaped(KernelRuntimeContext& ctx, const Strided& to, const Strided& from) {
  Strided flat_to = to, flat_from = from;
  const int64_t n = from.numel();
  flat_to.rank = flat_from.rank = 0;
  if (in_index_order(to) && in_index_order(from)) {
    flat_to.append(n, to.element_size());
    flat_from.append(n, from.element_size());
    return copy(ctx, flat_to, flat_from);
  }
  IndexWalk walk_to(to), walk_from(from);
  const Convert mover = to.dtype == from.dtype ? move(to.element_size()) : nullptr;
  if (mover) {
    for (int64_t i = 0; i < n; ++i) mover(walk_to.next(), 0, walk_from.next(), 0, 1);
    return true;
  }
  for (int64_t i = 0; i < n; ++i) {
    flat_to.data = walk_to.next();
    flat_from.data = walk_from.next();
    if (!copy(ctx, flat_to, flat_from)) return false;
  }
  return true;
}

/// Reinterprets the memory as elements of a dtype of the same width or narrower; false if the
/// elements to split are not adjacent.
bool reinterpret_as(Strided& memory, ScalarType dtype) {
  const int64_t width = memory.element_size();
  const int last = memory.rank - 1;
  memory.dtype = dtype;
  if (memory.element_size() == width) return true;
  if (memory.sizes[last] > 1 && memory.strides[last] != width) return false;
  memory.sizes[last] *= width / memory.element_size();
  memory.strides[last] = memory.element_size();
  return true;
}

}  // namespace

Tensor& view_copy_out(KernelRuntimeContext& ctx, const Tensor& self, ArrayRef<int64_t> size,
                      Tensor& out) {
  Shape shape;
  if (infer_view(ctx, self, size, shape) && resize(ctx, out, shape))
    copy_reshaped(ctx, Strided(out), Strided(self));
  return out;
}

Tensor& view_copy_dtype_out(KernelRuntimeContext& ctx, const Tensor& self, ScalarType dtype,
                            Tensor& out) {
  if (!expect_movable(ctx, "self", self) || !expect_movable(ctx, "out", out) ||
      !expect_dtype(ctx, "out", out, dtype)) {
    return out;
  }
  Strided from(self);
  Shape shape(self);
  const int64_t width = from.element_size(), wanted = width_of(dtype);
  if (width != wanted) {
    const int last = shape.rank - 1;
    if (!ET_EXPECT(ctx, last >= 0 && shape.sizes[last] * width % wanted == 0,
                   "the last dimension of %s cannot be divided into elements of dtype %s",
                   ShapeText(self).text, name_of(dtype))) {
      return out;
    }
    shape.sizes[last] = shape.sizes[last] * width / wanted;
  }
  if (!resize(ctx, out, shape)) return out;
  Strided to(out);
  const ScalarType narrower = width < wanted ? self.scalar_type() : dtype;
  if (ET_EXPECT(ctx, reinterpret_as(from, narrower) && reinterpret_as(to, narrower),
                "elements of the last dimension must be neighbors in memory")) {
    copy(ctx, to, from);
  }
  return out;
}

Tensor& permute_copy_out(KernelRuntimeContext& ctx, const Tensor& self, ArrayRef<int64_t> dims,
                         Tensor& out) {
  return copy_view(ctx, permuted(ctx, self, dims), out);
}

Tensor& transpose_copy_int_out(KernelRuntimeContext& ctx, const Tensor& self, int64_t dim0,
                               int64_t dim1, Tensor& out) {
  return copy_view(ctx, transposed(ctx, self, dim0, dim1), out);
}

Tensor& t_copy_out(KernelRuntimeContext& ctx, const Tensor& self, Tensor& out) {
  if (!ET_EXPECT(ctx, self.dim() <= 2, "t needs a tensor of rank 2 or less, found rank %d",
                 static_cast<int>(self.dim()))) {
    return out;
  }
  return copy_view(ctx, self.dim() < 2 ? Strided(self) : transposed(ctx, self, 0, 1), out);
}

Tensor& expand_copy_out(KernelRuntimeContext& ctx, const Tensor& self, ArrayRef<int64_t> size, bool,
                        Tensor& out) {
  return copy_view(ctx, expanded_to(ctx, self, size), out);
}

Tensor& squeeze_copy_out(KernelRuntimeContext& ctx, const Tensor& self, Tensor& out) {
  return copy_view(ctx, squeezed(self, ~uint32_t(0)), out);
}

Tensor& squeeze_copy_dim_out(KernelRuntimeContext& ctx, const Tensor& self, int64_t dim,
                             Tensor& out) {
  return squeeze_copy_dims_out(ctx, self, ArrayRef<int64_t>(&dim, 1), out);
}

Tensor& squeeze_copy_dims_out(KernelRuntimeContext& ctx, const Tensor& self, ArrayRef<int64_t> dim,
                              Tensor& out) {
  uint32_t mask;
  if (!expect_dims(ctx, dim, static_cast<int>(self.dim()), &mask)) return out;
  return copy_view(ctx, squeezed(self, mask), out);
}

Tensor& unsqueeze_copy_out(KernelRuntimeContext& ctx, const Tensor& self, int64_t dim,
                           Tensor& out) {
  Strided view(self);
  int d;
  if (!ET_EXPECT(ctx, view.rank < kMaxRank, "self has the highest rank already, %d", kMaxRank) ||
      !expect_dim(ctx, dim, view.rank + 1, &d)) {
    return out;
  }
  view.insert(d, 1, 0);
  return copy_view(ctx, view, out);
}

Tensor& select_copy_int_out(KernelRuntimeContext& ctx, const Tensor& self, int64_t dim,
                            int64_t index, Tensor& out) {
  return copy_view(ctx, selected(ctx, self, dim, index), out);
}

Tensor& slice_copy_tensor_out(KernelRuntimeContext& ctx, const Tensor& self, int64_t dim,
                              std::optional<int64_t> start, std::optional<int64_t> end,
                              int64_t step, Tensor& out) {
  return copy_view(ctx, sliced(ctx, self, dim, start, end, step), out);
}

Tensor& narrow_copy_out(KernelRuntimeContext& ctx, const Tensor& self, int64_t dim, int64_t start,
                        int64_t length, Tensor& out) {
  int d;
  if (!ET_EXPECT(ctx, self.dim() > 0, "narrow needs a tensor of rank 1 or more, found rank 0") ||
      !expect_dim(ctx, dim, static_cast<int>(self.dim()), &d)) {
    return out;
  }
  const int64_t size = self.size(d), first = start < 0 ? start + size : start;
  if (!ET_EXPECT(ctx, first >= 0 && first <= size && length >= 0 && length <= size - first,
                 "start %" PRId64 " and length %" PRId64
                 " reach beyond the dimension's size %" PRId64,
                 start, length, size)) {
    return out;
  }
  return copy_view(ctx, sliced(ctx, self, d, first, first + length, 1), out);
}

Tensor& diagonal_copy_out(KernelRuntimeContext& ctx, const Tensor& self, int64_t offset,
                          int64_t dim1, int64_t dim2, Tensor& out) {
  return copy_view(ctx, diagonal(ctx, self, offset, dim1, dim2), out);
}

Tensor& unfold_copy_out(KernelRuntimeContext& ctx, const Tensor& self, int64_t dimension,
                        int64_t size, int64_t step, Tensor& out) {
  Strided view(self);
  int d;
  if (!expect_dim(ctx, dimension, view.rank, &d)) return out;
  const int64_t length = view.rank > 0 ? view.sizes[d] : 1;
  if (!ET_EXPECT(ctx, size >= 0 && size <= length && step > 0,
                 "size must be within [0, %" PRId64 "] and step positive, found %" PRId64
                 " and %" PRId64,
                 length, size, step) ||
      !ET_EXPECT(ctx, view.rank < kMaxRank, "self has the highest rank already, %d", kMaxRank)) {
    return out;
  }
  const int64_t stride = view.rank > 0 ? view.strides[d] : 0;
  if (view.rank > 0) {
    const int64_t windows = (length - size) / step + 1;
    view.narrow(d, 0, windows, windows > 1 ? step : 1);
  }
  view.append(size, stride);
  return copy_view(ctx, view, out);
}

Tensor& as_strided_copy_out(KernelRuntimeContext& ctx, const Tensor& self, ArrayRef<int64_t> size,
                            ArrayRef<int64_t> stride, std::optional<int64_t> storage_offset,
                            Tensor& out) {
  return copy_view(ctx, restrided(ctx, self, size, stride, storage_offset), out);
}

}  // namespace executorch::kernels::portable
