// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// Sampling an image at given points. Floating dtypes, computed in float32 or float64.
#include <executorch/kernels/portable/NativeFunctions.h>
#include <executorch/kernels/portable/loops/convert.h>
#include <executorch/kernels/portable/spatial/plane.h>

#include <algorithm>
#include <cmath>

namespace executorch::kernels::portable {
namespace {

// The numbers of ATen's arguments.
enum Interpolation : int64_t { kBilinear, kNearest, kBicubic };
enum Padding : int64_t { kZeros, kBorder, kReflection };

/// One dimension of the image: from the grid's [-1, 1] to pixels.
template <class T>
struct GridAxis {
  int64_t size;
  int64_t padding;
  bool align_corners;

  T pixel(T at) const {
    return align_corners ? (at + 1) / 2 * T(size - 1) : ((at + 1) * T(size) - 1) / 2;
  }

  /// Moves a coordinate into the image as the padding says; what no pixel index holds goes outside.
  T settle(T at) const {
    if (padding == kReflection) {
      at = align_corners ? reflect(at, 0, T(size - 1)) : reflect(at, T(-0.5), T(size));
    }
    // A NaN is brought inside as well: it fails both comparisons of min and max.
    if (padding != kZeros) at = std::min(T(size - 1), std::max(T(0), at));
    return std::abs(at) < T(1 << 30) ? at : T(-100);
  }

  /// Mirrors at `low` and at `low + span` until the coordinate lies between.
  static T reflect(T at, T low, T span) {
    if (span == 0) return 0;
    at = std::abs(at - low);
    const T rest = std::fmod(at, span);
    const bool even = std::fmod(std::floor(at / span), T(2)) == 0;
    return (even ? rest : span - rest) + low;
  }
};

/// What one output reads in one dimension: up to four pixels and their weights.
template <class T>
struct Samples {
  int count;
  int64_t pixels[4];
  T weights[4];
};

template <class T>
Samples<T> samples(const GridAxis<T>& axis, int64_t interpolation, T coordinate) {
  const T raw = axis.pixel(coordinate);
  if (interpolation == kNearest) {
    return {1, {int64_t(std::nearbyint(axis.settle(raw)))}, {1}};
  }
  if (interpolation == kBilinear) {
    const T at = axis.settle(raw);
    const T low = std::floor(at);
    return {2, {int64_t(low), int64_t(low) + 1}, {1 - (at - low), at - low}};
  }
  // Cubic convolution with a = -0.75; the padding applies to every one of the four pixels.
  const T a = T(-0.75);
  const T low = std::floor(raw), t = raw - low;
  const auto near = [a](T x) { return ((a + 2) * x - (a + 3)) * x * x + 1; };
  const auto far = [a](T x) { return ((a * x - 5 * a) * x + 8 * a) * x - 4 * a; };
  Samples<T> s = {4, {}, {far(t + 1), near(t), near(1 - t), far(2 - t)}};
  for (int i = 0; i < 4; ++i) s.pixels[i] = int64_t(axis.settle(low + T(i - 1)));
  return s;
}

template <class T>
struct Sampler {
  Images image, result;
  Strided grid;
  GridAxis<T> height, width;
  int64_t interpolation;
  Convert load_pixel, load_grid, store_result;

  T grid_value(int64_t n, int64_t y, int64_t x, int64_t which) const {
    T value;
    load_grid(reinterpret_cast<char*>(&value), 0,
              grid.data + n * grid.strides[0] + y * grid.strides[1] + x * grid.strides[2] +
                  which * grid.strides[3],
              0, 1);
    return value;
  }

  T sum(const Plane& plane, const Samples<T>& ys, const Samples<T>& xs) const {
    T total = 0;
    for (int i = 0; i < ys.count; ++i) {
      if (ys.pixels[i] < 0 || ys.pixels[i] >= height.size) continue;
      for (int j = 0; j < xs.count; ++j) {
        if (xs.pixels[j] < 0 || xs.pixels[j] >= width.size) continue;
        T value;
        load_pixel(reinterpret_cast<char*>(&value), 0,
                   plane.data + ys.pixels[i] * plane.strides[1] + xs.pixels[j] * plane.strides[2],
                   0, 1);
        total += value * ys.weights[i] * xs.weights[j];
      }
    }
    return total;
  }

  void run() const {
    for (int64_t n = 0; n < image.batch; ++n) {
      for (int64_t y = 0; y < result.sizes[1]; ++y) {
        for (int64_t x = 0; x < result.sizes[2]; ++x) {
          const Samples<T> xs = samples(width, interpolation, grid_value(n, y, x, 0));
          const Samples<T> ys = samples(height, interpolation, grid_value(n, y, x, 1));
          for (int64_t c = 0; c < image.channels; ++c) {
            const T value = sum(image.plane(n, c), ys, xs);
            const Plane to = result.plane(n, c);
            store_result(to.data + y * to.strides[1] + x * to.strides[2], 0,
                         reinterpret_cast<const char*>(&value), 0, 1);
          }
        }
      }
    }
  }
};

}  // namespace

Tensor& grid_sampler_2d_out(KernelRuntimeContext& ctx, const Tensor& input, const Tensor& grid,
                            int64_t interpolation_mode, int64_t padding_mode, bool align_corners,
                            Tensor& out) {
  if (!ET_EXPECT(
          ctx,
          input.dim() == 4 && grid.dim() == 4 && grid.size(3) == 2 && grid.size(0) == input.size(0),
          "input must have sizes [N, C, H, W] and grid [N, H, W, 2], found %s and %s",
          ShapeText(input).text, ShapeText(grid).text) ||
      !ET_EXPECT(ctx, is_floating(input.scalar_type()), "input must be floating point, found %s",
                 name_of(input.scalar_type())) ||
      !ET_EXPECT(ctx, input.size(2) > 0 && input.size(3) > 0, "input has no pixels: %s",
                 ShapeText(input).text) ||
      !ET_EXPECT(ctx, interpolation_mode >= kBilinear && interpolation_mode <= kBicubic,
                 "interpolation_mode must be 0, 1 or 2, found %" PRId64, interpolation_mode) ||
      !ET_EXPECT(ctx, padding_mode >= kZeros && padding_mode <= kReflection,
                 "padding_mode must be 0, 1 or 2, found %" PRId64, padding_mode) ||
      !expect_same_dtype(ctx, "input", input, "grid", grid) ||
      !expect_dtype(ctx, "out", out, input.scalar_type())) {
    return out;
  }
  const int64_t sizes[] = {1, grid.size(1), grid.size(2)};
  if (!resize(ctx, out, image_shape(input, 2, sizes))) return out;
  visit_compute(compute_of(input.scalar_type()), [&](auto tag) {
    using T = ET_TYPE_OF(tag);
    if constexpr (std::is_floating_point_v<T>) {
      const ScalarType dtype = input.scalar_type();
      const Convert load_as = load(dtype, compute_type<T>);
      Sampler<T>{Images(input, 2),
                 Images(out, 2),
                 Strided(grid),
                 {input.size(2), padding_mode, align_corners},
                 {input.size(3), padding_mode, align_corners},
                 interpolation_mode,
                 load_as,
                 load_as,
                 store(compute_type<T>, dtype)}
          .run();
    }
  });
  return out;
}

}  // namespace executorch::kernels::portable
