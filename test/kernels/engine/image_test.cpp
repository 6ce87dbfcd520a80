// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// Pooling, resizing and changes of layout.
#include <executorch/kernels/engine/pack/pack.h>
#include <executorch/kernels/engine/pool/pool.h>
#include <executorch/kernels/engine/resize/resize.h>

#include "support.h"

namespace {

using namespace engine_test;  // NOLINT: the tests' vocabulary

AveragePoolCall random_pool(Random& random) {
  AveragePoolCall call;
  PoolCall& p = call.pool;
  p.kernel_height = random.size(1, 9);
  p.kernel_width = random.size(1, 9);
  p.stride_height = random.size(1, 3);
  p.stride_width = random.size(1, 3);
  p.dilation_height = p.dilation_width = 1;
  p.pad_top = random.size(0, p.kernel_height / 2);
  p.pad_left = random.size(0, p.kernel_width / 2);
  call.pad_bottom = p.pad_top;
  call.pad_right = p.pad_left;
  p.batch = random.size(1, 2);
  p.channels = random.size(1, 40);
  p.input_size = {random.size(p.kernel_height, 14), random.size(p.kernel_width, 14)};
  p.output_size = {(p.input_size.height + 2 * p.pad_top - p.kernel_height) / p.stride_height + 1,
                   (p.input_size.width + 2 * p.pad_left - p.kernel_width) / p.stride_width + 1};
  p.input_pixel_stride = p.channels + random.size(0, 1);
  p.output_pixel_stride = p.channels + random.size(0, 1);
  call.count_include_pad = random.size(0, 1) == 0;
  call.divisor = random.size(0, 3) == 0 ? 5 : 0;
  return call;
}

double expected_pool(const AveragePoolCall& call, bool is_max, size_t image, size_t y, size_t x,
                     size_t channel) {
  const PoolCall& p = call.pool;
  double most = -INFINITY, sum = 0;
  size_t valid = 0;
  bool has_nan = false;
  for (size_t ky = 0; ky < p.kernel_height; ++ky) {
    for (size_t kx = 0; kx < p.kernel_width; ++kx) {
      const size_t in_y = y * p.stride_height + ky * p.dilation_height - p.pad_top;
      const size_t in_x = x * p.stride_width + kx * p.dilation_width - p.pad_left;
      if (in_y >= p.input_size.height || in_x >= p.input_size.width) continue;
      const float value =
          p.input[((image * p.input_size.height + in_y) * p.input_size.width + in_x) *
                      p.input_pixel_stride +
                  channel];
      has_nan |= std::isnan(value);
      most = std::max<double>(most, value);
      sum += value;
      ++valid;
    }
  }
  if (is_max) return has_nan ? std::nan("") : most;
  if (call.divisor != 0) return sum / double(call.divisor);
  if (!call.count_include_pad) return sum / double(valid);
  const size_t high = std::min(
      p.kernel_height, p.input_size.height + p.pad_top + call.pad_bottom - y * p.stride_height);
  const size_t wide = std::min(
      p.kernel_width, p.input_size.width + p.pad_left + call.pad_right - x * p.stride_width);
  return sum / double(high * wide);
}

TEST(Pool, MatchesDoublePrecisionAndKeepsNaN) {
  Random random(41);
  for (int i = 0; i < 80; ++i) {
    AveragePoolCall call = random_pool(random);
    PoolCall& p = call.pool;
    const size_t in_pixels = p.batch * p.input_size.height * p.input_size.width;
    const size_t out_pixels = p.batch * p.output_size.height * p.output_size.width;
    Floats in = random.floats((in_pixels - 1) * p.input_pixel_stride + p.channels);
    for (float special : {kNaN, kInfinity, -kInfinity}) {
      if (random.size(0, 1) == 0) in[random.size(0, in.size() - 1)] = special;
    }
    p.input = in.data();
    for (bool is_max : {false, true}) {
      for (InstructionSet set : instruction_sets()) {
        ManyThreads threads(random.size(1, 3));
        Floats out((out_pixels - 1) * p.output_pixel_stride + p.channels, 77);
        p.output = out.data();
        if (is_max) {
          max_pool2d(p, threads, set);
        } else {
          average_pool2d(call, threads, set);
        }
        for (size_t at = 0; at < out.size(); ++at) {
          const size_t pixel = at / p.output_pixel_stride, channel = at % p.output_pixel_stride;
          if (channel >= p.channels) {
            ASSERT_EQ(77, out[at]) << "a gap was written";
            continue;
          }
          const size_t x = pixel % p.output_size.width;
          const size_t y = pixel / p.output_size.width % p.output_size.height;
          const size_t image = pixel / p.output_size.width / p.output_size.height;
          const double expected = expected_pool(call, is_max, image, y, x, channel);
          ASSERT_TRUE(is_near(expected, out[at], is_max ? 0 : tolerance::kLayer))
              << out[at] << ", expected " << expected << " " << name_of(set);
        }
      }
    }
  }
}

/// The place that ATen reports for a maximum: the first one, or the last NaN.
int64_t expected_place(const PoolCall& p, size_t image, size_t y, size_t x, size_t channel) {
  float most = -INFINITY;
  int64_t place = -1;
  for (size_t tap = 0; tap < p.kernel_height * p.kernel_width; ++tap) {
    const size_t in_y = y * p.stride_height + tap / p.kernel_width * p.dilation_height - p.pad_top;
    const size_t in_x = x * p.stride_width + tap % p.kernel_width * p.dilation_width - p.pad_left;
    if (in_y >= p.input_size.height || in_x >= p.input_size.width) continue;
    const size_t at = in_y * p.input_size.width + in_x;
    const float value =
        p.input[(image * p.input_size.height * p.input_size.width + at) * p.input_pixel_stride +
                channel];
    if (place >= 0 && !(value > most) && !std::isnan(value)) continue;
    most = value;
    place = int64_t(at);
  }
  return place;
}

TEST(Pool, FindsThePlacesOfMaxima) {
  Random random(43);
  for (int i = 0; i < 80; ++i) {
    AveragePoolCall unused = random_pool(random);
    PoolCall& p = unused.pool;
    if (i % 4 == 0) p.dilation_height = p.dilation_width = 2;
    const auto outputs = [](size_t size, size_t padding, size_t reach, size_t stride) {
      return size + 2 * padding < reach ? 0 : (size + 2 * padding - reach) / stride + 1;
    };
    p.output_size = {outputs(p.input_size.height, p.pad_top,
                             (p.kernel_height - 1) * p.dilation_height + 1, p.stride_height),
                     outputs(p.input_size.width, p.pad_left,
                             (p.kernel_width - 1) * p.dilation_width + 1, p.stride_width)};
    const size_t points = p.output_size.height * p.output_size.width;
    if (points == 0) continue;
    const size_t in_pixels = p.batch * p.input_size.height * p.input_size.width;
    Floats in = random.floats((in_pixels - 1) * p.input_pixel_stride + p.channels);
    for (float& value : in) value = std::round(value * 4);  // many are equal
    for (float special : {kNaN, kNaN, kInfinity, -kInfinity, -kInfinity}) {
      for (size_t k = random.size(0, in.size() / 8); k > 0; --k) {
        in[random.size(0, in.size() - 1)] = special;
      }
    }
    p.input = in.data();
    for (InstructionSet set : instruction_sets()) {
      ManyThreads threads(random.size(1, 3));
      const size_t size = (p.batch * points - 1) * p.output_pixel_stride + p.channels;
      Floats out(size, 77), maxima(size, 77);
      std::vector<int64_t> places(size, 77);
      p.output = maxima.data();
      p.places = nullptr;
      max_pool2d(p, threads, set);
      p.output = out.data();
      p.places = places.data();
      max_pool2d(p, threads, set);
      for (size_t at = 0; at < size; ++at) {
        const size_t pixel = at / p.output_pixel_stride, channel = at % p.output_pixel_stride;
        const bool is_gap = channel >= p.channels;
        ASSERT_TRUE(is_near(maxima[at], out[at], 0)) << out[at] << ", expected " << maxima[at];
        const int64_t expected =
            is_gap ? 77
                   : expected_place(p, pixel / points, pixel % points / p.output_size.width,
                                    pixel % p.output_size.width, channel);
        if (expected < 0) continue;  // a window without points
        ASSERT_EQ(expected, places[at]) << name_of(set);
      }
    }
  }
}

TEST(Pool, SumsPointsOfEachChannel) {
  Random random(42);
  for (size_t channels : {1, 3, 16, 64, 65, 130}) {
    for (size_t points : {0, 1, 49, 300}) {
      const Floats in = random.floats(2 * points * channels);
      for (InstructionSet set : instruction_sets()) {
        ManyThreads threads(2);
        Floats out(2 * channels);
        sum_points({2, points, channels, in.data(), out.data(), 0.5f}, threads, set);
        for (size_t at = 0; at < out.size(); ++at) {
          double sum = 0;
          for (size_t i = 0; i < points; ++i) {
            sum += in[(at / channels * points + i) * channels + at % channels];
          }
          ASSERT_TRUE(is_near(0.5 * sum, out[at],
                              tolerance::kElementwise + tolerance::kOneRounding * double(points)));
        }
      }
    }
  }
}

TEST(Resize, BlendsFourNeighbors) {
  Random random(43);
  for (int i = 0; i < 40; ++i) {
    ResizeCall call;
    call.batch = 2;
    call.channels = random.size(1, 20);
    call.input_size = {random.size(1, 9), random.size(1, 9)};
    call.output_size = {random.size(1, 19), random.size(1, 19)};
    call.align_corners = i % 2 == 0;
    const Floats in =
        random.floats(2 * call.input_size.height * call.input_size.width * call.channels);
    call.input = in.data();
    const auto source = [&](size_t out, size_t size, size_t out_size) {
      if (call.align_corners)
        return out_size > 1 ? out * double(size - 1) / double(out_size - 1) : 0.0;
      return std::max((double(out) + 0.5) * double(size) / double(out_size) - 0.5, 0.0);
    };
    for (InstructionSet set : instruction_sets()) {
      ManyThreads threads(2);
      Floats out(2 * call.output_size.height * call.output_size.width * call.channels);
      call.output = out.data();
      resize_bilinear(call, threads, set);
      for (size_t at = 0; at < out.size(); ++at) {
        const size_t channel = at % call.channels, pixel = at / call.channels;
        const size_t x = pixel % call.output_size.width;
        const size_t y = pixel / call.output_size.width % call.output_size.height;
        const size_t image = pixel / call.output_size.width / call.output_size.height;
        const double sy = source(y, call.input_size.height, call.output_size.height);
        const double sx = source(x, call.input_size.width, call.output_size.width);
        const auto pixel_at = [&](size_t py, size_t px) {
          py = std::min(py, call.input_size.height - 1);
          px = std::min(px, call.input_size.width - 1);
          return double(in[((image * call.input_size.height + py) * call.input_size.width + px) *
                               call.channels +
                           channel]);
        };
        const auto y0 = size_t(sy), x0 = size_t(sx);
        const double fy = sy - double(y0), fx = sx - double(x0);
        const double expected =
            (pixel_at(y0, x0) * (1 - fx) + pixel_at(y0, x0 + 1) * fx) * (1 - fy) +
            (pixel_at(y0 + 1, x0) * (1 - fx) + pixel_at(y0 + 1, x0 + 1) * fx) * fy;
        ASSERT_TRUE(is_near(expected, out[at], tolerance::kLayer));
      }
    }
  }
}

template <typename T, class Transpose>
void expect_swapped_rows_and_columns(Transpose transpose) {
  Random random(44);
  for (size_t rows : {0, 1, 2, 3, 4, 5, 15, 16, 17, 40}) {
    for (size_t columns : {0, 1, 3, 4, 16, 19, 50}) {
      std::vector<T> in(2 * rows * columns);
      for (T& value : in) value = T(random.size(0, 0xffffffff));
      for (InstructionSet set : instruction_sets()) {
        ManyThreads threads(random.size(1, 3));
        std::vector<T> out(in.size());
        transpose({2, rows, columns, in.data(), out.data()}, threads, set);
        for (size_t at = 0; at < in.size(); ++at) {
          const size_t image = at / (rows * columns), r = at / columns % rows, c = at % columns;
          ASSERT_EQ(in[at], out[image * rows * columns + c * rows + r]);
        }
      }
    }
  }
}

TEST(Transpose, SwapsRowsAndColumnsOfEveryShape) {
  expect_swapped_rows_and_columns<uint32_t>(transpose_32bit);
}

TEST(Transpose, SwapsRowsAndColumnsOfBytes) {
  expect_swapped_rows_and_columns<uint8_t>(transpose_8bit);
}

}  // namespace
