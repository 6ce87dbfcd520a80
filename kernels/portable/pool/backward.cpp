// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// Gradients of pooling. Each element of the output's gradient is added to the element that was its
// window's maximum, or for means in equal parts to all elements of the window. Dtypes: floating,
// and int64 for means as in ATen. 16-bit floats are summed in float32, in temporary memory for a
// plane.
#include <executorch/kernels/loops/dtype/convert.h>
#include <executorch/kernels/loops/memory/positions.h>
#include <executorch/kernels/portable/NativeFunctions.h>
#include <executorch/kernels/portable/pool/geometry.h>

namespace executorch::kernels::portable {
namespace {

/// True if the plane's elements are not evenly spaced in index order.
bool has_gaps(const Plane& plane, const int64_t* sizes) {
  const int64_t* const strides = plane.strides;
  return strides[1] != sizes[2] * strides[2] ||
         (sizes[0] != 1 && strides[0] != sizes[1] * strides[1]);
}

/// Sums of one channel's gradient, as T: in the gradient itself if its dtype is T, else in
/// temporary memory.
template <class T>
class PlaneSums {
 public:
  PlaneSums(KernelRuntimeContext& ctx, const Images& images)
      : sizes_(images.sizes),
        dtype_(images.first.dtype),
        is_direct_(dtype_ == dtype_of(compute_type<T>)) {
    if (!is_direct_) temp_ = allocate<T>(ctx, size());
  }
  bool ready() const { return is_direct_ || temp_; }
  int64_t size() const { return sizes_[0] * sizes_[1] * sizes_[2]; }

  /// Starts a plane with sums of zero.
  void open(const Plane& plane) {
    plane_ = plane;
    if (!is_direct_) {
      sums_ = {reinterpret_cast<char*>(temp_), dtype_of(compute_type<T>), 0, {}};
      int64_t stride = sizeof(T);
      for (int d = kSpatial - 1; d >= 0; --d) {
        sums_.strides[d] = stride;
        stride *= sizes_[d];
      }
    } else {
      sums_ = plane;
    }
    even_ = !has_gaps(sums_, sizes_);
    packed_ = even_ && sums_.strides[2] == int64_t(sizeof(T));
    if (packed_) {
      std::fill_n(at(sums_.data, 0), size(), T(0));
      return;
    }
    const Window all = {{0, 0, 0}, {sizes_[0], sizes_[1], sizes_[2]}};
    for_each_row(all, [&](char* row, const int64_t*) {
      for (int64_t x = 0; x < sizes_[2]; ++x) *at(row, x) = T(0);
    });
  }

  /// Adds n values at the flat indices in `places`, `stride` bytes apart. Stops at the first index
  /// outside of the plane; returns the number of values added.
  int64_t add(const char* places, int64_t stride, const T* values, int64_t n) {
    if (packed_) {
      return add_at(places, stride, values, n,
                    [base = sums_.data](int64_t i) { return base + i * int64_t(sizeof(T)); });
    }
    if (!even_) return add_at(places, stride, values, n, [this](int64_t i) { return place(i); });
    return add_at(
        places, stride, values, n,
        [base = sums_.data, step = sums_.strides[2]](int64_t i) { return base + i * step; });
  }

  void add(const Window& window, T value) {
    for_each_row(window, [&](char* row, const int64_t*) {
      const int64_t n = window.end[2] - window.begin[2];
      for (int64_t x = 0; x < n; ++x) *at(row, x) = sum(*at(row, x), value);
    });
  }

  /// Writes the sums to the plane.
  void close() {
    if (is_direct_) return;
    const Convert store_row = store(compute_type<T>, dtype_);
    const Window all = {{0, 0, 0}, {sizes_[0], sizes_[1], sizes_[2]}};
    for_each_row(all, [&](char* row, const int64_t* index) {
      store_row(plane_.at(index), plane_.strides[2], row, sums_.strides[2], sizes_[2]);
    });
  }

 private:
  template <class At>
  int64_t add_at(const char* places, int64_t stride, const T* values, int64_t n, At&& at) const {
    const auto limit = static_cast<uint64_t>(size());
    for (int64_t i = 0; i < n; ++i, places += stride) {
      const int64_t flat = load_index(reinterpret_cast<const int64_t*>(places));
      if (static_cast<uint64_t>(flat) >= limit) return i;
      T* const total = reinterpret_cast<T*>(at(flat));
      *total = sum(*total, values[i]);
    }
    return n;
  }

  char* place(int64_t flat) const {
    const int64_t index[] = {flat / (sizes_[1] * sizes_[2]), flat / sizes_[2] % sizes_[1],
                             flat % sizes_[2]};
    return sums_.at(index);
  }

  T* at(char* row, int64_t x) const { return reinterpret_cast<T*>(row + x * sums_.strides[2]); }

  /// Calls f(start of the row in the sums, its index) for every row of the window.
  template <class F>
  void for_each_row(const Window& w, F&& f) {
    int64_t index[kSpatial] = {0, 0, w.begin[2]};
    for (index[0] = w.begin[0]; index[0] < w.end[0]; ++index[0]) {
      for (index[1] = w.begin[1]; index[1] < w.end[1]; ++index[1]) {
        f(sums_.at(index), static_cast<const int64_t*>(index));
      }
    }
  }

  const int64_t* sizes_;
  ScalarType dtype_;
  bool is_direct_;
  bool even_ = false;    ///< elements have a constant distance in index order
  bool packed_ = false;  ///< and that distance is sizeof(T)
  T* temp_ = nullptr;
  Plane plane_, sums_;
};

/// Checks dtypes and sizes, and gives `grad_input` the sizes of `self`.
bool prepare(KernelRuntimeContext& ctx, const Tensor& grad_output, const Tensor& self, int spatial,
             Tensor& grad_input) {
  const ScalarType dtype = self.scalar_type();
  return ET_EXPECT(ctx, is_floating(dtype) || dtype == ScalarType::Long,
                   "self must be floating point or int64, found %s", name_of(dtype)) &&
         expect_images(ctx, "self", self, spatial) &&
         expect_dtype(ctx, "grad_output", grad_output, dtype) &&
         expect_dtype(ctx, "grad_input", grad_input, dtype) && resize_like(ctx, grad_input, self);
}

bool expect_shape(KernelRuntimeContext& ctx, const char* name, const Tensor& tensor,
                  const Shape& shape) {
  return ET_EXPECT(ctx, Shape(tensor) == shape, "%s must have sizes %s, found %s", name,
                   ShapeText(shape).text, ShapeText(tensor).text);
}

/// Calls scatter(sums, values, n, index of the first, image, channel) for runs of a row of
/// `grad_output`, plane by plane. Stops if scatter returns false.
template <class Scatter>
void for_each_run(KernelRuntimeContext& ctx, const Images& from, const Images& to,
                  Scatter&& scatter) {
  visit_compute(compute_of(from.first.dtype), [&](auto tag) {
    using T = ET_TYPE_OF(tag);
    PlaneSums<T> sums(ctx, to);
    Reader<T> reader(from.first.dtype);
    if (!sums.ready()) return;
    // Planes without pixels take no memory: a file may declare more than could be visited.
    const bool is_empty = to.sizes[0] == 0 || to.sizes[1] == 0 || to.sizes[2] == 0;
    const int64_t planes = is_empty ? 0 : to.batch * to.channels;
    for (int64_t index = 0; index < planes; ++index) {
      const int64_t image = index / to.channels, channel = index % to.channels;
      const Plane plane = from.plane(image, channel);
      sums.open(to.plane(image, channel));
      int64_t q[kSpatial] = {0, 0, 0};
      for (q[0] = 0; q[0] < from.sizes[0]; ++q[0]) {
        for (q[1] = 0; q[1] < from.sizes[1]; ++q[1]) {
          for (q[2] = 0; q[2] < from.sizes[2]; q[2] += kBlock) {
            const int64_t n = std::min(kBlock, from.sizes[2] - q[2]);
            const T* const values = reader(plane.at(q), plane.strides[2], n);
            if (!scatter(sums, values, n, static_cast<const int64_t*>(q), image, channel)) return;
          }
        }
      }
      sums.close();
    }
  });
}

/// Adds every gradient, divided by divisor(window, output index), to window(output index).
template <class WindowAt, class DivisorAt>
void spread(KernelRuntimeContext& ctx, const Images& from, const Images& to, WindowAt&& window,
            DivisorAt&& divisor) {
  for_each_run(ctx, from, to,
               [&](auto& sums, auto* values, int64_t n, const int64_t* first, int64_t, int64_t) {
                 int64_t q[kSpatial] = {first[0], first[1], first[2]};
                 for (int64_t i = 0; i < n; ++i, ++q[2]) {
                   const Window w = window(static_cast<const int64_t*>(q));
                   sums.add(w, mean(values[i], divisor(w, static_cast<const int64_t*>(q))));
                 }
                 return true;
               });
}

/// Describes each plane as one row; the images must not have gaps.
void join_rows(Images& images) {
  images.sizes[2] *= images.sizes[0] * images.sizes[1];
  images.sizes[0] = images.sizes[1] = 1;
}

/// Adds each gradient to the element that `indices` names.
void max_backward(KernelRuntimeContext& ctx, const Tensor& grad_output, const Tensor& indices,
                  int spatial, Tensor& grad_input) {
  if (!ET_EXPECT(ctx, is_floating(grad_output.scalar_type()),
                 "grad_output must be floating point, found %s",
                 name_of(grad_output.scalar_type())) ||
      !expect_dtype(ctx, "indices", indices, ScalarType::Long) ||
      !expect_shape(ctx, "indices", indices, Shape(grad_output))) {
    return;
  }
  Images from(grad_output, spatial), places(indices, spatial);
  const Images to(grad_input, spatial);
  if (!has_gaps(from.first, from.sizes) && !has_gaps(places.first, places.sizes)) {
    join_rows(from);
    join_rows(places);
  }
  for_each_run(
      ctx, from, to,
      [&](auto& sums, auto* values, int64_t n, const int64_t* q, int64_t image, int64_t channel) {
        const Plane plane = places.plane(image, channel);
        const int64_t added = sums.add(plane.at(q), plane.strides[2], values, n);
        return ET_EXPECT(ctx, added == n,
                         "an index lies outside of a plane of %" PRId64 " elements", sums.size());
      });
}

Tensor& fixed_max_backward(KernelRuntimeContext& ctx, const Tensor& grad_output, const Tensor& self,
                           int spatial, const PoolArguments& arguments, const Tensor& indices,
                           Tensor& grad_input) {
  WindowLoops loops;
  if (pool_loops(ctx, self, spatial, arguments, &loops) &&
      prepare(ctx, grad_output, self, spatial, grad_input) &&
      expect_shape(ctx, "grad_output", grad_output, pool_shape(self, spatial, loops))) {
    max_backward(ctx, grad_output, indices, spatial, grad_input);
  }
  return grad_input;
}

/// Checks adaptive pooling, which accepts any spatial output size: only batch and channels must
/// agree.
bool expect_fitted(KernelRuntimeContext& ctx, const Tensor& grad_output, const Tensor& self,
                   int spatial) {
  if (!expect_images(ctx, "grad_output", grad_output, spatial)) return false;
  const Images planes(grad_output, spatial), images(self, spatial);
  return images.expect_pixels(ctx, "self") &&
         expect_shape(ctx, "grad_output", grad_output, image_shape(self, spatial, planes.sizes));
}

Tensor& fitted_max_backward(KernelRuntimeContext& ctx, const Tensor& grad_output,
                            const Tensor& self, int spatial, const Tensor& indices,
                            Tensor& grad_input) {
  if (prepare(ctx, grad_output, self, spatial, grad_input) &&
      expect_fitted(ctx, grad_output, self, spatial)) {
    max_backward(ctx, grad_output, indices, spatial, grad_input);
  }
  return grad_input;
}

Tensor& fitted_mean_backward(KernelRuntimeContext& ctx, const Tensor& grad_output,
                             const Tensor& self, int spatial, Tensor& grad_input) {
  if (!prepare(ctx, grad_output, self, spatial, grad_input) ||
      !ET_EXPECT(ctx, is_floating(self.scalar_type()),
                 "self must be floating point, found int64") ||
      !expect_fitted(ctx, grad_output, self, spatial)) {
    return grad_input;
  }
  const Images from(grad_output, spatial), to(grad_input, spatial);
  const auto window = [&](const int64_t* q) {
    Window w;
    for (int d = 0; d < kSpatial; ++d) w.fit(d, q[d], to.sizes[d], from.sizes[d]);
    return w;
  };
  spread(ctx, from, to, window, [](const Window& w, const int64_t*) { return w.size(); });
  return grad_input;
}

Tensor& fixed_mean_backward(KernelRuntimeContext& ctx, const Tensor& grad_output,
                            const Tensor& self, int spatial, const PoolArguments& arguments,
                            bool count_include_pad, std::optional<int64_t> divisor_override,
                            Tensor& grad_input) {
  WindowLoops loops;
  if (!ET_EXPECT(ctx, !divisor_override || *divisor_override != 0, "divisor_override is 0") ||
      !pool_loops(ctx, self, spatial, arguments, &loops) ||
      !prepare(ctx, grad_output, self, spatial, grad_input) ||
      !expect_shape(ctx, "grad_output", grad_output, pool_shape(self, spatial, loops))) {
    return grad_input;
  }
  const Divisor divisor = {count_include_pad, divisor_override.value_or(0)};
  const Images from(grad_output, spatial), to(grad_input, spatial);
  const auto window = [&](const int64_t* q) {
    Window w;
    for (int d = 0; d < kSpatial; ++d) {
      const WindowAxis& axis = loops.axis[d];
      const int64_t start = axis.input(q[d], 0);
      w.begin[d] = std::max<int64_t>(start, 0);
      w.end[d] = std::min(start + axis.taps, axis.in);
    }
    return w;
  };
  spread(ctx, from, to, window, [&](const Window&, const int64_t* q) {
    return divisor.of(loops, divisor.outer(loops, q), q[2]);
  });
  return grad_input;
}

}  // namespace

#define ET_POOL_BACKWARD(n)                                                                    \
  Tensor& _adaptive_avg_pool##n##d_backward_out(                                               \
      KernelRuntimeContext& ctx, const Tensor& grad_output, const Tensor& self, Tensor& out) { \
    return fitted_mean_backward(ctx, grad_output, self, n, out);                               \
  }                                                                                            \
  Tensor& adaptive_max_pool##n##d_backward_grad_input(                                         \
      KernelRuntimeContext& ctx, const Tensor& grad_output, const Tensor& self,                \
      const Tensor& indices, Tensor& grad_input) {                                             \
    return fitted_max_backward(ctx, grad_output, self, n, indices, grad_input);                \
  }                                                                                            \
  Tensor& max_pool##n##d_with_indices_backward_grad_input(                                     \
      KernelRuntimeContext& ctx, const Tensor& grad_output, const Tensor& self,                \
      ArrayRef<int64_t> kernel_size, ArrayRef<int64_t> stride, ArrayRef<int64_t> padding,      \
      ArrayRef<int64_t> dilation, bool ceil_mode, const Tensor& indices, Tensor& grad_input) { \
    return fixed_max_backward(ctx, grad_output, self, n,                                       \
                              {kernel_size, stride, padding, dilation, ceil_mode}, indices,    \
                              grad_input);                                                     \
  }                                                                                            \
  Tensor& avg_pool##n##d_backward_grad_input(                                                  \
      KernelRuntimeContext& ctx, const Tensor& grad_output, const Tensor& self,                \
      ArrayRef<int64_t> kernel_size, ArrayRef<int64_t> stride, ArrayRef<int64_t> padding,      \
      bool ceil_mode, bool count_include_pad, std::optional<int64_t> divisor_override,         \
      Tensor& grad_input) {                                                                    \
    return fixed_mean_backward(ctx, grad_output, self, n,                                      \
                               {kernel_size, stride, padding, {kUndilated, 1}, ceil_mode},     \
                               count_include_pad, divisor_override, grad_input);               \
  }
ET_POOL_BACKWARD(2)
ET_POOL_BACKWARD(3)
#undef ET_POOL_BACKWARD

}  // namespace executorch::kernels::portable
