// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
#include <executorch/kernels/engine/pool/pool.h>

#include <algorithm>
#include <cmath>

#include <executorch/kernels/engine/arithmetic.h>
#include <executorch/kernels/engine/pool/rows.h>
#include <executorch/kernels/engine/threads.h>

#define ET_SIMD_SOURCE <executorch/kernels/engine/pool/rows.inc>
#include <executorch/kernels/engine/simd/each_set.h>

namespace executorch::kernels::engine {
namespace {

enum class Reduction : uint8_t { Maximum, MaximumWithPlace, Average };

PoolFunction pool_function(InstructionSet set, Reduction reduction) {
  const bool is_scalar = set == InstructionSet::Scalar;
  switch (reduction) {
    case Reduction::Maximum:
      return is_scalar ? plain::reduce<plain::Maximum, 1> : ET_SIMD_FUNCTION(set, max_points);
    case Reduction::MaximumWithPlace:
      return is_scalar ? plain::find_maxima<1> : ET_SIMD_FUNCTION(set, find_max_points);
    case Reduction::Average:
      break;
  }
  return is_scalar ? plain::reduce<plain::Average, 1> : ET_SIMD_FUNCTION(set, average_points);
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

/// The position of the first tap beyond the padding before the image.
size_t first_inside(size_t out, size_t stride, size_t dilation, size_t padding) {
  const size_t begin = out * stride;
  return begin < padding ? (dilation - (padding - begin) % dilation) % dilation : begin - padding;
}

/// A row of outputs.
struct PoolLine {
  const PoolCall& call;
  PoolFunction function;
  size_t y;
  const float* image;
  float* out;
  int64_t* places;

  Range down() const {
    return range_of(y, call.stride_height, call.dilation_height, call.pad_top, call.kernel_height,
                    call.input_size.height);
  }
  Range across(size_t x) const {
    return range_of(x, call.stride_width, call.dilation_width, call.pad_left, call.kernel_width,
                    call.input_size.width);
  }
  /// Points [x, end) have the same taps and the same divisor.
  void pool(size_t x, size_t end, float divisor) const;
  /// The end of the points from x on whose windows have the same taps.
  size_t same_taps_end(size_t x) const {
    const Range taps = across(x);
    size_t end = x + 1;
    if (taps.first != 0 || taps.end != call.kernel_width) return end;
    // All taps lie in the image up to the last window that ends in it.
    const size_t reach = (call.kernel_width - 1) * call.dilation_width;
    const size_t last = call.input_size.width - 1 + call.pad_left - reach;
    return std::max(end, std::min(call.output_size.width, last / call.stride_width + 1));
  }
};

void PoolLine::pool(size_t x, size_t end, float divisor) const {
  const Range rows = down(), columns = across(x);
  PoolPoints p;
  p.channels = call.channels;
  p.points = end - x;
  p.in_step = call.stride_width * call.input_pixel_stride;
  p.out_step = call.output_pixel_stride;
  p.out = out + x * call.output_pixel_stride;
  p.divisor = divisor;
  p.clamp_min = call.clamp_min;
  p.clamp_max = call.clamp_max;
  p.continues = p.is_last = false;
  p.tap_count = 0;
  p.places = places == nullptr ? nullptr : places + x * call.output_pixel_stride;
  p.place_step = int32_t(call.stride_width);
  p.empty_place = int32_t(first_inside(y, call.stride_height, call.dilation_height, call.pad_top) *
                              call.input_size.width +
                          first_inside(x, call.stride_width, call.dilation_width, call.pad_left));
  for (size_t ky = rows.first; ky < rows.end; ++ky) {
    const size_t in_y = y * call.stride_height + ky * call.dilation_height - call.pad_top;
    for (size_t kx = columns.first; kx < columns.end; ++kx) {
      const size_t in_x = x * call.stride_width + kx * call.dilation_width - call.pad_left;
      if (p.tap_count == kMaxTaps) {
        function(p);
        p.continues = true;
        p.tap_count = 0;
      }
      const size_t place = in_y * call.input_size.width + in_x;
      p.tap_places[p.tap_count] = int32_t(place);
      p.taps[p.tap_count++] = image + place * call.input_pixel_stride;
    }
  }
  p.is_last = true;
  function(p);
}

/// Calls f(line) for each row of outputs.
template <class F>
void for_each_line(const PoolCall& call, PoolFunction function, Threads& threads, F&& f) {
  const size_t height = call.output_size.height, width = call.output_size.width;
  const size_t image_floats =
      call.input_size.height * call.input_size.width * call.input_pixel_stride;
  for_each_rows(threads, call.batch * height, width * call.channels, [&](size_t first, size_t n) {
    for (size_t line = first; line < first + n; ++line) {
      const size_t at = line * width * call.output_pixel_stride;
      f(PoolLine{call, function, line % height, call.input + line / height * image_floats,
                 call.output + at, call.places == nullptr ? nullptr : call.places + at});
    }
  });
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

}  // namespace

void max_pool2d(const PoolCall& call, Threads& threads, InstructionSet set) {
  const Reduction reduction =
      call.places == nullptr ? Reduction::Maximum : Reduction::MaximumWithPlace;
  for_each_line(call, pool_function(set, reduction), threads, [&](const PoolLine& line) {
    for (size_t x = 0; x < call.output_size.width;) {
      const size_t end = line.same_taps_end(x);
      line.pool(x, end, 1);
      x = end;
    }
  });
}

void average_pool2d(const AveragePoolCall& call, Threads& threads, InstructionSet set) {
  const PoolCall& p = call.pool;
  for_each_line(p, pool_function(set, Reduction::Average), threads, [&](const PoolLine& line) {
    for (size_t x = 0; x < p.output_size.width;) {
      // Windows within the image count the same points.
      const size_t end = line.same_taps_end(x);
      line.pool(x, end, divisor_of(call, line.y, x));
      x = end;
    }
  });
}

void sum_points(const PointSumCall& call, Threads& threads, InstructionSet set) {
  PointSumFunction function = ET_SIMD_FUNCTION(set, sum_points);
  if (call.channels == 1) {
    function = ET_SIMD_FUNCTION(set, sum_row);
  } else if (set == InstructionSet::Scalar) {
    function = plain::sum_channels<1>;
  }
  const size_t blocks = divide_up(call.channels, kChannelsOfItem);
  const size_t block = std::min(call.channels, kChannelsOfItem);
  for_each_rows(threads, call.batch * blocks, block * call.points, [&](size_t first, size_t n) {
    for (size_t i = first; i < first + n; ++i) {
      const size_t image = i / blocks, channel = i % blocks * kChannelsOfItem;
      function({call.input + image * call.points * call.channels, call.points, call.channels,
                channel, std::min(channel + kChannelsOfItem, call.channels),
                call.output + image * call.channels, call.scale, call.clamp_min, call.clamp_max});
    }
  });
}

}  // namespace executorch::kernels::engine
