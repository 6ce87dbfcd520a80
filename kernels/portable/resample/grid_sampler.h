// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// Images sampled at the points of a grid, in two and three dimensions: several points at a time,
// whose pixels and weights are found once for all channels.
#pragma once

#include <executorch/kernels/loops/dtype/convert.h>
#include <executorch/kernels/loops/elementwise/simd_dispatch.h>
#include <executorch/kernels/portable/spatial/plane.h>

#include <algorithm>
#include <cmath>

namespace executorch::kernels::portable {

// The numbers of ATen's arguments.
enum Interpolation : int64_t { kBilinear, kNearest, kBicubic };
enum Padding : int64_t { kZeros, kBorder, kReflection };

struct GridArguments {
  int64_t interpolation, padding;
  bool align_corners;
};

/// One dimension of the image: from the grid's [-1, 1] to pixels.
template <class T>
struct GridAxis {
  int32_t size;
  int64_t stride;  ///< bytes
  int64_t padding;
  bool align_corners;

  T pixel(T at) const {
    return align_corners ? (at + 1) / 2 * T(size - 1) : ((at + 1) * T(size) - 1) / 2;
  }

  /// Moves a coordinate into the image by the padding mode. Coordinates that do not fit a pixel
  /// index are moved outside.
  T into_image(T at) const {
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

inline constexpr int64_t kGridPoints = 32;

/// Pixels that a block of points reads in one dimension, up to four for each point, and their
/// weights. A pixel outside of the image has the border's offset and weight 0.
template <class T>
struct AxisSamples {
  int count = 1;
  int64_t offsets[4][kGridPoints];
  T weights[4][kGridPoints];
  bool inside[4][kGridPoints];

  /// A dimension that the image lacks: each point reads its only pixel.
  void find_only(int64_t n) {
    for (int64_t i = 0; i < n; ++i) offsets[0][i] = 0, weights[0][i] = 1, inside[0][i] = true;
  }

  void find(const GridAxis<T>& axis, int64_t interpolation, const T* coordinates, int64_t n) {
    T raw[kGridPoints];
    for (int64_t i = 0; i < n; ++i) raw[i] = axis.pixel(coordinates[i]);
    if (interpolation == kNearest) {
      count = 1;
      for (int64_t i = 0; i < n; ++i)
        set(axis, 0, i, std::nearbyint(axis.into_image(raw[i])), T(1));
    } else if (interpolation == kBilinear) {
      count = 2;
      for (int64_t i = 0; i < n; ++i) {
        const T at = axis.into_image(raw[i]), low = std::floor(at), part = at - low;
        set(axis, 0, i, low, 1 - part);
        set(axis, 1, i, low + 1, part);
      }
    } else {
      find_cubic(axis, raw, n);
    }
  }

 private:
  /// Cubic convolution with a = -0.75; the padding applies to every one of the four pixels.
  void find_cubic(const GridAxis<T>& axis, const T* raw, int64_t n) {
    const T a = T(-0.75);
    const auto near = [a](T x) { return ((a + 2) * x - (a + 3)) * x * x + 1; };
    const auto far = [a](T x) { return ((a * x - 5 * a) * x + 8 * a) * x - 4 * a; };
    count = 4;
    for (int64_t i = 0; i < n; ++i) {
      const T low = std::floor(raw[i]), t = raw[i] - low;
      const T weight[] = {far(t + 1), near(t), near(1 - t), far(2 - t)};
      for (int k = 0; k < 4; ++k) set(axis, k, i, axis.into_image(low + T(k - 1)), weight[k]);
    }
  }

  void set(const GridAxis<T>& axis, int tap, int64_t i, T at, T weight) {
    const auto pixel = static_cast<int32_t>(at);
    const bool within = (pixel >= 0) & (pixel < axis.size);
    offsets[tap][i] = std::clamp<int32_t>(pixel, 0, axis.size - 1) * axis.stride;
    weights[tap][i] = within ? weight : T(0);
    inside[tap][i] = within;
  }
};

/// The images, seen with three spatial dimensions (of a two-dimensional one the depth is 1), and
/// the grid's points, whose coordinates start with the innermost dimension.
struct GridImages {
  Images image, result;
  Strided grid;
  int spatial;
};

template <class T>
class GridSampler {
 public:
  GridSampler(const GridImages& images, const GridArguments& arguments)
      : m_(images),
        interpolation_(arguments.interpolation),
        is_direct_(images.grid.dtype == dtype_of(compute_type<T>)),
        reader_(images.grid.dtype),
        store_(store(compute_type<T>, images.grid.dtype)) {
    for (int d = 0; d < kSpatial; ++d) {
      axes_[d] = {static_cast<int32_t>(m_.image.sizes[d]), m_.image.first.strides[d],
                  arguments.padding, arguments.align_corners};
    }
  }

  void run() {
    int64_t q[kSpatial];
    for (int64_t n = 0; n < m_.image.batch; ++n) {
      for (q[0] = 0; q[0] < m_.result.sizes[0]; ++q[0]) {
        for (q[1] = 0; q[1] < m_.result.sizes[1]; ++q[1]) {
          for (q[2] = 0; q[2] < m_.result.sizes[2]; q[2] += kGridPoints) {
            in_vectors([](GridSampler* sampler, int64_t image, const int64_t* at,
                          int64_t count) { sampler->sample(image, at, count); },
                       this, n, q, std::min(kGridPoints, m_.result.sizes[2] - q[2]));
          }
        }
      }
    }
  }

 private:
  static constexpr int kMaxTaps = 16;

  void sample(int64_t image, const int64_t* q, int64_t count) {
    find_taps(image, q, count);
    const Plane from = m_.image.plane(image, 0), to = m_.result.plane(image, 0);
    T values[kGridPoints];
    for (int64_t c = 0; c < m_.image.channels; ++c) {
      const char* const plane = from.data + c * from.channel_stride;
      if (is_direct_) {
        std::fill_n(values, count, T(0));
        if (taps_ == 1) add_taps<1>(plane, 0, count, values);
        for (int k = 0; k + 4 <= taps_; k += 4) add_taps<4>(plane, k, count, values);
      }
      for (int64_t i = 0; i < special_count_; ++i) {
        values[special_[i]] = sum_inside(plane, special_[i]);
      }
      store_(to.at(q) + c * to.channel_stride, to.strides[2], reinterpret_cast<const char*>(values),
             sizeof(T), count);
    }
  }

  /// The pixels under the points, the same of every channel, and their weights.
  void find_taps(int64_t image, const int64_t* q, int64_t count) {
    const int missing = kSpatial - m_.spatial;
    const Strided& grid = m_.grid;
    const char* point = grid.data + image * grid.strides[0];
    for (int d = missing; d < kSpatial; ++d) point += q[d] * grid.strides[1 + d - missing];
    const int64_t step = grid.strides[m_.spatial], next = grid.strides[m_.spatial + 1];
    for (int d = 0; d < missing; ++d) samples_[d].find_only(count);
    for (int d = missing; d < kSpatial; ++d) {
      samples_[d].find(axes_[d], interpolation_,
                       reader_(point + (kSpatial - 1 - d) * next, step, count), count);
    }
    std::fill_n(outside_, count, 0);
    taps_ = 0;
    for (int a = 0; a < samples_[0].count; ++a) {
      for (int b = 0; b < samples_[1].count; ++b) {
        for (int c = 0; c < samples_[2].count; ++c) combine(a, b, c, count);
      }
    }
    special_count_ = 0;
    for (int64_t i = 0; i < count; ++i) {
      special_[special_count_] = i;
      special_count_ += !is_direct_ || outside_[i] != 0;
    }
  }

  void combine(int a, int b, int c, int64_t count) {
    const AxisSamples<T>*x = samples_, *y = samples_ + 1, *z = samples_ + 2;
    for (int64_t i = 0; i < count; ++i) {
      offsets_[taps_][i] = x->offsets[a][i] + y->offsets[b][i] + z->offsets[c][i];
      weights_[taps_][i] = x->weights[a][i] * y->weights[b][i] * z->weights[c][i];
      const bool inside = x->inside[a][i] & y->inside[b][i] & z->inside[c][i];
      outside_[i] |= static_cast<uint32_t>(!inside) << taps_;
    }
    ++taps_;
  }

  template <int kTaps>
  void add_taps(const char* plane, int first, int64_t count, T* values) const {
    for (int64_t i = 0; i < count; ++i) {
      T sum = values[i];
      for (int k = first; k < first + kTaps; ++k) {
        sum += *reinterpret_cast<const T*>(plane + offsets_[k][i]) * weights_[k][i];
      }
      values[i] = sum;
    }
  }

  /// The sum for a point with pixels outside of the image. Skips them: infinity times 0 is NaN.
  T sum_inside(const char* plane, int64_t i) {
    T total = 0;
    for (int k = 0; k < taps_; ++k) {
      if ((outside_[i] >> k & 1) != 0) continue;
      total += *reader_(plane + offsets_[k][i], sizeof(T), 1) * weights_[k][i];
    }
    return total;
  }

  const GridImages m_;
  const int64_t interpolation_;
  const bool is_direct_;  // pixels are T in memory
  Reader<T> reader_;
  const Convert store_;
  GridAxis<T> axes_[kSpatial];
  AxisSamples<T> samples_[kSpatial];
  int taps_ = 0;
  int64_t offsets_[kMaxTaps][kGridPoints];
  T weights_[kMaxTaps][kGridPoints];
  uint32_t outside_[kGridPoints];
  int64_t special_[kGridPoints];
  int64_t special_count_ = 0;
};

}  // namespace executorch::kernels::portable
