// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// Convolution on int8: the product of weights [channels, k] with panels of the image.
#include <executorch/kernels/loops/divide.h>
#include <executorch/kernels/quantized/NativeFunctions.h>
#include <executorch/kernels/quantized/depthwise_plane.h>
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

// Where the work of one thread holds what it makes of its part.
struct Room {
  int64_t panel, panels, rows, windows;  // bytes of a panel, how many, bytes of rows, of windows

  Room(const IntegerLoops& loops, const FusedLayer& layer, int64_t k)
      : panel(aligned(k * loops.columns * int64_t(sizeof(Factor)))),
        panels(layer.geometry.groups > 1
                   ? 1
                   : std::clamp<int64_t>(
                         kHeldBytes / panel, 1,
                         (layer.windows.outputs() + loops.columns - 1) / loops.columns)),
        rows(sizeof(Factor) > 1 ? aligned(loops.rows * k * int64_t(sizeof(Factor))) : 0),
        windows(aligned(WindowPanels::room(loops, layer.windows.taps()))) {}
  int64_t bytes() const { return panel * panels + rows + windows; }

 private:
  static int64_t aligned(int64_t bytes) { return (bytes + 63) / 64 * 64; }
};

// One image.
class Product {
 public:
  Product(const IntegerLoops& loops, const FusedLayer& layer, const Plane& image, const Plane& out)
      : loops_(loops), layer_(layer), image_(image), out_(out) {
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

  // Panels [begin, end), for all groups.
  void run(int64_t begin, int64_t end, const Room& room, char* memory) const {
    const ConvGeometry& g = layer_.geometry;
    auto* const panels = reinterpret_cast<Factor*>(memory);
    auto* const rows = reinterpret_cast<Factor*>(memory + room.panel * room.panels);
    WindowPanels windows(loops_, layer_.windows, image_, layer_.padding,
                         memory + room.panel * room.panels + room.rows);
    const int64_t step = room.panel / int64_t(sizeof(Factor));
    for (int64_t at = begin; at < end; at += room.panels) {
      const int64_t held = std::min(room.panels, end - at);
      for (int64_t group = 0; group < g.groups; ++group) {
        const char* const image = image_.data + group * g.in_channels * image_.channel_stride;
        for (int64_t p = 0; p < held; ++p) {
          const int64_t first = (at + p) * loops_.columns;
          // With several groups one panel is held at a time.
          if (group == 0) windows.find(first, columns_at(first));
          windows.fill(image, g.in_channels, panels + p * step);
        }
        multiply(at, held, group * g.out_channels, panels, step, rows);
      }
    }
  }

 private:
  int64_t columns_at(int64_t first) const {
    return std::min<int64_t>(loops_.columns, layer_.windows.outputs() - first);
  }

  // The output channels of a group, from `channel` on.
  void multiply(int64_t at, int64_t held, int64_t channel, const Factor* panels, int64_t step,
                Factor* room) const {
    int32_t sums[IntegerLoops::kMostRows * IntegerLoops::kMostColumns];
    const int64_t last = channel + layer_.geometry.out_channels;
    for (int64_t row = channel; row < last; row += loops_.rows) {
      const int64_t n = std::min<int64_t>(loops_.rows, last - row);
      const Factor* const weights = factors(row, n, room);
      for (int64_t p = 0; p < held; ++p) {
        loops_.tile[n - 1](k_, weights, k_, panels + p * step, sums);
        write(row, n, (at + p) * loops_.columns, sums);
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

  // `rows` channels at the positions from `first` on.
  void write(int64_t channel, int64_t rows, int64_t first, const int32_t* sums) const {
    const int64_t n = columns_at(first);
    int8_t made[IntegerLoops::kMostRows * IntegerLoops::kMostColumns];
    auto* const to = reinterpret_cast<int8_t*>(out_.data) + channel * out_.channel_stride;
    const bool direct = flat_ && n == loops_.columns;
    loops_.requantize_tile(sums, rows, layer_.scales + channel, layer_.offsets + channel,
                           layer_.limits, direct ? to + first : made,
                           direct ? out_.channel_stride : loops_.columns);
    for (int64_t j = 0; j < n && !direct; ++j) {
      int8_t* const at = to + (out_.at(output_index(layer_.windows, first + j).at) - out_.data);
      for (int64_t i = 0; i < rows; ++i) at[i * out_.channel_stride] = made[i * loops_.columns + j];
    }
  }

  const IntegerLoops& loops_;
  const FusedLayer& layer_;
  const Plane image_, out_;
  int64_t depth_, k_;
  bool flat_;  ///< neighbouring positions of the result are neighbours in memory
};

// Memory for each part of a division; where there is too little for all, for one. nullptr after
// failing the context.
char* rooms(KernelRuntimeContext& ctx, Division& division, int64_t bytes) {
  while (true) {
    const auto taken = ctx.allocate_temp(size_t(bytes * division.parts()), 64);
    if (taken.ok()) return static_cast<char*>(*taken);
    if (division.parts() == 1) {
      ET_LOG(Error, "%" PRId64 " bytes of temporary memory are needed", bytes);
      ctx.fail(taken.error());
      return nullptr;
    }
    division.limit(1);
  }
}

void multiply(KernelRuntimeContext& ctx, const FusedLayer& layer, const Images& images,
              const Images& results) {
  const ConvGeometry& g = layer.geometry;
  const IntegerLoops& loops = integer_loops();
  const int64_t outputs = layer.windows.outputs();
  const int64_t depth = g.in_channels * layer.windows.taps();
  const Room room(loops, layer, (depth + kTogether - 1) / kTogether * kTogether);
  Division division((outputs + loops.columns - 1) / loops.columns, 1,
                    outputs * depth * g.groups * g.out_channels, kLeastProducts);
  char* const memory = rooms(ctx, division, room.bytes());
  if (memory == nullptr) return;
  for (int64_t n = 0; n < g.batch; ++n) {
    const Product product(loops, layer, images.plane(n, 0), results.plane(n, 0));
    division.run([&](int64_t part, int64_t begin, int64_t end) {
      product.run(begin, end, room, memory + part * room.bytes());
    });
  }
}

#if ET_PAIRED_PRODUCTS
void multiply_depthwise(KernelRuntimeContext& ctx, const FusedLayer& layer, const Images& images,
                        const Images& results) {
  const ConvGeometry& g = layer.geometry;
  const DepthwisePlane plane(integer_loops(), layer);
  Division division(g.groups, 1,
                    g.groups * g.out_channels * layer.windows.outputs() * layer.windows.taps(),
                    kLeastProducts);
  char* const memory = rooms(ctx, division, plane.room());
  if (memory == nullptr) return;
  for (int64_t n = 0; n < g.batch; ++n) {
    division.run([&](int64_t part, int64_t begin, int64_t end) {
      plane.run(images.plane(n, 0), results.plane(n, 0), begin, end, memory + part * plane.room());
    });
  }
}
#endif

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
  const FusedLayer layer = {g,
                            {{g.axis(0, 0), g.axis(1, 0), g.axis(2, 0)}},
                            weight.const_data_ptr<int8_t>(),
                            scales.const_data_ptr<float>(),
                            offsets.const_data_ptr<float>(),
                            Limits(out_zero, out_min, out_max),
                            static_cast<int8_t>(input_zero)};
  const Images images(input, g.spatial), results(out, g.spatial);
#if ET_PAIRED_PRODUCTS
  if (DepthwisePlane::suits(g)) {
    multiply_depthwise(ctx, layer, images, results);
    return out;
  }
#endif
  multiply(ctx, layer, images, results);
  return out;
}

}  // namespace executorch::kernels::quantized
