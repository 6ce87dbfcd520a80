// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// im2col writes the windows of an image as columns; col2im adds such columns up to an image.
#include <executorch/kernels/engine/arithmetic.h>
#include <executorch/kernels/portable/NativeFunctions.h>
#include <executorch/kernels/portable/conv/operands.h>

#include <algorithm>
#include <numeric>

namespace executorch::kernels::portable {
namespace {

/// im2col takes floating point and bool, col2im floating point; 16-bit floats are summed in
/// float32.
struct UnfoldArguments {
  ArrayRef<int64_t> kernel, dilation, padding, stride;
};

/// The loops over windows of an image of these two spatial sizes.
bool unfold_loops(KernelRuntimeContext& ctx, const int64_t* sizes, const UnfoldArguments& a,
                  WindowLoops* loops) {
  int64_t kernel[kSpatial], dilation[kSpatial], padding[kSpatial], stride[kSpatial];
  if (!expect_spatial_list(ctx, "kernel_size", a.kernel, 2, 1, 1, kernel) ||
      !expect_spatial_list(ctx, "dilation", a.dilation, 2, 1, 1, dilation) ||
      !expect_spatial_list(ctx, "padding", a.padding, 2, 0, 0, padding) ||
      !expect_spatial_list(ctx, "stride", a.stride, 2, 1, 1, stride)) {
    return false;
  }
  for (int d = 0; d < kSpatial; ++d) {
    const int64_t room = sizes[d] + 2 * padding[d] - dilation[d] * (kernel[d] - 1) - 1;
    if (!ET_EXPECT(ctx, sizes[d] > 0 && room >= 0,
                   "a window of %" PRId64 " does not fit an image of %" PRId64, kernel[d],
                   sizes[d])) {
      return false;
    }
    loops->axis[d] = {sizes[d], room / stride[d] + 1, 0,         1,          kernel[d], 0,
                      1,        -padding[d],          stride[d], dilation[d]};
  }
  return ET_EXPECT(ctx, loops->fit(), "the window is too large");
}

/// Columns [batch, channels * taps, windows]; `batch` missing for a single image.
struct Columns {
  Strided memory;
  int64_t batch_stride, row_stride, column_stride;

  explicit Columns(const Tensor& tensor) : memory(tensor) {
    const int rows = memory.rank - 2;
    batch_stride = rows > 0 ? memory.strides[0] : 0;
    row_stride = memory.strides[rows];
    column_stride = memory.strides[rows + 1];
  }
};

template <class T>
void unfold(const Images& from, const Columns& to, const WindowLoops& loops) {
  const Convert store_row = store(compute_type<T>, to.memory.dtype);
  T values[kBlock];
  for (int64_t image = 0; image < from.batch; ++image) {
    const Plane plane = from.plane(image, 0);
    const TapRows<T> rows(plane, loops);
    for (int64_t k = 0; k < from.channels * loops.taps(); ++k) {
      for (int64_t q = 0; q < loops.outputs(); q += kBlock) {
        const int64_t n = std::min(kBlock, loops.outputs() - q);
        rows.read(k, 1, q, n, values, kBlock);
        store_row(
            to.memory.data + image * to.batch_stride + k * to.row_stride + q * to.column_stride,
            to.column_stride, reinterpret_cast<const char*>(values), sizeof(T), n);
      }
    }
  }
}

/// The taps that cover a pixel: first, first + step …, below end; with their windows. A kernel may
/// have as many taps as the image has pixels: it would take too long to visit all.
struct CoveringTaps {
  int64_t first, end, step;
  int64_t window;       // of the first tap
  int64_t window_step;  // how many windows earlier that of the next tap is

  CoveringTaps() = default;
  CoveringTaps(const WindowAxis& axis, int64_t pixel) {
    // Tap t of window w is at the pixel: distance = w * axis.step + t * axis.tap_shift.
    const int64_t distance = pixel - axis.origin, reach = (axis.outputs - 1) * axis.step;
    step = axis.step / std::gcd(axis.step, axis.tap_shift);
    window_step = step * axis.tap_shift / axis.step;
    end = std::min(axis.taps, distance / axis.tap_shift + 1);
    first = engine::first_multiple(axis.tap_shift, distance, axis.step);
    if (first < 0) first = end;
    if (const int64_t beyond = distance - first * axis.tap_shift - reach;
        first < end && beyond > 0) {
      const int64_t period = step * axis.tap_shift;
      first += (beyond + period - 1) / period * step;
    }
    window = (distance - first * axis.tap_shift) / axis.step;
  }
};

template <class T>
T pixel_sum(const Columns& from, const char* channel, const WindowLoops& loops,
            const CoveringTaps& down, const CoveringTaps& across) {
  const int64_t width = loops.axis[2].outputs;
  T sum = 0;
  for (int64_t i = down.first, row = down.window; i < down.end;
       i += down.step, row -= down.window_step) {
    for (int64_t j = across.first, column = across.window; j < across.end;
         j += across.step, column -= across.window_step) {
      sum += read<T>(channel + (i * loops.axis[2].taps + j) * from.row_stride +
                         (row * width + column) * from.column_stride,
                     from.memory.dtype);
    }
  }
  return sum;
}

/// Columns of an image whose covering taps `fold` keeps: the divisions that find them are then done
/// once for all rows and channels.
constexpr int64_t kFoldColumns = 32;

template <class T>
void fold(const Columns& from, const Images& to, const WindowLoops& loops) {
  CoveringTaps across[kFoldColumns];
  for (int64_t x = 0; x < to.sizes[2]; x += kFoldColumns) {
    const int64_t columns = std::min(kFoldColumns, to.sizes[2] - x);
    for (int64_t i = 0; i < columns; ++i) across[i] = CoveringTaps(loops.axis[2], x + i);
    for (int64_t image = 0; image < to.batch; ++image) {
      for (int64_t c = 0; c < to.channels; ++c) {
        const Plane plane = to.plane(image, c);
        const char* channel =
            from.memory.data + image * from.batch_stride + c * loops.taps() * from.row_stride;
        for (int64_t y = 0; y < to.sizes[1]; ++y) {
          const CoveringTaps down(loops.axis[1], y);
          char* row = plane.data + y * plane.strides[1] + x * plane.strides[2];
          for (int64_t i = 0; i < columns; ++i) {
            write<T>(pixel_sum<T>(from, channel, loops, down, across[i]),
                     row + i * plane.strides[2], plane.dtype);
          }
        }
      }
    }
  }
}

}  // namespace

Tensor& im2col_out(KernelRuntimeContext& ctx, const Tensor& self, ArrayRef<int64_t> kernel_size,
                   ArrayRef<int64_t> dilation, ArrayRef<int64_t> padding, ArrayRef<int64_t> stride,
                   Tensor& out) {
  WindowLoops loops;
  const ScalarType dtype = self.scalar_type();
  if (!ET_EXPECT(ctx, is_floating(dtype) || dtype == ScalarType::Bool,
                 "im2col takes floating point or bool, found %s", name_of(dtype)) ||
      !expect_dtype(ctx, "out", out, dtype) || !expect_images(ctx, "self", self, 2)) {
    return out;
  }
  const Images images(self, 2);
  if (!unfold_loops(ctx, images.sizes, {kernel_size, dilation, padding, stride}, &loops))
    return out;
  Shape shape;
  if (self.dim() == 4) shape.append(images.batch);
  shape.append(images.channels * loops.taps());
  shape.append(loops.outputs());
  if (!resize(ctx, out, shape) || out.numel() == 0) return out;
  const Columns columns(out);
  visit_product_type(dtype, [&](auto tag) { unfold<ET_TYPE_OF(tag)>(images, columns, loops); });
  return out;
}

Tensor& col2im_out(KernelRuntimeContext& ctx, const Tensor& self, ArrayRef<int64_t> output_size,
                   ArrayRef<int64_t> kernel_size, ArrayRef<int64_t> dilation,
                   ArrayRef<int64_t> padding, ArrayRef<int64_t> stride, Tensor& out) {
  WindowLoops loops;
  int64_t sizes[kSpatial];
  const ScalarType dtype = self.scalar_type();
  if (!ET_EXPECT(ctx, is_floating(dtype), "col2im takes floating point, found %s",
                 name_of(dtype)) ||
      !expect_dtype(ctx, "out", out, dtype) ||
      !ET_EXPECT(ctx, self.dim() == 2 || self.dim() == 3,
                 "self must have 2 or 3 dimensions, found sizes %s", ShapeText(self).text) ||
      !expect_spatial_list(ctx, "output_size", output_size, 2, 1, 1, sizes) ||
      !unfold_loops(ctx, sizes, {kernel_size, dilation, padding, stride}, &loops)) {
    return out;
  }
  const int rows = int(self.dim()) - 2;
  if (!ET_EXPECT(ctx, self.size(rows) % loops.taps() == 0 && self.size(rows + 1) == loops.outputs(),
                 "self must have sizes [channels * %" PRId64 ", %" PRId64 "] at its end, found %s",
                 loops.taps(), loops.outputs(), ShapeText(self).text)) {
    return out;
  }
  Shape shape;
  if (rows > 0) shape.append(self.size(0));
  shape.append(self.size(rows) / loops.taps());
  shape.append(sizes[1]);
  shape.append(sizes[2]);
  if (!resize(ctx, out, shape) || out.numel() == 0) return out;
  const Columns columns(self);
  const Images images(out, 2);
  visit_floating(dtype, [&](auto tag) { fold<ET_TYPE_OF(tag)>(columns, images, loops); });
  return out;
}

}  // namespace executorch::kernels::portable
