// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// Resizing by linear interpolation in one to three dimensions. Floating dtypes and uint8, computed
// in float32 or float64.
#include <executorch/kernels/portable/NativeFunctions.h>
#include <executorch/kernels/portable/loops/convert.h>
#include <executorch/kernels/portable/resample/scale.h>

#include <algorithm>
#include <cmath>

namespace executorch::kernels::portable {
namespace {

/// The two neighbours of an output and their weights.
template <class T>
struct Neighbours {
  int64_t low, high;
  T low_weight, high_weight;

  Neighbours() = default;
  Neighbours(const ResizeAxis& axis, bool align_corners, int64_t q) {
    const T ratio = T(axis.ratio);
    const T at = align_corners ? ratio * T(q) : std::max(ratio * (T(q) + T(0.5)) - T(0.5), T(0));
    low = std::min(int64_t(at), axis.in - 1);
    high = low + (low < axis.in - 1 ? 1 : 0);
    high_weight = std::clamp(at - T(low), T(0), T(1));
    low_weight = 1 - high_weight;
  }
};

template <class T>
class PlaneResizer {
 public:
  PlaneResizer(const ResizeAxis* axes, bool align_corners, const Plane& in, const Plane& out)
      : axes_(axes),
        align_corners_(align_corners),
        in_(in),
        out_(out),
        load_(load(in.dtype, compute_type<T>)),
        store_(store(compute_type<T>, out.dtype)),
        direct_(in.dtype == dtype_of(compute_type<T>)) {}

  void run() {
    for (int64_t first = 0; first < axes_[2].out; first += kBlock) {
      const int64_t n = std::min(kBlock, axes_[2].out - first);
      for (int64_t q = 0; q < n; ++q) {
        columns_[q] = Neighbours<T>(axes_[2], align_corners_, first + q);
      }
      for (int64_t z = 0; z < axes_[0].out; ++z) {
        for (int64_t y = 0; y < axes_[1].out; ++y) run_row(z, y, first, n);
      }
    }
  }

 private:
  T pixel(const char* at) const {
    if (direct_) return *reinterpret_cast<const T*>(at);
    T value;
    load_(reinterpret_cast<char*>(&value), 0, at, 0, 1);
    return value;
  }

  /// sums += weight * the row resized
  void add_row(const char* row, T weight, int64_t n) {
    if (weight == 0) return;
    for (int64_t q = 0; q < n; ++q) {
      const Neighbours<T>& x = columns_[q];
      const T low = pixel(row + x.low * in_.strides[2]),
              high = pixel(row + x.high * in_.strides[2]);
      sums_[q] += weight * (x.low_weight * low + x.high_weight * high);
    }
  }

  void run_row(int64_t z, int64_t y, int64_t first, int64_t n) {
    const Neighbours<T> planes(axes_[0], align_corners_, z), rows(axes_[1], align_corners_, y);
    std::fill_n(sums_, n, T(0));
    const auto add_plane = [&](int64_t plane, T weight) {
      const char* const depth = in_.data + plane * in_.strides[0];
      add_row(depth + rows.low * in_.strides[1], weight * rows.low_weight, n);
      add_row(depth + rows.high * in_.strides[1], weight * rows.high_weight, n);
    };
    add_plane(planes.low, planes.low_weight);
    add_plane(planes.high, planes.high_weight);
    if (in_.dtype == ScalarType::Byte) {
      for (int64_t q = 0; q < n; ++q) sums_[q] = std::nearbyint(sums_[q]);
    }
    store_(out_.data + z * out_.strides[0] + y * out_.strides[1] + first * out_.strides[2],
           out_.strides[2], reinterpret_cast<const char*>(sums_), sizeof(T), n);
  }

  const ResizeAxis* axes_;
  bool align_corners_;
  const Plane& in_;
  const Plane& out_;
  Convert load_;
  Convert store_;
  bool direct_;
  Neighbours<T> columns_[kBlock];
  T sums_[kBlock];
};

Tensor& linear(KernelRuntimeContext& ctx, const Tensor& self, int spatial,
               const ResizeArguments& arguments, bool align_corners, Tensor& out) {
  ResizeAxis axes[kSpatial];
  if (!prepare_resize(ctx, self, spatial, arguments, align_corners, out, axes)) return out;
  const Images from(self, spatial), to(out, spatial);
  for (int64_t image = 0; image < from.batch; ++image) {
    for (int64_t channel = 0; channel < from.channels; ++channel) {
      const Plane in = from.plane(image, channel), result = to.plane(image, channel);
      if (in.dtype == ScalarType::Double) {
        PlaneResizer<double>(axes, align_corners, in, result).run();
      } else {
        PlaneResizer<float>(axes, align_corners, in, result).run();
      }
    }
  }
  return out;
}

using Factor = std::optional<double>;

}  // namespace

Tensor& upsample_linear1d_out(KernelRuntimeContext& ctx, const Tensor& self, ArrayRef<int64_t> size,
                              bool align_corners, Factor scales, Tensor& out) {
  return linear(ctx, self, 1, {size, {{}, {}, scales}}, align_corners, out);
}

Tensor& upsample_bilinear2d_out(KernelRuntimeContext& ctx, const Tensor& self,
                                ArrayRef<int64_t> size, bool align_corners, Factor scales_h,
                                Factor scales_w, Tensor& out) {
  return linear(ctx, self, 2, {size, {{}, scales_h, scales_w}}, align_corners, out);
}

Tensor& upsample_trilinear3d_out(KernelRuntimeContext& ctx, const Tensor& self,
                                 ArrayRef<int64_t> size, bool align_corners, Factor scales_d,
                                 Factor scales_h, Factor scales_w, Tensor& out) {
  return linear(ctx, self, 3, {size, {scales_d, scales_h, scales_w}}, align_corners, out);
}

Tensor& upsample_bilinear2d_vec_out(KernelRuntimeContext& ctx, const Tensor& input,
                                    std::optional<ArrayRef<int64_t>> output_size,
                                    bool align_corners,
                                    std::optional<ArrayRef<double>> scale_factors, Tensor& out) {
  int64_t sizes[kSpatial];
  ResizeArguments arguments;
  if (!vec_arguments(ctx, input, 2, output_size, scale_factors, sizes, &arguments)) return out;
  return linear(ctx, input, 2, arguments, align_corners, out);
}

}  // namespace executorch::kernels::portable
