// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// Windows of any number of taps and channels with several outputs. A vector is of channels; a few
// points are computed at once.
#include <executorch/kernels/engine/depthwise/row.h>

namespace executorch::kernels::engine {
namespace {

constexpr size_t kPoints = 3;

/// The lanes at `places`.
template <class Vector, class Ints>
ET_LANES_INLINE void take_lanes(const Vector& from, const Ints& places, Vector& to) {
#ifdef __clang__
  for (size_t i = 0; i < sizeof(Vector) / sizeof(float); ++i) to[i] = from[places[i]];
#else
  to = __builtin_shuffle(from, places);
#endif
}

/// Input channels of kLanes outputs, each repeated for the outputs that it serves.
template <size_t kLanes>
struct Repeated {
  size_t first;
  typename Lanes<kLanes>::Ints places;

  static ET_LANES_INLINE bool fits(const DepthwiseTaps& row, size_t channel) {
    return channel / row.multiplier + kLanes <= row.channels / row.multiplier;
  }
  ET_LANES_INLINE void begin(const DepthwiseTaps& row, size_t channel) {
    first = channel / row.multiplier;
    for (size_t i = 0; i < kLanes; ++i) {
      places[i] = int32_t((channel + i) / row.multiplier - first);
    }
  }
  ET_LANES_INLINE void load(const float* pixel, typename Lanes<kLanes>::Vector& to) const {
    const typename Lanes<kLanes>::Vector from = lanes_at<kLanes>(pixel + first);
    take_lanes(from, places, to);
  }
};

/// The same where each serves one; also a single output, however many its channel serves.
template <size_t kLanes>
struct Single {
  size_t first;

  static ET_LANES_INLINE bool fits(const DepthwiseTaps&, size_t) { return true; }
  ET_LANES_INLINE void begin(const DepthwiseTaps& row, size_t channel) {
    first = channel / (kLanes == 1 ? row.multiplier : 1);
  }
  ET_LANES_INLINE void load(const float* pixel, typename Lanes<kLanes>::Vector& to) const {
    to = lanes_at<kLanes>(pixel + first);
  }
};

/// kPoints neighbours in kVectors vectors of kLanes channels.
template <template <size_t> class Source, size_t kLanes, size_t kVectors, size_t kCount>
ET_LANES_INLINE void sum_windows(const DepthwiseTaps& row, const Source<kLanes>& source,
                                 size_t channel, size_t x) {
  using V = typename Lanes<kLanes>::Vector;
  const size_t block = (1 + row.taps) * kDepthwiseBlock;
  V sum[kVectors][kCount];
  const float* weights[kVectors];
#pragma GCC unroll 4
  for (size_t v = 0; v < kVectors; ++v) {
    const size_t at = channel + v * kLanes;
    weights[v] = row.weights + at / kDepthwiseBlock * block + at % kDepthwiseBlock;
#pragma GCC unroll 4
    for (size_t p = 0; p < kCount; ++p) sum[v][p] = lanes_at<kLanes>(weights[v]);
  }
  const float* const* const windows = row.table + x * row.step;
  for (size_t tap = 0; tap < row.taps; ++tap) {
#pragma GCC unroll 4
    for (size_t v = 0; v < kVectors; ++v) {
      const V weight = lanes_at<kLanes>(weights[v] + (1 + tap) * kDepthwiseBlock);
#pragma GCC unroll 4
      for (size_t p = 0; p < kCount; ++p) {
        V number;
        source.load(windows[p * row.step + tap] + v * kLanes, number);
        sum[v][p] += number * weight;
      }
    }
  }
#pragma GCC unroll 4
  for (size_t p = 0; p < kCount; ++p) {
#pragma GCC unroll 4
    for (size_t v = 0; v < kVectors; ++v) {
      clamp_lanes(sum[v][p], row.clamp_min, row.clamp_max);
      lanes_at<kLanes>(row.out + (x + p) * row.out_pixel_stride + channel + v * kLanes) = sum[v][p];
    }
  }
}

/// All points of the row, of the channels that fill vectors.
template <template <size_t> class Source, size_t kLanes, size_t kVectors>
ET_LANES_INLINE void sum_channels(const DepthwiseTaps& row, size_t& channel) {
  constexpr size_t kStep = kLanes * kVectors;
  for (; channel + kStep <= row.channels && Source<kLanes>::fits(row, channel); channel += kStep) {
    Source<kLanes> source = {};
    source.begin(row, channel);
    size_t x = 0;
    for (; x + kPoints <= row.width; x += kPoints) {
      sum_windows<Source, kLanes, kVectors, kPoints>(row, source, channel, x);
    }
    for (; x < row.width; ++x) sum_windows<Source, kLanes, kVectors, 1>(row, source, channel, x);
  }
}

template <size_t kLanes>
ET_LANES_INLINE void sum_row(const DepthwiseTaps& given) {
  const DepthwiseTaps row = given;  // a copy that no store can alias
  size_t channel = 0;
  if (row.multiplier == 1) {
    sum_channels<Single, kLanes, (kLanes > 1 ? 4 : 1)>(row, channel);
    sum_channels<Single, kLanes, 1>(row, channel);
    if constexpr (kLanes > 8) sum_channels<Single, 8, 1>(row, channel);
    if constexpr (kLanes > 4) sum_channels<Single, 4, 1>(row, channel);
  } else {
    if constexpr (kLanes > 1) sum_channels<Repeated, kLanes, 1>(row, channel);
    if constexpr (kLanes > 8) sum_channels<Repeated, 8, 1>(row, channel);
    if constexpr (kLanes > 4) sum_channels<Repeated, 4, 1>(row, channel);
  }
  sum_channels<Single, 1, 1>(row, channel);
}

#define ET_DEPTHWISE_KERNELS(suffix, set, TARGET, kLanes, points) \
  TARGET void taps_##suffix(const DepthwiseTaps& row) { sum_row<kLanes>(row); }
#include <executorch/kernels/engine/depthwise/kernels.inc>
#undef ET_DEPTHWISE_KERNELS

}  // namespace

DepthwiseTapsFunction depthwise_taps_function(InstructionSet set) {
  DepthwiseTapsFunction function = taps_scalar;
#define ET_DEPTHWISE_KERNELS(suffix, lowest, TARGET, kLanes, points) \
  if (set >= InstructionSet::lowest) function = taps_##suffix;
#include <executorch/kernels/engine/depthwise/kernels.inc>
#undef ET_DEPTHWISE_KERNELS
  return function;
}

}  // namespace executorch::kernels::engine
