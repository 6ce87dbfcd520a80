// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// Padding with a value (any dtype), or with the input's own elements, mirrored at the border or
// repeated from it (any dtype but bool, as in ATen). Negative padding crops.
#include <executorch/kernels/loops/dtype/convert.h>
#include <executorch/kernels/loops/memory/copy.h>
#include <executorch/kernels/portable/NativeFunctions.h>
#include <executorch/kernels/portable/spatial/plane.h>

#include <algorithm>

namespace executorch::kernels::portable {
namespace {

// No tensor is larger, and sums of two do not overflow.
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
    const auto cropped = [&] {
      return std::min<int64_t>(pad[2 * i], 0) + std::min<int64_t>(pad[2 * i + 1], 0);
    };
    if (!ET_EXPECT(ctx, fits && shape->sizes[d] >= 0 && self.size(d) + cropped() >= 0,
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
    const int64_t limit = border == Border::Reflect ? in : kLimit;
    const bool fits = before < limit && after < limit && before > -kLimit && after > -kLimit;
    axes[d] = {in, before, fits ? in + before + after : 0, border};
    if (!ET_EXPECT(ctx, in > 0 && fits && axes[d].out > 0,
                   "padding by %" PRId64 " and %" PRId64 " does not fit sizes %s", before, after,
                   ShapeText(self).text)) {
      return false;
    }
  }
  return true;
}

/// Pads a row: copies the input in one run and the padding around it element by element.
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
  // Without this, the loops would visit each of many images that have no channels.
  if (!resize(ctx, out, image_shape(self, spatial, sizes)) || out.numel() == 0) return out;
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
    // The range of this dimension that the input covers; fill the rest and narrow to the range.
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
