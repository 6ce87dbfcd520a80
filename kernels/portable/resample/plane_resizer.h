// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// A plane of an image resized by linear or cubic interpolation, with or without antialiasing.
#pragma once

#include <executorch/kernels/loops/dtype/convert.h>
#include <executorch/kernels/portable/spatial/plane.h>
#include <executorch/runtime/core/overflow.h>

#include <algorithm>
#include <cmath>
#include <optional>

namespace executorch::kernels::portable {

/// One spatial dimension: output q is at input coordinate (q + offset) * ratio - offset, where
/// offset is 0.5 for pixel centres and 0 for aligned corners.
struct ResizeAxis {
  int64_t in = 1;
  int64_t out = 1;
  double ratio = 1;

  /// With aligned corners, the ratio maps the ends to each other; otherwise it is the inverse of a
  /// given factor, or the quotient of the sizes. It is clamped to kMax, beyond which results are
  /// equal.
  void set_ratio(bool align_corners, std::optional<double> scale) {
    constexpr double kMax = 2147483648.0;
    if (align_corners) {
      ratio = out > 1 ? double(in - 1) / double(out - 1) : 0;
    } else {
      ratio = scale && *scale > 0 ? std::min(1 / *scale, kMax) : double(in) / double(out);
    }
  }
};

struct Filter {
  bool cubic;
  bool antialias;  ///< widened to the input pixels under an output pixel, where those are more
  bool align_corners;

  int64_t taps() const { return cubic ? 4 : 2; }
};

/// The cubic convolution kernel, at x ≥ 0.
template <class T>
T cubic_weight(T x, T a) {
  if (x < 1) return ((a + 2) * x - (a + 3)) * x * x + 1;
  return x < 2 ? ((x - 5) * x + 8) * x * a - 4 * a : T(0);
}

/// Pixels that each output reads in one dimension, and their weights: `taps` of each.
template <class T>
struct AxisTaps {
  int64_t taps = 0;
  int64_t* pixels = nullptr;
  T* weights = nullptr;
  T unit = 1;  ///< sum of an output's weights

  bool prepare(KernelRuntimeContext& ctx, const ResizeAxis& axis, const Filter& filter) {
    const T ratio = T(axis.ratio);
    const T reach = T(filter.taps()) / 2 * std::max(ratio, T(1));
    const bool single = axis.in == 1 && axis.out == 1;
    taps = single             ? 1
           : filter.antialias ? std::min(int64_t(std::ceil(reach) * 2 + 1), axis.in)
                              : filter.taps();
    pixels = allocate<int64_t>(ctx, axis.out * taps);
    if (pixels) weights = allocate<T>(ctx, axis.out * taps);
    if (!weights) return false;
    for (int64_t q = 0; q < axis.out; ++q) {
      int64_t* const p = pixels + q * taps;
      T* const w = weights + q * taps;
      if (single) {
        p[0] = 0;
        w[0] = 1;
      } else if (filter.antialias) {
        antialias(axis, filter, reach, ratio * (T(q) + T(0.5)), p, w);
      } else {
        interpolate(axis, filter, q, p, w);
      }
    }
    return true;
  }

  /// As ATen resizes uint8: the weights of each pixel become 16-bit integers, in units as fine as
  /// the greatest allows.
  void quantize(int64_t outputs) {
    for (int64_t i = 1; i < outputs * taps; ++i) {
      if (i % taps == 0 || pixels[i] != pixels[i - 1]) continue;
      weights[i] += weights[i - 1];
      weights[i - 1] = 0;
    }
    const T largest = *std::max_element(weights, weights + outputs * taps);
    int bits = 0;
    // Weights whose sum is almost zero are huge: no integer holds them.
    while (bits < 22 && T(0.5) + largest * T(int64_t(1) << (bits + 1)) < T(1 << 15)) ++bits;
    unit = T(int64_t(1) << bits);
    for (int64_t i = 0; i < outputs * taps; ++i) weights[i] = std::round(weights[i] * unit);
  }

 private:
  static void interpolate(const ResizeAxis& axis, const Filter& filter, int64_t q, int64_t* p,
                          T* w) {
    const T ratio = T(axis.ratio);
    T at = filter.align_corners ? ratio * T(q) : ratio * (T(q) + T(0.5)) - T(0.5);
    if (!filter.cubic) {
      at = std::max(at, T(0));
      p[0] = std::min(int64_t(at), axis.in - 1);
      p[1] = p[0] + (p[0] < axis.in - 1 ? 1 : 0);
      w[1] = std::clamp(at - T(p[0]), T(0), T(1));
      w[0] = 1 - w[1];
      return;
    }
    const int64_t low = std::min(int64_t(std::floor(at)), axis.in - 1);
    const T part = std::clamp(at - T(low), T(0), T(1));
    const T distances[] = {part + 1, part, 1 - part, 2 - part};
    for (int64_t j = 0; j < 4; ++j) {
      p[j] = std::clamp<int64_t>(low - 1 + j, 0, axis.in - 1);
      w[j] = cubic_weight(distances[j], T(-0.75));
    }
  }

  void antialias(const ResizeAxis& axis, const Filter& filter, T reach, T center, int64_t* p,
                 T* w) const {
    // T may round the size up.
    const auto pixel = [&](T at) {
      return std::min(int64_t(std::clamp(at + T(0.5), T(0), T(axis.in))), axis.in);
    };
    const int64_t begin = std::min(pixel(center - reach), axis.in - 1);
    const int64_t n = std::clamp<int64_t>(pixel(center + reach) - begin, 1, taps);
    const T narrow = T(filter.taps()) / 2 / reach;
    T total = 0;
    for (int64_t j = 0; j < n; ++j) {
      const T x = std::abs((T(begin + j) - center + T(0.5)) * narrow);
      w[j] = filter.cubic ? cubic_weight(x, T(-0.5)) : std::max(1 - x, T(0));
      total += w[j];
    }
    for (int64_t j = 0; j < taps; ++j) {
      w[j] = j < n && total != 0 ? w[j] / total : T(0);
      p[j] = begin + std::min(j, n - 1);
    }
  }
};

/// Rows are resized one after another, each once, and then summed to rows of the output.
template <class T>
class PlaneResizer {
 public:
  /// `lanes` adjacent channels are resized together; planes begin at the first of them.
  bool prepare(KernelRuntimeContext& ctx, const ResizeAxis* axes, const Filter& filter,
               ScalarType dtype, int64_t lanes) {
    axes_ = axes;
    lanes_ = lanes;
    load_ = load(dtype, compute_type<T>);
    store_ = store(compute_type<T>, dtype);
    is_direct_ = dtype == dtype_of(compute_type<T>);
    rounds_ = dtype == ScalarType::Byte;
    for (int d = 0; d < kSpatial; ++d) {
      if (!taps_[d].prepare(ctx, axes[d], filter)) return false;
      if (rounds_) taps_[d].quantize(axes[d].out);
    }
    slots_ = taps_[0].taps * taps_[1].taps;
    // Neither the input nor the output has as many elements as both dimensions together.
    int64_t cached = 0;
    if (!ET_EXPECT(ctx,
                   !runtime::mul_overflows(slots_, axes[2].out, &cached) &&
                       !runtime::mul_overflows(cached, lanes, &cached),
                   "%" PRId64 " resized rows of %" PRId64 " pixels are too many", slots_,
                   axes[2].out)) {
      return false;
    }
    row_tags_ = allocate<int64_t>(ctx, slots_);
    if (row_tags_) rows_ = allocate<T>(ctx, cached);
    if (rows_) sums_ = allocate<T>(ctx, axes[2].out * lanes);
    if (sums_) loaded_ = allocate<T>(ctx, axes[2].in * lanes);
    return loaded_ != nullptr;
  }

  void run(const Plane& in, const Plane& out) {
    std::fill_n(row_tags_, slots_, -1);
    const int64_t n = axes_[2].out * lanes_;
    const int64_t stride = lanes_ > 1 ? size_of(out.dtype) : out.strides[2];
    for (int64_t z = 0; z < axes_[0].out; ++z) {
      for (int64_t y = 0; y < axes_[1].out; ++y) {
        std::fill_n(sums_, n, T(0));
        for (int64_t i = z * taps_[0].taps; i < (z + 1) * taps_[0].taps; ++i) {
          for (int64_t j = y * taps_[1].taps; j < (y + 1) * taps_[1].taps; ++j) {
            const T weight = taps_[0].weights[i] * taps_[1].weights[j];
            const T* const row = resized_row(in, taps_[0].pixels[i], taps_[1].pixels[j]);
            for (int64_t q = 0; q < n; ++q) sums_[q] += weight * row[q];
          }
        }
        if (rounds_) round(sums_, n, taps_[0].unit * taps_[1].unit);
        store_(out.data + z * out.strides[0] + y * out.strides[1], stride,
               reinterpret_cast<const char*>(sums_), sizeof(T), n);
      }
    }
  }

 private:
  /// A row of the input, resized to the output's width. The rows for one output are cached in slots
  /// by their index modulo the number of taps; since they are consecutive, their slots differ.
  const T* resized_row(const Plane& in, int64_t z, int64_t y) {
    const int64_t slot = z % taps_[0].taps * taps_[1].taps + y % taps_[1].taps;
    T* const row = rows_ + slot * axes_[2].out * lanes_;
    const int64_t tag = z * axes_[1].in + y;
    if (row_tags_[slot] == tag) return row;
    row_tags_[slot] = tag;
    const char* const from = in.data + z * in.strides[0] + y * in.strides[1];
    const int64_t stride = lanes_ > 1 ? size_of(in.dtype) : in.strides[2];
    const T* pixels = reinterpret_cast<const T*>(from);
    if (!is_direct_ || stride != int64_t(sizeof(T))) {
      load_(reinterpret_cast<char*>(loaded_), sizeof(T), from, stride, axes_[2].in * lanes_);
      pixels = loaded_;
    }
    const AxisTaps<T>& t = taps_[2];
    if (lanes_ == 1) {
      for (int64_t q = 0; q < axes_[2].out; ++q) {
        T sum = 0;
        for (int64_t j = q * t.taps; j < (q + 1) * t.taps; ++j) {
          sum += t.weights[j] * pixels[t.pixels[j]];
        }
        row[q] = sum;
      }
    } else {
      std::fill_n(row, axes_[2].out * lanes_, T(0));
      for (int64_t j = 0; j < axes_[2].out * t.taps; ++j) {
        T* const to = row + j / t.taps * lanes_;
        const T* const pixel = pixels + t.pixels[j] * lanes_;
        for (int64_t c = 0; c < lanes_; ++c) to[c] += t.weights[j] * pixel[c];
      }
    }
    if (rounds_) round(row, axes_[2].out * lanes_, t.unit);
    return row;
  }

  static void round(T* values, int64_t n, T unit) {
    for (int64_t q = 0; q < n; ++q) {
      values[q] = std::clamp(std::floor(values[q] / unit + T(0.5)), T(0), T(255));
    }
  }

  const ResizeAxis* axes_ = nullptr;
  AxisTaps<T> taps_[kSpatial];
  Convert load_ = nullptr;
  Convert store_ = nullptr;
  bool is_direct_ = false;
  bool rounds_ = false;
  int64_t lanes_ = 1;
  int64_t slots_ = 0;
  int64_t* row_tags_ = nullptr;
  T* rows_ = nullptr;
  T* sums_ = nullptr;
  T* loaded_ = nullptr;
};

}  // namespace executorch::kernels::portable
