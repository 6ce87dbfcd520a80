// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// Convolution on int8: the product of weights [channels, k] with panels of the image.
#include <executorch/kernels/loops/divide.h>
#include <executorch/kernels/portable/conv/geometry.h>
#include <executorch/kernels/quantized/NativeFunctions.h>
#include <executorch/kernels/quantized/fused.h>
#include <executorch/kernels/quantized/window_panels.h>

namespace executorch::kernels::quantized {

using namespace portable;

namespace {

// Multiplications worth the start of a thread, some 10 us of them.
constexpr int64_t kLeastProducts = 1 << 19;
// Panels that are held at a time for all rows of the weights, so that a row is widened for many
// columns; the second level of caches has room for them.
constexpr int64_t kHeldBytes = sizeof(Factor) > 1 ? 128 * 1024 : 0;

struct Layer {
  const ConvGeometry& geometry;
  const WindowLoops windows;
  const int8_t* weight;
  const float* scales;
  const float* offsets;
  Limits limits;
  int8_t padding;
};

// Where the work of one thread holds what it makes of its part.
struct Room {
  int64_t panel, panels, rows, windows;  // bytes of a panel, how many, bytes of rows, of windows

  Room(const IntegerLoops& loops, const Layer& layer, int64_t k)
      : panel(aligned(k * loops.columns * int64_t(sizeof(Factor)))),
        panels(std::clamp<int64_t>(kHeldBytes / panel, 1,
                                   (layer.windows.outputs() + loops.columns - 1) / loops.columns)),
        rows(sizeof(Factor) > 1 ? aligned(loops.rows * k * int64_t(sizeof(Factor))) : 0),
        windows(aligned(WindowPanels::room(loops, layer.windows.taps()))) {}
  int64_t bytes() const { return panel * panels + rows + windows; }

 private:
  static int64_t aligned(int64_t bytes) { return (bytes + 63) / 64 * 64; }
};

// One group of one image.
class Product {
 public:
  Product(const IntegerLoops& loops, const Layer& layer, const Plane& image, const Plane& out,
          int64_t first_channel)
      : loops_(loops), layer_(layer), image_(image), out_(out), first_(first_channel) {
    const ConvGeometry& g = layer.geometry;
    depth_ = g.in_channels * layer.windows.taps();
    k_ = (depth_ + kTogether - 1) / kTogether * kTogether;
    int64_t stride = 1;
    flat_ = true;
    for (int d = kSpatial - 1; d >= 0; --d) {
      flat_ = flat_ && (g.out[d] == 1 || out.strides[d] == stride);
      stride *= g.out[d];
    }
  }

  // Panels [begin, end).
  void run(int64_t begin, int64_t end, const Room& room, char* memory) const {
    auto* const panels = reinterpret_cast<Factor*>(memory);
    auto* const rows = reinterpret_cast<Factor*>(memory + room.panel * room.panels);
    WindowPanels windows(loops_, layer_.windows, layer_.padding,
                         memory + room.panel * room.panels + room.rows);
    const int64_t step = room.panel / int64_t(sizeof(Factor));
    for (int64_t at = begin; at < end; at += room.panels) {
      const int64_t held = std::min(room.panels, end - at);
      for (int64_t p = 0; p < held; ++p) {
        const int64_t first = (at + p) * loops_.columns;
        windows.make(image_, layer_.geometry.in_channels, first, columns_at(first),
                     panels + p * step);
      }
      multiply(at, held, panels, step, rows);
    }
  }

 private:
  int64_t columns_at(int64_t first) const {
    return std::min<int64_t>(loops_.columns, layer_.windows.outputs() - first);
  }

  void multiply(int64_t at, int64_t held, const Factor* panels, int64_t step, Factor* room) const {
    int32_t sums[IntegerLoops::kMostRows * IntegerLoops::kMostColumns];
    const int64_t channels = layer_.geometry.out_channels;
    for (int64_t row = 0; row < channels; row += loops_.rows) {
      const int64_t n = std::min<int64_t>(loops_.rows, channels - row);
      const Factor* const weights = factors(first_ + row, n, room);
      for (int64_t p = 0; p < held; ++p) {
        loops_.tile[n - 1](k_, weights, k_, panels + p * step, sums);
        const int64_t first = (at + p) * loops_.columns;
        for (int64_t i = 0; i < n; ++i) write(row + i, first, sums + i * loops_.columns);
      }
    }
  }

  const Factor* factors(int64_t channel, int64_t n, Factor* room) const {
    const int8_t* const from = layer_.weight + channel * depth_;
    if constexpr (sizeof(Factor) == sizeof(int8_t)) {
      return reinterpret_cast<const Factor*>(from);
    } else {
      for (int64_t i = 0; i < n; ++i) {
        loops_.widen(from + i * depth_, room + i * k_, depth_);
        if (k_ > depth_) room[i * k_ + depth_] = 0;
      }
      return room;
    }
  }

  void write(int64_t channel, int64_t first, const int32_t* sums) const {
    const int64_t n = columns_at(first);
    int8_t made[IntegerLoops::kMostColumns];
    auto* const to = reinterpret_cast<int8_t*>(out_.data) + channel * out_.channel_stride;
    loops_.requantize(sums, layer_.scales + first_ + channel, layer_.offsets + first_ + channel,
                      false, layer_.limits, flat_ ? to + first : made, n);
    for (int64_t j = 0; j < n && !flat_; ++j) {
      to[out_.at(output_index(layer_.windows, first + j).at) - out_.data] = made[j];
    }
  }

  const IntegerLoops& loops_;
  const Layer& layer_;
  const Plane image_, out_;
  int64_t first_, depth_, k_;
  bool flat_;  ///< neighbouring positions of the result are neighbours in memory
};

void convolve(KernelRuntimeContext& ctx, const Layer& layer, const Tensor& input, Tensor& out) {
  const ConvGeometry& g = layer.geometry;
  const IntegerLoops& loops = integer_loops();
  const int64_t outputs = layer.windows.outputs();
  const int64_t depth = g.in_channels * layer.windows.taps();
  const Room room(loops, layer, (depth + kTogether - 1) / kTogether * kTogether);
  Division division((outputs + loops.columns - 1) / loops.columns, 1,
                    outputs * depth * g.out_channels, kLeastProducts);
  char* memory = nullptr;
  while (memory == nullptr) {
    const auto taken = ctx.allocate_temp(size_t(room.bytes() * division.parts()), 64);
    if (taken.ok()) memory = static_cast<char*>(*taken);
    if (memory == nullptr && division.parts() == 1) return;
    if (memory == nullptr) division.limit(1);
  }
  const Images images(input, g.spatial), results(out, g.spatial);
  for (int64_t n = 0; n < g.batch; ++n) {
    for (int64_t group = 0; group < g.groups; ++group) {
      const int64_t first = group * g.out_channels;
      const Product product(loops, layer, images.plane(n, group * g.in_channels),
                            results.plane(n, first), first);
      division.run([&](int64_t part, int64_t begin, int64_t end) {
        product.run(begin, end, room, memory + part * room.bytes());
      });
    }
  }
}

}  // namespace

/// out = round(acc * scales[channel] + offsets[channel]) + out_zero_point, acc being the exact
/// convolution of integers, with input_zero_point as padding.
Tensor& convolution_out(KernelRuntimeContext& ctx, const Tensor& input, int64_t input_zero,
                        const Tensor& weight, const Tensor& scales, const Tensor& offsets,
                        ArrayRef<int64_t> stride, ArrayRef<int64_t> padding,
                        ArrayRef<int64_t> dilation, int64_t groups, int64_t out_zero,
                        int64_t out_min, int64_t out_max, Tensor& out) {
  ConvGeometry g;
  const ConvArguments arguments = {stride, padding, dilation, false, {}, groups};
  if (!expect_int8(ctx, "input", input) || !expect_int8(ctx, "out", out) ||
      !expect_limits(ctx, out_zero, out_min, out_max) || !expect_input_zero(ctx, input_zero) ||
      !expect_weights(ctx, weight, scales, offsets) ||
      !conv_geometry(ctx, input, weight, std::nullopt, arguments, &g) ||
      !resize(ctx, out, g.out_shape()) || out.numel() == 0) {
    return out;
  }
  const Layer layer = {g,
                       {{g.axis(0, 0), g.axis(1, 0), g.axis(2, 0)}},
                       weight.const_data_ptr<int8_t>(),
                       scales.const_data_ptr<float>(),
                       offsets.const_data_ptr<float>(),
                       Limits(out_zero, out_min, out_max),
                       static_cast<int8_t>(input_zero)};
  convolve(ctx, layer, input, out);
  return out;
}

}  // namespace executorch::kernels::quantized
