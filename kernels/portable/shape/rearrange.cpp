// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// Operators that move elements (flip, roll, repeat, pixel shuffle) or replace a view of a tensor.
#include <executorch/kernels/loops/dtype/convert.h>
#include <executorch/kernels/loops/memory/copy.h>
#include <executorch/kernels/loops/memory/index_order.h>
#include <executorch/kernels/portable/NativeFunctions.h>
#include <executorch/kernels/portable/shape/view.h>

namespace executorch::kernels::portable {
namespace {

/// Splits dimension d of a memory into [size / inner, inner].
void divide(Strided& memory, int d, int64_t inner) {
  memory.insert(d + 1, inner, memory.strides[d]);
  memory.sizes[d] /= inner;
  memory.strides[d] *= inner;
}

/// Moves dimension `from` to place `to`.
void reposition(Strided& memory, int from, int to) {
  const int64_t size = memory.sizes[from], stride = memory.strides[from];
  memory.remove(from);
  memory.insert(to, size, stride);
}

/// Copies to out one wrapped piece after the other: dimension d of out is self's, shifted.
bool roll(KernelRuntimeContext& ctx, const Strided& to, const Strided& from, const int64_t* shifts,
          int d) {
  if (d == to.rank) return copy(ctx, to, from);
  if (shifts[d] == 0) return roll(ctx, to, from, shifts, d + 1);
  const int64_t size = to.sizes[d], shift = shifts[d];
  Strided to_head = to, to_tail = to, from_head = from, from_tail = from;
  to_head.narrow(d, 0, shift);
  from_tail.narrow(d, size - shift, shift);
  to_tail.narrow(d, shift, size - shift);
  from_head.narrow(d, 0, size - shift);
  return roll(ctx, to_head, from_tail, shifts, d + 1) &&
         roll(ctx, to_tail, from_head, shifts, d + 1);
}

int64_t wrap(int64_t shift, int64_t size) {
  if (size == 0) return 0;
  const int64_t rest = shift % size;
  return rest < 0 ? rest + size : rest;
}

/// Rolling without dims: of the elements in index order, as one dimension.
Tensor& roll_flat(KernelRuntimeContext& ctx, const Tensor& self, int64_t shift, Tensor& out) {
  const int64_t n = self.numel(), head = wrap(shift, n);
  const Strided from(self), to(out);
  if (!expect_same_dtype(ctx, "self", self, "out", out)) return out;
  if (in_index_order(from) && in_index_order(to)) {
    Strided flat_from = from, flat_to = to;
    flat_from.rank = flat_to.rank = 0;
    flat_from.append(n, from.element_size());
    flat_to.append(n, from.element_size());
    roll(ctx, flat_to, flat_from, &head, 0);
    return out;
  }
  const Convert mover = move(from.element_size());
  if (!ET_EXPECT(ctx, mover != nullptr, "self has a dtype that no kernel can hold")) return out;
  for (int64_t i = 0; i < n; ++i) {
    int64_t rest_from = i, rest_to = i + head < n ? i + head : i + head - n;
    int64_t offset_from = 0, offset_to = 0;
    for (int d = from.rank - 1; d >= 0; --d) {
      offset_from += rest_from % from.sizes[d] * from.strides[d];
      offset_to += rest_to % to.sizes[d] * to.strides[d];
      rest_from /= from.sizes[d];
      rest_to /= to.sizes[d];
    }
    mover(to.data + offset_to, 0, from.data + offset_from, 0, 1);
  }
  return out;
}

/// [..., C * r * r, H, W] as [..., C, H, r, W, r].
Strided spread_channels(const Tensor& tensor, int64_t r) {
  Strided memory(tensor);
  const int c = memory.rank - 3;
  divide(memory, c, r);
  divide(memory, c, r);
  reposition(memory, c + 1, c + 3);
  reposition(memory, c + 1, c + 4);
  return memory;
}

/// [..., C, H * r, W * r] as [..., C, H, r, W, r].
Strided spread_space(const Tensor& tensor, int64_t r) {
  Strided memory(tensor);
  const int c = memory.rank - 3;
  divide(memory, c + 2, r);
  divide(memory, c + 1, r);
  return memory;
}

bool expect_shuffle(KernelRuntimeContext& ctx, const Tensor& self, int64_t factor) {
  return ET_EXPECT(ctx, self.dim() >= 3, "self must have rank 3 or more, found %d",
                   static_cast<int>(self.dim())) &&
         ET_EXPECT(ctx, factor > 0 && factor <= 46340,
                   "the factor must be within [1, 46340], found %" PRId64, factor);
}

/// out = self, then view(out) = src, converted to self's dtype.
template <class View>
Tensor& scatter_view(KernelRuntimeContext& ctx, const Tensor& self, const Tensor& src, Tensor& out,
                     View view) {
  if (!expect_same_dtype(ctx, "self", self, "out", out) || !resize_like(ctx, out, self)) {
    return out;
  }
  // If out is self (state that is updated in place), nothing needs to be copied.
  const bool in_place = out.const_data_ptr() == self.const_data_ptr();
  if (!in_place && !copy(ctx, Strided(out), Strided(self))) {
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

Tensor& flip_out(KernelRuntimeContext& ctx, const Tensor& self, ArrayRef<int64_t> dims,
                 Tensor& out) {
  uint32_t mask;
  Strided view(self);
  if (!expect_dims(ctx, dims, view.rank, &mask)) return out;
  for (int d = 0; d < view.rank; ++d) {
    if ((mask >> d & 1) == 0 || view.sizes[d] == 0) continue;
    view.data += (view.sizes[d] - 1) * view.strides[d];
    view.strides[d] = -view.strides[d];
  }
  return copy_view(ctx, view, out);
}

Tensor& roll_out(KernelRuntimeContext& ctx, const Tensor& self, ArrayRef<int64_t> shifts,
                 ArrayRef<int64_t> dims, Tensor& out) {
  const int rank = static_cast<int>(self.dim());
  const bool flat = dims.empty() && shifts.size() == 1;
  if (!ET_EXPECT(ctx, flat || (dims.size() == shifts.size() && !shifts.empty()),
                 "shifts and dims must have one length, found %zu and %zu", shifts.size(),
                 dims.size()) ||
      !resize_like(ctx, out, self)) {
    return out;
  }
  if (flat) return roll_flat(ctx, self, shifts[0], out);
  if (!ET_EXPECT(ctx, rank > 0, "self must have rank 1 or more, found rank 0")) return out;
  int64_t total[kMaxRank] = {};
  for (size_t i = 0; i < dims.size(); ++i) {
    int d;
    if (!expect_dim(ctx, dims[i], rank, &d)) return out;
    total[d] = wrap(total[d] + wrap(shifts[i], self.size(d)), self.size(d));
  }
  roll(ctx, Strided(out), Strided(self), total, 0);
  return out;
}

Tensor& repeat_out(KernelRuntimeContext& ctx, const Tensor& self, ArrayRef<int64_t> repeats,
                   Tensor& out) {
  const Strided from(self);
  if (!ET_EXPECT(ctx, Shape::fits(repeats) && repeats.size() >= size_t(from.rank),
                 "repeats must have %d to %d items, found %zu", from.rank, kMaxRank,
                 repeats.size())) {
    return out;
  }
  const int added = static_cast<int>(repeats.size()) - from.rank;
  Shape shape;
  for (int d = 0; d < static_cast<int>(repeats.size()); ++d) {
    const int64_t size = d < added ? 1 : from.sizes[d - added];
    if (!ET_EXPECT(ctx, repeats[d] >= 0 && (size == 0 || repeats[d] <= INT32_MAX / size),
                   "repeats[%d] = %" PRId64 " is out of range for size %" PRId64, d, repeats[d],
                   size)) {
      return out;
    }
    shape.append(size * repeats[d]);
  }
  if (!resize(ctx, out, shape) || out.numel() == 0) return out;
  // Splits each dimension into the repetition, along which self has stride 0, and self's index.
  const Strided whole(out);
  Strided to = whole, view = from;
  to.rank = view.rank = 0;
  for (int d = 0; d < whole.rank; ++d) {
    const int64_t size = d < added ? 1 : from.sizes[d - added];
    to.append(repeats[d], whole.strides[d] * size);
    to.append(size, whole.strides[d]);
    view.append(repeats[d], 0);
    view.append(size, d < added ? 0 : from.strides[d - added]);
  }
  copy(ctx, to, view);
  return out;
}

/// [..., C * r * r, H, W] → [..., C, H * r, W * r]
Tensor& pixel_shuffle_out(KernelRuntimeContext& ctx, const Tensor& self, int64_t upscale_factor,
                          Tensor& out) {
  const int64_t r = upscale_factor;
  if (!expect_shuffle(ctx, self, r)) return out;
  Shape shape(self);
  const int c = shape.rank - 3;
  if (!ET_EXPECT(ctx, shape.sizes[c] % (r * r) == 0,
                 "the channels of %s must be a multiple of the factor's square, %" PRId64,
                 ShapeText(self).text, r * r) ||
      !ET_EXPECT(ctx, shape.sizes[c + 1] <= INT32_MAX / r && shape.sizes[c + 2] <= INT32_MAX / r,
                 "a factor of %" PRId64 " is too large for shape %s", r, ShapeText(self).text)) {
    return out;
  }
  shape.sizes[c] /= r * r;
  shape.sizes[c + 1] *= r;
  shape.sizes[c + 2] *= r;
  if (!resize(ctx, out, shape)) return out;
  copy(ctx, spread_space(out, r), spread_channels(self, r));
  return out;
}

/// [..., C, H * r, W * r] → [..., C * r * r, H, W]
Tensor& pixel_unshuffle_out(KernelRuntimeContext& ctx, const Tensor& self, int64_t downscale_factor,
                            Tensor& out) {
  const int64_t r = downscale_factor;
  if (!expect_shuffle(ctx, self, r)) return out;
  Shape shape(self);
  const int c = shape.rank - 3;
  if (!ET_EXPECT(ctx, shape.sizes[c + 1] % r == 0 && shape.sizes[c + 2] % r == 0,
                 "height and width of %s must be multiples of the factor %" PRId64,
                 ShapeText(self).text, r) ||
      !ET_EXPECT(ctx, shape.sizes[c] <= INT32_MAX / (r * r),
                 "a factor of %" PRId64 " is too large for shape %s", r, ShapeText(self).text)) {
    return out;
  }
  shape.sizes[c] *= r * r;
  shape.sizes[c + 1] /= r;
  shape.sizes[c + 2] /= r;
  if (!resize(ctx, out, shape)) return out;
  copy(ctx, spread_channels(out, r), spread_space(self, r));
  return out;
}

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
