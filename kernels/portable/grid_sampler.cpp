// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// Sampling images at given points, in two and three dimensions. Floating dtypes, computed in
// float32 or float64.
#include <executorch/kernels/loops/convert.h>
#include <executorch/kernels/portable/NativeFunctions.h>
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

/// The images, seen with three spatial dimensions (of a two-dimensional one the depth is 1), and
/// the grid's points, whose coordinates start with the innermost dimension.
template <class T>
struct Sampler {
  int spatial;
  Images image, result;
  Strided grid;
  GridAxis<T> axes[kSpatial];
  int64_t interpolation;
  Reader<T> pixels;
  Reader<T> coordinates;
  Convert store_result;

  Samples<T> samples_at(const char* point, int d) {
    if (d < kSpatial - spatial) return {1, {0}, {1}};
    const int64_t stride = grid.strides[spatial + 1];
    return samples(axes[d], interpolation,
                   *coordinates(point + (kSpatial - 1 - d) * stride, sizeof(T), 1));
  }

  /// The pixels under a point, the same of every channel: where they are, and their weights.
  struct Taps {
    int count = 0;
    int64_t offsets[16];
    T weights[16];
  };

  Taps taps_at(const Samples<T>* s) const {
    Taps taps;
    int64_t at[kSpatial];
    const auto inside = [&](int d, int i) {
      at[d] = s[d].pixels[i];
      return at[d] >= 0 && at[d] < axes[d].size;
    };
    for (int i = 0; i < s[0].count; ++i) {
      if (!inside(0, i)) continue;
      for (int j = 0; j < s[1].count; ++j) {
        if (!inside(1, j)) continue;
        for (int k = 0; k < s[2].count; ++k) {
          if (!inside(2, k)) continue;
          taps.offsets[taps.count] = image.first.at(at) - image.first.data;
          taps.weights[taps.count++] = s[0].weights[i] * s[1].weights[j] * s[2].weights[k];
        }
      }
    }
    return taps;
  }

  T sum(const char* plane, const Taps& taps) {
    T total = 0;
    for (int i = 0; i < taps.count; ++i) {
      total += *pixels(plane + taps.offsets[i], sizeof(T), 1) * taps.weights[i];
    }
    return total;
  }

  // Channels lie far apart, neighbours of one channel side by side: several points at a time.
  static constexpr int64_t kPoints = 16;

  void sample_points(int64_t image_index, const int64_t* q, int64_t count) {
    Taps taps[kPoints];
    Samples<T> s[kSpatial];
    const int missing = kSpatial - spatial;
    const char* point = grid.data + image_index * grid.strides[0];
    for (int d = missing; d < kSpatial; ++d) point += q[d] * grid.strides[1 + d - missing];
    for (int64_t i = 0; i < count; ++i, point += grid.strides[spatial]) {
      for (int d = 0; d < kSpatial; ++d) s[d] = samples_at(point, d);
      taps[i] = taps_at(s);
    }
    const Plane from = image.plane(image_index, 0), to = result.plane(image_index, 0);
    T values[kPoints];
    for (int64_t c = 0; c < image.channels; ++c) {
      const char* const plane = from.data + c * from.channel_stride;
      for (int64_t i = 0; i < count; ++i) values[i] = sum(plane, taps[i]);
      store_result(to.at(q) + c * to.channel_stride, to.strides[2],
                   reinterpret_cast<const char*>(values), sizeof(T), count);
    }
  }

  void run() {
    int64_t q[kSpatial];
    for (int64_t n = 0; n < image.batch; ++n) {
      for (q[0] = 0; q[0] < result.sizes[0]; ++q[0]) {
        for (q[1] = 0; q[1] < result.sizes[1]; ++q[1]) {
          for (q[2] = 0; q[2] < result.sizes[2]; q[2] += kPoints) {
            sample_points(n, q, std::min(kPoints, result.sizes[2] - q[2]));
          }
        }
      }
    }
  }
};

Tensor& grid_sampler(KernelRuntimeContext& ctx, const Tensor& input, const Tensor& grid,
                     int spatial, int64_t interpolation, int64_t padding, bool align_corners,
                     Tensor& out) {
  const ScalarType dtype = input.scalar_type();
  const int rank = spatial + 2;
  const int64_t last = spatial == 2 ? kBicubic : kNearest;
  if (!ET_EXPECT(
          ctx,
          input.dim() == rank && grid.dim() == rank && grid.size(rank - 1) == spatial &&
              grid.size(0) == input.size(0),
          "input must be a batch of images of %d dimensions and grid a point of %d values for "
          "each output, found %s and %s",
          spatial, spatial, ShapeText(input).text, ShapeText(grid).text) ||
      !ET_EXPECT(ctx, is_floating(dtype), "input must be floating point, found %s",
                 name_of(dtype)) ||
      !ET_EXPECT(ctx, interpolation >= kBilinear && interpolation <= last,
                 "interpolation_mode must be from 0 to %" PRId64 ", found %" PRId64, last,
                 interpolation) ||
      !ET_EXPECT(ctx, padding >= kZeros && padding <= kReflection,
                 "padding_mode must be 0, 1 or 2, found %" PRId64, padding) ||
      !expect_same_dtype(ctx, "input", input, "grid", grid) ||
      !expect_dtype(ctx, "out", out, dtype) ||
      !Images(input, spatial).expect_pixels(ctx, "input")) {
    return out;
  }
  int64_t sizes[kSpatial];
  for (int d = 0; d < spatial; ++d) sizes[kSpatial - spatial + d] = grid.size(1 + d);
  if (!resize(ctx, out, image_shape(input, spatial, sizes))) return out;
  visit_floating(dtype, [&](auto tag) {
    using T = ET_TYPE_OF(tag);
    const Images image(input, spatial);
    const auto axis = [&](int d) { return GridAxis<T>{image.sizes[d], padding, align_corners}; };
    Sampler<T>{spatial,
               image,
               Images(out, spatial),
               Strided(grid),
               {axis(0), axis(1), axis(2)},
               interpolation,
               Reader<T>(dtype),
               Reader<T>(dtype),
               store(compute_type<T>, dtype)}
        .run();
  });
  return out;
}

}  // namespace

Tensor& grid_sampler_2d_out(KernelRuntimeContext& ctx, const Tensor& input, const Tensor& grid,
                            int64_t interpolation_mode, int64_t padding_mode, bool align_corners,
                            Tensor& out) {
  return grid_sampler(ctx, input, grid, 2, interpolation_mode, padding_mode, align_corners, out);
}

Tensor& grid_sampler_3d_out(KernelRuntimeContext& ctx, const Tensor& input, const Tensor& grid,
                            int64_t interpolation_mode, int64_t padding_mode, bool align_corners,
                            Tensor& out) {
  return grid_sampler(ctx, input, grid, 3, interpolation_mode, padding_mode, align_corners, out);
}

}  // namespace executorch::kernels::portable
