// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// Gradients of a convolution.
//
// Gradient of the input: the adjoint convolution, which is transposed if the convolution is not,
// and the reverse. Gradient of the weight: a matrix product over all positions of all images,
//   grad_weight[r, (s, tap)] =
//       sum over (image, q) of rows[r, (image, q)] * windows[(s, tap), (image, q)]
// where `rows` are the channels of the side that moves in steps (the output, or the input of a
// transposed convolution) and `windows` those of the other side. Gradient of the bias: a sum for
// each channel.
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

  /// Calls f(rows of an image, first position, positions, positions of earlier calls) for `count`
  /// positions of the batch from `first` on.
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

/// Adds in 16 lanes: shorter sums round less, and no addition waits for the one before.
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
          T sum = 0;  // of a row: shorter sums round less
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

/// Resizes a requested gradient to the shape of its operand, and checks its dtype.
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
  (void)bias_sizes;  // output_mask[2] selects the bias, which has an element for each channel
  if (ET_EXPECT(ctx, output_mask.size() == 3, "output_mask must have 3 values, found %zu",
                output_mask.size())) {
    convolve_backward(ctx, grad_output, input, weight,
                      {stride, padding, dilation, transposed, output_padding, groups},
                      {output_mask[0] ? &out0 : nullptr, output_mask[1] ? &out1 : nullptr,
                       output_mask[2] ? &out2 : nullptr});
  }
  return {out0, out1, out2};
}
}  // namespace executorch::kernels::portable
