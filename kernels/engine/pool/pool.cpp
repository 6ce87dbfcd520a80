// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
#include <executorch/kernels/engine/pool.h>

#include <algorithm>
#include <cmath>

#include <executorch/kernels/engine/arithmetic.h>
#include <executorch/kernels/engine/row_items.h>
#include <executorch/kernels/engine/vectors.h>

namespace executorch::kernels::engine {
namespace {

/// The taps of windows that lie in the image, as far as they are gathered at once.
constexpr size_t kTaps = 64;

/// The result of a window: taps so far in `out` if it continues.
struct Pixel {
  const float* taps[kTaps];
  size_t count, channels;
  float* out;
  bool continues, is_last;
  float divisor;
  float clamp_min, clamp_max;
};

/// A NaN, once met, stays: it compares false.
struct Maximum {
  static constexpr float kStart = -INFINITY;
  template <class V>
  static ET_LANES_INLINE void add(V& so_far, const V& x) {
    so_far = (x > so_far) | (x != x) ? x : so_far;
  }
  template <class V>
  static ET_LANES_INLINE void finish(V&, float) {}
};

struct Average {
  static constexpr float kStart = 0;
  template <class V>
  static ET_LANES_INLINE void add(V& so_far, const V& x) {
    so_far += x;
  }
  template <class V>
  static ET_LANES_INLINE void finish(V& v, float divisor) {
    v /= divisor;
  }
};

template <class Reduction, size_t kLanes>
ET_LANES_INLINE void reduce_channels(const Pixel& pixel, size_t& channel) {
  using V = typename Lanes<kLanes>::Vector;
  for (; channel + kLanes <= pixel.channels; channel += kLanes) {
    V so_far = V{} + Reduction::kStart;
    if (pixel.continues) so_far = lanes_at<kLanes>(pixel.out + channel);
    for (size_t tap = 0; tap < pixel.count; ++tap) {
      const V x = lanes_at<kLanes>(pixel.taps[tap] + channel);
      Reduction::add(so_far, x);
    }
    if (pixel.is_last) {
      Reduction::finish(so_far, pixel.divisor);
      clamp_lanes(so_far, pixel.clamp_min, pixel.clamp_max);
    }
    lanes_at<kLanes>(pixel.out + channel) = so_far;
  }
}

template <class Reduction, size_t kLanes>
ET_LANES_INLINE void reduce_pixel(const Pixel& pixel) {
  size_t channel = 0;
  reduce_channels<Reduction, kLanes>(pixel, channel);
  if constexpr (kLanes > 8) reduce_channels<Reduction, 8>(pixel, channel);
  if constexpr (kLanes > 4) reduce_channels<Reduction, 4>(pixel, channel);
  if constexpr (kLanes > 1) reduce_channels<Reduction, 1>(pixel, channel);
}

using PixelFunction = void (*)(const Pixel&);

#define ET_POOL_KERNELS(suffix, TARGET, kLanes)                                          \
  TARGET void max_##suffix(const Pixel& pixel) { reduce_pixel<Maximum, kLanes>(pixel); } \
  TARGET void average_##suffix(const Pixel& pixel) { reduce_pixel<Average, kLanes>(pixel); }
ET_POOL_KERNELS(scalar, , 1)
ET_POOL_KERNELS(plain, , 4)
#if defined(__x86_64__)
ET_POOL_KERNELS(avx2, ET_TARGET_AVX2, 8)
ET_POOL_KERNELS(avx512, ET_TARGET_AVX512, 16)
#endif
#undef ET_POOL_KERNELS

PixelFunction function_for(InstructionSet set, bool is_max) {
#if defined(__x86_64__)
  if (set >= InstructionSet::Avx512) return is_max ? max_avx512 : average_avx512;
  if (set >= InstructionSet::Avx2) return is_max ? max_avx2 : average_avx2;
#endif
  if (set == InstructionSet::Scalar) return is_max ? max_scalar : average_scalar;
  return is_max ? max_plain : average_plain;
}

/// The taps of one dimension that lie in the image: [first, end).
struct Range {
  size_t first, end;
};

Range range_of(size_t out, size_t stride, size_t dilation, size_t padding, size_t kernel,
               size_t size) {
  const size_t begin = out * stride;
  const size_t first = begin < padding ? divide_up(padding - begin, dilation) : 0;
  const size_t limit = padding + size;
  const size_t end = begin < limit ? std::min(kernel, divide_up(limit - begin, dilation)) : 0;
  return {std::min(first, end), end};
}

void pool_point(const PoolCall& p, PixelFunction function, size_t image, size_t y, size_t x,
                float divisor) {
  const Range down = range_of(y, p.stride_height, p.dilation_height, p.pad_top, p.kernel_height,
                              p.input_size.height);
  const Range across =
      range_of(x, p.stride_width, p.dilation_width, p.pad_left, p.kernel_width, p.input_size.width);
  const float* const from =
      p.input + image * p.input_size.height * p.input_size.width * p.input_pixel_stride;
  Pixel pixel;
  pixel.channels = p.channels;
  pixel.out = p.output + ((image * p.output_size.height + y) * p.output_size.width + x) *
                             p.output_pixel_stride;
  pixel.divisor = divisor;
  pixel.clamp_min = p.clamp_min;
  pixel.clamp_max = p.clamp_max;
  pixel.continues = pixel.is_last = false;
  pixel.count = 0;
  for (size_t ky = down.first; ky < down.end; ++ky) {
    const size_t in_y = y * p.stride_height + ky * p.dilation_height - p.pad_top;
    for (size_t kx = across.first; kx < across.end; ++kx) {
      const size_t in_x = x * p.stride_width + kx * p.dilation_width - p.pad_left;
      if (pixel.count == kTaps) {
        function(pixel);
        pixel.continues = true;
        pixel.count = 0;
      }
      pixel.taps[pixel.count++] = from + (in_y * p.input_size.width + in_x) * p.input_pixel_stride;
    }
  }
  pixel.is_last = true;
  function(pixel);
}

/// The points of a dimension that a window covers, padding counted.
size_t covered(size_t out, size_t stride, size_t kernel, size_t padded) {
  const size_t begin = out * stride;
  return begin < padded ? std::min(kernel, padded - begin) : 0;
}

float divisor_of(const AveragePoolCall& call, size_t y, size_t x) {
  const PoolCall& p = call.pool;
  size_t count = call.divisor;
  if (count == 0 && call.count_include_pad) {
    count = covered(y, p.stride_height, p.kernel_height,
                    p.input_size.height + p.pad_top + call.pad_bottom) *
            covered(x, p.stride_width, p.kernel_width,
                    p.input_size.width + p.pad_left + call.pad_right);
  } else if (count == 0) {
    const Range down = range_of(y, p.stride_height, p.dilation_height, p.pad_top, p.kernel_height,
                                p.input_size.height);
    const Range across = range_of(x, p.stride_width, p.dilation_width, p.pad_left, p.kernel_width,
                                  p.input_size.width);
    count = (down.end - down.first) * (across.end - across.first);
  }
  return count == 0 ? 1.0f : float(count);  // a window without points sums nothing
}

/// Channels of an item of sum_points.
constexpr size_t kChannelsOfItem = 64;
/// Points of neighbouring rows that are summed before the next ones: their order is part of the
/// result's bits.
struct PointSum {
  const float* in;
  size_t points, channels, first, end;
  float* out;
  float scale, clamp_min, clamp_max;
};

template <size_t kLanes, size_t kVectors>
ET_LANES_INLINE void sum_lanes_of_points(const PointSum& s, size_t& channel) {
  using V = typename Lanes<kLanes>::Vector;
  constexpr size_t kStep = kLanes * kVectors;
  for (; channel + kStep <= s.end; channel += kStep) {
    V sums[kVectors] = {};
    const float* from = s.in + channel;
    for (size_t point = 0; point < s.points; ++point, from += s.channels) {
#pragma GCC unroll 4
      for (size_t v = 0; v < kVectors; ++v) {
        const V x = lanes_at<kLanes>(from + v * kLanes);
        sums[v] += x;
      }
    }
    for (size_t v = 0; v < kVectors; ++v) {
      sums[v] *= s.scale;
      clamp_lanes(sums[v], s.clamp_min, s.clamp_max);
      lanes_at<kLanes>(s.out + channel + v * kLanes) = sums[v];
    }
  }
}

template <size_t kLanes>
ET_LANES_INLINE void sum_channels(const PointSum& s) {
  size_t channel = s.first;
  sum_lanes_of_points<kLanes, 4>(s, channel);
  sum_lanes_of_points<kLanes, 1>(s, channel);
  if constexpr (kLanes > 8) sum_lanes_of_points<8, 1>(s, channel);
  if constexpr (kLanes > 4) sum_lanes_of_points<4, 1>(s, channel);
  if constexpr (kLanes > 1) sum_lanes_of_points<1, 1>(s, channel);
}

using PointSumFunction = void (*)(const PointSum&);
void sum_scalar(const PointSum& s) { sum_channels<1>(s); }
void sum_plain(const PointSum& s) { sum_channels<4>(s); }
#if defined(__x86_64__)
ET_TARGET_AVX2 void sum_avx2(const PointSum& s) { sum_channels<8>(s); }
ET_TARGET_AVX512 void sum_avx512(const PointSum& s) { sum_channels<16>(s); }
#endif

PointSumFunction sum_function_for(InstructionSet set) {
#if defined(__x86_64__)
  if (set >= InstructionSet::Avx512) return sum_avx512;
  if (set >= InstructionSet::Avx2) return sum_avx2;
#endif
  return set == InstructionSet::Scalar ? sum_scalar : sum_plain;
}

}  // namespace

void max_pool2d(const PoolCall& call, Threads& threads, InstructionSet set) {
  const PixelFunction function = function_for(set, true);
  const size_t height = call.output_size.height, width = call.output_size.width;
  for_each_rows(threads, call.batch * height, width * call.channels, [&](size_t first, size_t n) {
    for (size_t line = first; line < first + n; ++line) {
      for (size_t x = 0; x < width; ++x) {
        pool_point(call, function, line / height, line % height, x, 1);
      }
    }
  });
}

void average_pool2d(const AveragePoolCall& call, Threads& threads, InstructionSet set) {
  const PixelFunction function = function_for(set, false);
  const PoolCall& p = call.pool;
  const size_t height = p.output_size.height, width = p.output_size.width;
  for_each_rows(threads, p.batch * height, width * p.channels, [&](size_t first, size_t n) {
    for (size_t line = first; line < first + n; ++line) {
      for (size_t x = 0; x < width; ++x) {
        pool_point(p, function, line / height, line % height, x,
                   divisor_of(call, line % height, x));
      }
    }
  });
}

void sum_points(const PointSumCall& call, Threads& threads, InstructionSet set) {
  const PointSumFunction function = sum_function_for(set);
  const size_t blocks = divide_up(call.channels, kChannelsOfItem);
  for_each_rows(
      threads, call.batch * blocks, kChannelsOfItem * call.points, [&](size_t first, size_t n) {
        for (size_t i = first; i < first + n; ++i) {
          const size_t image = i / blocks, channel = i % blocks * kChannelsOfItem;
          function({call.input + image * call.points * call.channels, call.points, call.channels,
                    channel, std::min(channel + kChannelsOfItem, call.channels),
                    call.output + image * call.channels, call.scale, call.clamp_min,
                    call.clamp_max});
        }
      });
}

}  // namespace executorch::kernels::engine
