// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// The same elements in other places: flipped, rolled, repeated, shuffled between channels and
// space; tensors with one view of them replaced; and padding: with a value (any dtype), or with the
// input's own elements, mirrored at the border, or the border repeated (any dtype but bool, as
// ATen). Negative padding crops.
#include <executorch/kernels/loops/broadcast.h>
#include <executorch/kernels/loops/convert.h>
#include <executorch/kernels/loops/copy.h>
#include <executorch/kernels/loops/index_order.h>
#include <executorch/kernels/portable/NativeFunctions.h>
#include <executorch/kernels/portable/shape/view.h>
#include <executorch/kernels/portable/spatial/plane.h>

#include <algorithm>

namespace executorch::kernels::portable {
namespace {

// Splits dimension d of a memory into [size / inner, inner].
void divide(Strided& memory, int d, int64_t inner) {
  memory.insert(d + 1, inner, memory.strides[d]);
  memory.sizes[d] /= inner;
  memory.strides[d] *= inner;
}

// Moves dimension `from` to place `to`.
void reposition(Strided& memory, int from, int to) {
  const int64_t size = memory.sizes[from], stride = memory.strides[from];
  memory.remove(from);
  memory.insert(to, size, stride);
}

// Copies to out one wrapped piece after the other: dimension d of out is self's, shifted.
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

// Rolling without dims: of the elements in index order, as one dimension.
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

// [..., C * r * r, H, W] as [..., C, H, r, W, r].
Strided spread_channels(const Tensor& tensor, int64_t r) {
  Strided memory(tensor);
  const int c = memory.rank - 3;
  divide(memory, c, r);
  divide(memory, c, r);
  reposition(memory, c + 1, c + 3);
  reposition(memory, c + 1, c + 4);
  return memory;
}

// [..., C, H * r, W * r] as [..., C, H, r, W, r].
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

// out = self, then view(out) = src, converted to self's dtype.
template <class View>
Tensor& scatter_view(KernelRuntimeContext& ctx, const Tensor& self, const Tensor& src, Tensor& out,
                     View view) {
  if (!expect_same_dtype(ctx, "self", self, "out", out) || !resize_like(ctx, out, self)) {
    return out;
  }
  // State that is written in place is there already.
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

// Sums of two stay in range, and no tensor is larger.
constexpr int64_t kLimit = int64_t(1) << 31;

/// The paddings before and after every dimension: `pad` lists the last dimension first.
struct Paddings {
  int64_t before[kMaxRank] = {};
  int64_t after[kMaxRank] = {};
};

bool read_paddings(KernelRuntimeContext& ctx, const Tensor& self, ArrayRef<int64_t> pad,
                   Paddings* paddings, Shape* shape) {
  const int rank = int(self.dim());
  if (!ET_EXPECT(ctx, pad.size() % 2 == 0 && pad.size() <= size_t(2 * rank),
                 "pad must have an even number of values, at most %d, found %zu", 2 * rank,
                 pad.size())) {
    return false;
  }
  *shape = Shape(self);
  for (size_t i = 0; i < pad.size() / 2; ++i) {
    const int d = rank - 1 - int(i);
    paddings->before[d] = pad[2 * i];
    paddings->after[d] = pad[2 * i + 1];
    const bool fits = pad[2 * i] > -kLimit && pad[2 * i] < kLimit && pad[2 * i + 1] > -kLimit &&
                      pad[2 * i + 1] < kLimit;
    if (fits) shape->sizes[d] += pad[2 * i] + pad[2 * i + 1];
    const int64_t cropped = std::min<int64_t>(pad[2 * i], 0) + std::min<int64_t>(pad[2 * i + 1], 0);
    if (!ET_EXPECT(ctx, fits && shape->sizes[d] >= 0 && self.size(d) + cropped >= 0,
                   "padding by %" PRId64 " and %" PRId64 " does not fit dimension %d of sizes %s",
                   pad[2 * i], pad[2 * i + 1], d, ShapeText(self).text)) {
      return false;
    }
  }
  return true;
}

enum class Border { Reflect, Replicate };

/// One spatial dimension: output q shows the input at source(q).
struct PadAxis {
  int64_t in, before, out;
  Border border;

  int64_t source(int64_t q) const {
    int64_t at = q - before;
    if (border == Border::Replicate) return std::clamp<int64_t>(at, 0, in - 1);
    if (at < 0) at = -at;
    return at < in ? at : 2 * (in - 1) - at;
  }
};

bool pad_axes(KernelRuntimeContext& ctx, const Tensor& self, ArrayRef<int64_t> padding, int spatial,
              Border border, PadAxis* axes) {
  if (!expect_images(ctx, "self", self, spatial) ||
      !ET_EXPECT(ctx, padding.size() == size_t(2 * spatial),
                 "padding must have %d values, found %zu", 2 * spatial, padding.size())) {
    return false;
  }
  const Images images(self, spatial);
  for (int d = 0; d < kSpatial; ++d) {
    const int64_t in = images.sizes[d];
    const int last = kSpatial - 1 - d;  // the list starts with the last dimension
    const int64_t before = last < spatial ? padding[2 * last] : 0;
    const int64_t after = last < spatial ? padding[2 * last + 1] : 0;
    const int64_t most = border == Border::Reflect ? in : kLimit;
    const bool fits = before < most && after < most && before > -kLimit && after > -kLimit;
    axes[d] = {in, before, fits ? in + before + after : 0, border};
    if (!ET_EXPECT(ctx, in > 0 && fits && axes[d].out > 0,
                   "padding by %" PRId64 " and %" PRId64 " does not fit sizes %s", before, after,
                   ShapeText(self).text)) {
      return false;
    }
  }
  return true;
}

/// A row: the part that shows the input as it is in one run, what lies around it one by one.
void pad_row(const PadAxis& axis, Convert move_elements, char* to, int64_t to_stride,
             const char* from, int64_t from_stride) {
  const int64_t begin = std::clamp<int64_t>(axis.before, 0, axis.out);
  const int64_t end = std::clamp(axis.before + axis.in, begin, axis.out);
  const auto single = [&](int64_t q) {
    move_elements(to + q * to_stride, to_stride, from + axis.source(q) * from_stride, from_stride,
                  1);
  };
  for (int64_t q = 0; q < begin; ++q) single(q);
  if (end > begin) {
    move_elements(to + begin * to_stride, to_stride, from + (begin - axis.before) * from_stride,
                  from_stride, end - begin);
  }
  for (int64_t q = end; q < axis.out; ++q) single(q);
}

Tensor& mirror_pad(KernelRuntimeContext& ctx, const Tensor& self, ArrayRef<int64_t> padding,
                   int spatial, Border border, Tensor& out) {
  PadAxis axes[kSpatial];
  const ScalarType dtype = self.scalar_type();
  if (!ET_EXPECT(ctx, dtype != ScalarType::Bool && width_of(dtype) != 0,
                 "padding with a border takes numbers, found %s", name_of(dtype)) ||
      !expect_dtype(ctx, "out", out, dtype) ||
      !pad_axes(ctx, self, padding, spatial, border, axes)) {
    return out;
  }
  const int64_t sizes[] = {axes[0].out, axes[1].out, axes[2].out};
  if (!resize(ctx, out, image_shape(self, spatial, sizes))) return out;
  const Convert move_elements = move(width_of(dtype));
  const Images from(self, spatial), to(out, spatial);
  for (int64_t image = 0; image < from.batch; ++image) {
    for (int64_t channel = 0; channel < from.channels; ++channel) {
      const Plane in = from.plane(image, channel), result = to.plane(image, channel);
      for (int64_t z = 0; z < axes[0].out; ++z) {
        for (int64_t y = 0; y < axes[1].out; ++y) {
          pad_row(axes[2], move_elements,
                  result.data + z * result.strides[0] + y * result.strides[1], result.strides[2],
                  in.data + axes[0].source(z) * in.strides[0] + axes[1].source(y) * in.strides[1],
                  in.strides[2]);
        }
      }
    }
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
  const bool flat = dims.size() == 0 && shifts.size() == 1;
  if (!ET_EXPECT(ctx, flat || (dims.size() == shifts.size() && shifts.size() > 0),
                 "shifts and dims must have one length, found %zu and %zu", shifts.size(),
                 dims.size()) ||
      !resize_like(ctx, out, self)) {
    return out;
  }
  if (flat) return roll_flat(ctx, self, shifts[0], out);
  if (!ET_EXPECT(ctx, rank > 0, "self of rank 0 has no dim to roll along")) return out;
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
  // Each dimension becomes two: which repetition, and where in it; self stands still along the
  // first.
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

// [..., C * r * r, H, W] → [..., C, H * r, W * r]
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

// [..., C, H * r, W * r] → [..., C * r * r, H, W]
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

Tensor& constant_pad_nd_out(KernelRuntimeContext& ctx, const Tensor& self, ArrayRef<int64_t> pad,
                            const Scalar& value, Tensor& out) {
  Paddings paddings;
  Shape shape;
  if (!expect_dtype(ctx, "out", out, self.scalar_type()) ||
      !read_paddings(ctx, self, pad, &paddings, &shape) || !resize(ctx, out, shape)) {
    return out;
  }
  const bool is_filled = std::any_of(pad.begin(), pad.end(), [](int64_t n) { return n > 0; });
  if (is_filled && !expect_fill(ctx, "value", value, out)) return out;
  Strided from(self), to(out);
  for (int d = 0; d < to.rank; ++d) {
    // What the input covers of this dimension; the rest of it is filled and left behind.
    const int64_t begin = std::clamp<int64_t>(paddings.before[d], 0, to.sizes[d]);
    const int64_t end =
        std::clamp(to.sizes[d] - std::max<int64_t>(paddings.after[d], 0), begin, to.sizes[d]);
    Strided low = to, high = to;
    low.narrow(d, 0, begin);
    high.narrow(d, end, to.sizes[d] - end);
    if (!fill(ctx, low, value) || !fill(ctx, high, value)) return out;
    to.narrow(d, begin, end - begin);
    from.narrow(d, std::max<int64_t>(-paddings.before[d], 0), end - begin);
  }
  copy(ctx, to, from);
  return out;
}

#define MIRROR_PAD(name, spatial, border)                                                \
  Tensor& name(KernelRuntimeContext& ctx, const Tensor& self, ArrayRef<int64_t> padding, \
               Tensor& out) {                                                            \
    return mirror_pad(ctx, self, padding, spatial, Border::border, out);                 \
  }
MIRROR_PAD(reflection_pad1d_out, 1, Reflect)
MIRROR_PAD(reflection_pad2d_out, 2, Reflect)
MIRROR_PAD(reflection_pad3d_out, 3, Reflect)
MIRROR_PAD(replication_pad1d_out, 1, Replicate)
MIRROR_PAD(replication_pad2d_out, 2, Replicate)
MIRROR_PAD(replication_pad3d_out, 3, Replicate)
#undef MIRROR_PAD

}  // namespace executorch::kernels::portable
