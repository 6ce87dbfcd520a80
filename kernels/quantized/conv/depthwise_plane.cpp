// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
#include <executorch/kernels/quantized/conv/depthwise_plane.h>

#if ET_PAIRED_PRODUCTS
#include <algorithm>

namespace executorch::kernels::quantized {

using namespace portable;

namespace {

// Outputs computed at a time; up to as many columns are read and written beyond a row.
constexpr int64_t kBeyond = IntegerLoops::kMaxColumns;
constexpr int64_t kMaxElements = 1 << 24;

int64_t up(int64_t count, int64_t step) { return (count + step - 1) / step; }

}  // namespace

bool DepthwisePlane::supports(const ConvGeometry& g) {
  if (g.groups == 1 || g.in_channels != 1 || g.in[0] != 1 || g.kernel[0] != 1 || g.padding[0] != 0)
    return false;
  int64_t elements = 1;
  for (int d = 1; d < kSpatial; ++d) {
    const int64_t size = g.in[d] + 2 * g.padding[d] + g.stride[d];
    if (size > kMaxElements || g.stride[d] > kMaxElements) return false;
    elements *= size;
  }
  return elements < kMaxElements;
}

DepthwisePlane::DepthwisePlane(const IntegerLoops& loops, const FusedLayer& layer)
    : loops_(loops), layer_(layer) {
  const ConvGeometry& g = layer.geometry;
  const auto reach = [&](int d) {
    return (g.out[d] - 1) * g.stride[d] + (g.kernel[d] - 1) * g.dilation[d] + 1;
  };
  rows_ = reach(1);
  phase_ = up(reach(2), g.stride[2]);
  row_ = phase_ * g.stride[2];
  taps_ = up(layer.windows.taps(), 2) * 2;
  plane_ = up(rows_ * row_ + kBeyond, 16) * 16;
  sums_ = up(g.out[2], kBeyond) * kBeyond * (sizeof(int32_t) + 1);
}

/// Row y of the image: the columns of each remainder, one remainder after the other.
void DepthwisePlane::load_row(const int8_t* row, int64_t stride, Factor* to) const {
  const ConvGeometry& g = layer_.geometry;
  const int64_t step = g.stride[2], padding = g.padding[2], in = g.in[2];
  for (int64_t phase = 0; phase < step; ++phase, to += phase_) {
    // Column i lies at i * step + phase - padding of the input.
    const int64_t begin =
        std::clamp<int64_t>(up(std::max<int64_t>(padding - phase, 0), step), 0, phase_);
    const int64_t end =
        std::clamp<int64_t>(up(std::max<int64_t>(in + padding - phase, 0), step), begin, phase_);
    std::fill_n(to, begin, Factor(layer_.padding));
    std::fill_n(to + end, phase_ - end, Factor(layer_.padding));
    if (begin == end) continue;
    const int8_t* const from = row + (begin * step + phase - padding) * stride;
    if (step * stride == 1) {
      loops_.widen(from, to + begin, end - begin);
    } else {
      for (int64_t i = begin; i < end; ++i) to[i] = from[(i - begin) * step * stride];
    }
  }
}

void DepthwisePlane::load(const Plane& image, const char* channel, Factor* plane) const {
  const ConvGeometry& g = layer_.geometry;
  for (int64_t r = 0; r < rows_; ++r) {
    const int64_t y = r - g.padding[1];
    if (y < 0 || y >= g.in[1]) {
      std::fill_n(plane + r * row_, row_, Factor(layer_.padding));
    } else {
      load_row(reinterpret_cast<const int8_t*>(channel + y * image.strides[1]), image.strides[2],
               plane + r * row_);
    }
  }
  std::fill_n(plane + rows_ * row_, plane_ - rows_ * row_, Factor(0));
}

void DepthwisePlane::find_taps(int32_t* offsets) const {
  const ConvGeometry& g = layer_.geometry;
  const int64_t taps = g.kernel[1] * g.kernel[2];
  for (int64_t t = 0; t < taps_; ++t) {
    const int64_t tap = std::min(t, taps - 1);  // the surplus tap is multiplied by 0
    const int64_t y = tap / g.kernel[2] * g.dilation[1], x = tap % g.kernel[2] * g.dilation[2];
    offsets[t] = static_cast<int32_t>(y * row_ + x % g.stride[2] * phase_ + x / g.stride[2]);
  }
}

void DepthwisePlane::run(const Plane& image, const Plane& out, int64_t begin, int64_t end,
                         char* room) const {
  const ConvGeometry& g = layer_.geometry;
  auto* const sums = reinterpret_cast<int32_t*>(room);
  auto* const results = reinterpret_cast<int8_t*>(sums + up(g.out[2], kBeyond) * kBeyond);
  auto* const offsets = reinterpret_cast<int32_t*>(room + sums_);
  auto* const weights = reinterpret_cast<Factor*>(offsets + taps_);
  Factor* const plane = weights + taps_;
  const int64_t taps = layer_.windows.taps(), width = g.out[2];
  find_taps(offsets);
  weights[taps_ - 1] = 0;
  for (int64_t c = begin * g.out_channels; c < end * g.out_channels; ++c) {
    if (c % g.out_channels == 0) {
      load(image, image.data + c / g.out_channels * image.channel_stride, plane);
    }
    loops_.widen(layer_.weight + c * taps, weights, taps);
    for (int64_t y = 0; y < g.out[1]; ++y) {
      loops_.tap_sums(plane + y * g.stride[1] * row_, offsets, weights, taps_, sums, width);
      auto* const to =
          reinterpret_cast<int8_t*>(out.data + c * out.channel_stride + y * out.strides[1]);
      const bool near = out.strides[2] == 1;
      loops_.requantize(sums, layer_.scales + c, layer_.offsets + c, false, layer_.limits,
                        near ? to : results, width);
      for (int64_t x = 0; x < width && !near; ++x) to[x * out.strides[2]] = results[x];
    }
  }
}

}  // namespace executorch::kernels::quantized
#endif
