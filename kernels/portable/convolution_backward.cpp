// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// What convolutions are made of, forwards and back: the windows of an image as columns (im2col),
// columns added up to an image (col2im), and gradients.
//
// Gradients of a convolution. By its input: the adjoint convolution (transposed, if it is not, and
// the reverse). By its weight: a matrix product over all positions of all images,
//   grad_weight[r, (s, tap)] = sum over (image, q) of rows[r, (image, q)] * windows[(s, tap),
//   (image, q)]
// where `rows` are the channels of the side that moves in steps (the output; of a transposed
// convolution the input) and `windows` those of the other side. By its bias: sums over channels.
#include <executorch/kernels/portable/NativeFunctions.h>
#include <executorch/kernels/portable/conv/convolve.h>
#include <executorch/kernels/portable/conv/operands.h>

#include <algorithm>

namespace executorch::kernels::portable {
namespace {

/// The rows of TapRows over a batch: matrix[(channel, tap), (image, q)], or its transpose.
template <class T>
class BatchRows final : public BlockSource<T> {
 public:
  BatchRows(const Images& images, int64_t channel, const WindowLoops& loops, bool transposed)
      : images_(images), channel_(channel), loops_(loops), transposed_(transposed) {}

  void read(int64_t row, int64_t rows, int64_t column, int64_t columns, T* to,
            int64_t step) const override {
    if (!transposed_) {
      return for_each_image(column, columns,
                            [&](const TapRows<T>& taps, int64_t q, int64_t n, int64_t done) {
                              taps.read(row, rows, q, n, to + done, step);
                            });
    }
    for_each_image(row, rows, [&](const TapRows<T>& taps, int64_t q, int64_t n, int64_t done) {
      for (int64_t i = 0; i < n; i += kRun) {
        const int64_t run = std::min(kRun, n - i);
        T values[kLine * kRun];
        for (int64_t j = 0; j < columns; j += kLine) {
          const int64_t lines = std::min(kLine, columns - j);
          taps.read(column + j, lines, q + i, run, values, kRun);
          transpose(values, kRun, run, lines, to + (done + i) * step + j, step);
        }
      }
    });
  }

 private:
  static constexpr int64_t kLine = 16, kRun = 128;

  /// Calls f(the rows of an image, its first position, how many, how many there were before) for
  /// the positions of the batch from `first` on.
  template <class F>
  void for_each_image(int64_t first, int64_t count, F&& f) const {
    const int64_t outputs = loops_.outputs();
    for (int64_t done = 0; done < count;) {
      const int64_t image = (first + done) / outputs, q = (first + done) % outputs;
      const int64_t n = std::min(count - done, outputs - q);
      const Plane plane = images_.plane(image, channel_);
      f(TapRows<T>(plane, loops_), q, n, done);
      done += n;
    }
  }

  const Images& images_;
  int64_t channel_;
  const WindowLoops& loops_;
  bool transposed_;
};

/// Writes to weights of any dim order.
template <class T>
class WeightSink final : public BlockSink<T> {
 public:
  explicit WeightSink(const WeightNest& nest)
      : nest_(nest), single_(nest.single_stride()), store_(store(compute_type<T>, nest.dtype)) {}

  void finish(int64_t row, int64_t rows, int64_t column, int64_t columns, const T* from,
              int64_t step) override {
    const int64_t run = single_ ? columns : 1;
    for (int64_t i = 0; i < rows; ++i) {
      for (int64_t j = 0; j < columns; j += run) {
        store_(nest_.at(row + i, column + j), single_,
               reinterpret_cast<const char*>(from + i * step + j), sizeof(T), run);
      }
    }
  }

 private:
  const WeightNest& nest_;
  int64_t single_;
  Convert store_;
};

struct WeightGradient {
  const ConvGeometry& geometry;
  Images rows, windows;
  Strided weight;

  /// The windows of the forward convolution, seen from the side that moves in steps.
  WindowLoops window_loops() const {
    WindowLoops loops;
    for (int d = 0; d < kSpatial; ++d) {
      const ConvGeometry& g = geometry;
      loops.axis[d] = {windows.sizes[d], rows.sizes[d], 0, 1, g.kernel[d], 0, 1, -g.padding[d],
                       g.stride[d],      g.dilation[d]};
    }
    return loops;
  }

  WindowLoops row_loops() const {
    WindowLoops loops;
    for (int d = 0; d < kSpatial; ++d) {
      loops.axis[d] = {rows.sizes[d], rows.sizes[d], 0, 1, 1, 0, 1, 0, 1, 1};
    }
    return loops;
  }

  template <class T>
  void run(KernelRuntimeContext& ctx) const {
    const WindowLoops taps = window_loops(), steps = row_loops();
    const int64_t groups = geometry.groups;
    const int64_t m = rows.channels / groups, inner = windows.channels / groups;
    Gemm<T> gemm(ctx, tile_of<T>(plain_gemm_tiles()), m, inner * taps.taps(),
                 rows.batch * steps.outputs());
    for (int64_t group = 0; group < groups; ++group) {
      const WeightNest nest = WeightNest::all(weight, group * m);
      const BatchRows<T> left(rows, group * m, steps, false);
      const BatchRows<T> right(windows, group * inner, taps, true);
      WeightSink<T> sink(nest);
      gemm.run(left, right, sink);
    }
  }
};

/// Side by side, so that long sums lose less and the processor waits for none.
template <class T>
T sum_of(const T* values, int64_t n) {
  constexpr int64_t kLanes = 16;
  T lanes[kLanes] = {};
  int64_t i = 0;
  for (; i + kLanes <= n; i += kLanes) {
    for (int64_t lane = 0; lane < kLanes; ++lane) lanes[lane] += values[i + lane];
  }
  for (int64_t lane = 0; i + lane < n; ++lane) lanes[lane] += values[i + lane];
  T sum = 0;
  for (const T lane : lanes) sum += lane;
  return sum;
}

template <class T>
void sum_channels(const Images& images, const Strided& out) {
  Reader<T> reader(images.first.dtype);
  for (int64_t c = 0; c < images.channels; ++c) {
    T total = 0;
    for (int64_t n = 0; n < images.batch; ++n) {
      const Plane plane = images.plane(n, c);
      for (int64_t z = 0; z < images.sizes[0]; ++z) {
        for (int64_t y = 0; y < images.sizes[1]; ++y) {
          const char* const row = plane.data + z * plane.strides[0] + y * plane.strides[1];
          T sum = 0;  // of a row, so that long sums lose less
          for (int64_t x = 0; x < images.sizes[2]; x += kBlock) {
            const int64_t count = std::min(kBlock, images.sizes[2] - x);
            sum += sum_of(reader(row + x * plane.strides[2], plane.strides[2], count), count);
          }
          total += sum;
        }
      }
    }
    write<T>(total, out.data + c * out.strides[0], out.dtype);
  }
}

/// The gradient, if it is asked for, has the dtype and gets the shape of what it belongs to.
bool prepare(KernelRuntimeContext& ctx, const char* name, Tensor* gradient, ScalarType dtype,
             const Shape& shape) {
  return !gradient || (expect_dtype(ctx, name, *gradient, dtype) && resize(ctx, *gradient, shape));
}

bool prepare(KernelRuntimeContext& ctx, const Tensor& grad_output, const Tensor& input,
             const Tensor& weight, const ConvArguments& arguments, const ConvGradients& gradients,
             ConvGeometry* g) {
  const ScalarType dtype = input.scalar_type();
  if (!ET_EXPECT(ctx, is_floating(dtype), "input must be floating point, found %s",
                 name_of(dtype)) ||
      !expect_dtype(ctx, "weight", weight, dtype) ||
      !expect_dtype(ctx, "grad_output", grad_output, dtype) ||
      !conv_geometry(ctx, input, weight, std::nullopt, arguments, g) ||
      !ET_EXPECT(ctx, Shape(grad_output) == g->out_shape(),
                 "grad_output must have sizes %s, found %s", ShapeText(g->out_shape()).text,
                 ShapeText(grad_output).text)) {
    return false;
  }
  Shape channels;
  channels.append(g->groups * g->out_channels);
  return prepare(ctx, "the gradient of the input", gradients.input, dtype, Shape(input)) &&
         prepare(ctx, "the gradient of the weight", gradients.weight, dtype, Shape(weight)) &&
         prepare(ctx, "the gradient of the bias", gradients.bias, dtype, channels);
}

}  // namespace

void convolve_backward(KernelRuntimeContext& ctx, const Tensor& grad_output, const Tensor& input,
                       const Tensor& weight, const ConvArguments& arguments,
                       const ConvGradients& gradients) {
  ConvGeometry g;
  if (!prepare(ctx, grad_output, input, weight, arguments, gradients, &g)) return;
  if (gradients.input) {
    convolve(ctx, nullptr, g.adjoint(), grad_output, weight, std::nullopt, *gradients.input);
  }
  const Images outer(grad_output, g.spatial), inner(input, g.spatial);
  if (gradients.weight && weight.numel() > 0) {
    const WeightGradient gradient = {g, g.transposed ? inner : outer, g.transposed ? outer : inner,
                                     Strided(*gradients.weight)};
    visit_floating(input.scalar_type(), [&](auto tag) { gradient.run<ET_TYPE_OF(tag)>(ctx); });
  }
  if (gradients.bias) {
    visit_floating(input.scalar_type(), [&](auto tag) {
      sum_channels<ET_TYPE_OF(tag)>(outer, Strided(*gradients.bias));
    });
  }
}

std::tuple<Tensor&, Tensor&, Tensor&> convolution_backward_out(
    KernelRuntimeContext& ctx, const Tensor& grad_output, const Tensor& input, const Tensor& weight,
    std::optional<ArrayRef<int64_t>> bias_sizes, ArrayRef<int64_t> stride,
    ArrayRef<int64_t> padding, ArrayRef<int64_t> dilation, bool transposed,
    ArrayRef<int64_t> output_padding, int64_t groups, ArrayRef<bool> output_mask, Tensor& out0,
    Tensor& out1, Tensor& out2) {
  (void)bias_sizes;  // says that there is a bias; its size is that of the channels
  if (ET_EXPECT(ctx, output_mask.size() == 3, "output_mask must have 3 values, found %zu",
                output_mask.size())) {
    convolve_backward(ctx, grad_output, input, weight,
                      {stride, padding, dilation, transposed, output_padding, groups},
                      {output_mask[0] ? &out0 : nullptr, output_mask[1] ? &out1 : nullptr,
                       output_mask[2] ? &out2 : nullptr});
  }
  return {out0, out1, out2};
}

namespace {

// im2col takes floating point and bool, col2im floating point; 16-bit floats are summed in float32.
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

/// The window whose tap lies on this pixel, or -1.
int64_t window_at(const WindowAxis& axis, int64_t pixel, int64_t tap) {
  const int64_t distance = pixel - axis.input(0, tap);
  const int64_t window = distance / axis.step;
  return distance < 0 || distance % axis.step != 0 || window >= axis.outputs ? -1 : window;
}

template <class T>
T pixel_sum(const Columns& from, const char* channel, const WindowLoops& loops, int64_t y,
            int64_t x) {
  T sum = 0;
  for (int64_t i = 0; i < loops.axis[1].taps; ++i) {
    const int64_t row = window_at(loops.axis[1], y, i);
    for (int64_t j = 0; row >= 0 && j < loops.axis[2].taps; ++j) {
      const int64_t column = window_at(loops.axis[2], x, j);
      if (column < 0) continue;
      sum += read<T>(channel + (i * loops.axis[2].taps + j) * from.row_stride +
                         (row * loops.axis[2].outputs + column) * from.column_stride,
                     from.memory.dtype);
    }
  }
  return sum;
}

template <class T>
void fold(const Columns& from, const Images& to, const WindowLoops& loops) {
  for (int64_t image = 0; image < to.batch; ++image) {
    for (int64_t c = 0; c < to.channels; ++c) {
      const Plane plane = to.plane(image, c);
      const char* channel =
          from.memory.data + image * from.batch_stride + c * loops.taps() * from.row_stride;
      for (int64_t y = 0; y < to.sizes[1]; ++y) {
        for (int64_t x = 0; x < to.sizes[2]; ++x) {
          write<T>(pixel_sum<T>(from, channel, loops, y, x),
                   plane.data + y * plane.strides[1] + x * plane.strides[2], plane.dtype);
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
  if (!resize(ctx, out, shape)) return out;
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
  if (!resize(ctx, out, shape)) return out;
  const Columns columns(self);
  const Images images(out, 2);
  visit_floating(dtype, [&](auto tag) { fold<ET_TYPE_OF(tag)>(columns, images, loops); });
  return out;
}

}  // namespace executorch::kernels::portable
