// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// Layer and group norm of contiguous tensors that are computed in float32; the portable kernels do
// the rest.
#include <executorch/kernels/loops/check.h>
#include <executorch/kernels/loops/convert.h>
#include <executorch/kernels/loops/divide.h>
#include <executorch/kernels/loops/index_order.h>
#include <executorch/kernels/optimized/NativeFunctions.h>
#include <executorch/kernels/optimized/isa.h>
#include <executorch/kernels/optimized/part_buffers.h>
#include <executorch/kernels/portable/NativeFunctions.h>

#include <algorithm>
#include <cmath>

namespace executorch::kernels::optimized {
namespace {

using ThreeTensors = std::tuple<Tensor&, Tensor&, Tensor&>;

/// Elements worth the start of a thread.
constexpr int64_t kLeast = 1 << 16;
constexpr int64_t kSize = sizeof(float);

bool in_order(const Tensor& tensor) { return in_index_order(Strided(tensor)); }

/// Computed in float32, and contiguous.
bool fits(const Tensor& tensor) {
  const ScalarType dtype = tensor.scalar_type();
  return is_floating(dtype) && dtype != ScalarType::Double && in_order(tensor);
}

bool fits(const std::optional<Tensor>& parameter, ArrayRef<int64_t> sizes) {
  if (!parameter) return true;
  if (!fits(*parameter) || parameter->dim() != int64_t(sizes.size())) return false;
  for (size_t d = 0; d < sizes.size(); ++d) {
    if (parameter->size(int64_t(d)) != sizes[d]) return false;
  }
  return true;
}

/// The sizes are the last ones of the tensor.
bool ends_with(const Tensor& tensor, ArrayRef<int64_t> sizes) {
  const int64_t rank = tensor.dim(), trailing = int64_t(sizes.size());
  if (trailing == 0 || trailing > rank) return false;
  for (int64_t d = 0; d < trailing; ++d) {
    if (tensor.size(rank - trailing + d) != sizes[d]) return false;
  }
  return true;
}

/// A parameter as float32. False where there is no memory to convert it in.
bool floats(KernelRuntimeContext& ctx, const std::optional<Tensor>& tensor, const float** values) {
  *values = nullptr;
  if (!tensor) return true;
  const auto* const data = static_cast<const char*>(tensor->const_data_ptr());
  if (tensor->scalar_type() == ScalarType::Float) {
    *values = reinterpret_cast<const float*>(data);
    return true;
  }
  const auto memory = ctx.allocate_temp(size_t(tensor->numel() * kSize), 64);
  if (!memory.ok()) return false;
  load(tensor->scalar_type(), Compute::Float)(static_cast<char*>(*memory), kSize, data,
                                              tensor->element_size(), tensor->numel());
  *values = static_cast<const float*>(*memory);
  return true;
}

/// The regions of a tensor, each of `size` elements that follow each other, and those of its
/// result.
class Regions {
 public:
  Regions(KernelRuntimeContext& ctx, const Tensor& in, Tensor& out, int64_t size)
      : in_(static_cast<const char*>(in.const_data_ptr())),
        out_(static_cast<char*>(out.mutable_data_ptr())),
        dtype_(in.scalar_type()),
        width_(in.element_size()),
        size_(size),
        division_(in.numel() / size, 1, in.numel(), kLeast) {
    if (dtype_ == ScalarType::Float) return;
    buffers_ = reinterpret_cast<float*>(part_buffers(ctx, division_, size_t(size * kSize)));
  }
  bool ready() const { return dtype_ == ScalarType::Float || buffers_ != nullptr; }

  /// Calls f(region, from, to) with where its elements are as float32 and the results go, which may
  /// be the same memory.
  template <class F>
  void run(F&& f) const {
    division_.run([&](int64_t part, int64_t begin, int64_t end) {
      for (int64_t region = begin; region < end; ++region) {
        const char* const from = in_ + region * size_ * width_;
        char* const to = out_ + region * size_ * width_;
        if (dtype_ == ScalarType::Float) {
          f(region, reinterpret_cast<const float*>(from), reinterpret_cast<float*>(to));
          continue;
        }
        float* const buffer = buffers_ + part * size_;
        char* const bytes = reinterpret_cast<char*>(buffer);
        load(dtype_, Compute::Float)(bytes, kSize, from, width_, size_);
        f(region, static_cast<const float*>(buffer), buffer);
        store(Compute::Float, dtype_)(to, width_, bytes, kSize, size_);
      }
    });
  }

 private:
  const char* in_;
  char* out_;
  ScalarType dtype_;
  int64_t width_, size_;
  Division division_;
  float* buffers_ = nullptr;
};

bool fits(const Tensor& in, const ThreeTensors& out) {
  return in.numel() > 0 && fits(in) && std::get<0>(out).scalar_type() == in.scalar_type() &&
         is_floating(std::get<1>(out).scalar_type()) && is_floating(std::get<2>(out).scalar_type());
}

void put(Tensor& tensor, int64_t index, float value) {
  char* const data = static_cast<char*>(tensor.mutable_data_ptr());
  write<float>(value, data + index * tensor.element_size(), tensor.scalar_type());
}

/// What a region was normalized by.
struct Statistics {
  float mean, rstd;
};

/// Resizes the outputs, then calls f(region, from, to, weights, biases), which gives Statistics,
/// for each region of n elements; `shape` is theirs. False where the portable kernel has to do it.
template <class F>
bool normalize(KernelRuntimeContext& ctx, const Tensor& in, int64_t n, const Shape& shape,
               const std::optional<Tensor>& weight, const std::optional<Tensor>& bias,
               const ThreeTensors& out, F&& f) {
  auto& [result, mean, rstd] = out;
  if (!resize_like(ctx, result, in) || !resize(ctx, mean, shape) || !resize(ctx, rstd, shape) ||
      !in_order(result) || !in_order(mean) || !in_order(rstd)) {
    return false;
  }
  const float *weights, *biases;
  if (!floats(ctx, weight, &weights) || !floats(ctx, bias, &biases)) return false;
  const Regions regions(ctx, in, result, n);
  if (!regions.ready()) return false;
  Tensor &means = mean, &rstds = rstd;
  regions.run([&](int64_t region, const float* from, float* to) {
    const Statistics found = f(region, from, to, weights, biases);
    put(means, region, found.mean);
    put(rstds, region, found.rstd);
  });
  return true;
}

/// False where the portable kernel has to do it (or to refuse it).
bool layer_norm(KernelRuntimeContext& ctx, const Tensor& in, ArrayRef<int64_t> sizes,
                const std::optional<Tensor>& weight, const std::optional<Tensor>& bias, float eps,
                const ThreeTensors& out) {
  if (!fits(in, out) || !ends_with(in, sizes) || !fits(weight, sizes) || !fits(bias, sizes)) {
    return false;
  }
  Shape shape(in);
  int64_t n = 1;
  for (size_t d = 0; d < sizes.size(); ++d) {
    shape.sizes[shape.rank - 1 - int(d)] = 1;
    n *= sizes[d];
  }
  return normalize(
      ctx, in, n, shape, weight, bias, out,
      [n, eps](int64_t, const float* from, float* to, const float* weights, const float* biases) {
        Statistics found;
        isa().layer_norm(from, to, n, weights, biases, eps, &found.mean, &found.rstd);
        return found;
      });
}

/// Calls f(first, n) for runs that are short enough for sums in float32.
template <class F>
double sum_of_runs(int64_t size, F&& f) {
  constexpr int64_t kRun = 4096;
  double sum = 0;
  for (int64_t i = 0; i < size; i += kRun) sum += double(f(i, std::min(kRun, size - i)));
  return sum;
}

/// As layer_norm(), of `channels` times `pixels` elements a region.
bool group_norm(KernelRuntimeContext& ctx, const Tensor& in, const std::optional<Tensor>& weight,
                const std::optional<Tensor>& bias, int64_t groups, int64_t pixels, double eps,
                const ThreeTensors& out) {
  const int64_t channels = in.size(1) / groups, n = channels * pixels;
  Shape shape;
  shape.append(in.size(0));
  shape.append(groups);
  const auto each = [=](int64_t region, const float* from, float* to, const float* weights,
                        const float* biases) {
    const auto sum = [&](int64_t i, int64_t count) { return isa().sum(from + i, count); };
    const float mean = float(sum_of_runs(n, sum) / double(n));
    const auto squares = [&](int64_t i, int64_t count) {
      return isa().squares(from + i, count, mean);
    };
    const float rstd = float(1 / std::sqrt(sum_of_runs(n, squares) / double(n) + eps));
    for (int64_t c = 0; c < channels; ++c) {
      const int64_t channel = region % groups * channels + c;
      isa().scale(from + c * pixels, to + c * pixels, pixels, mean,
                  weights ? rstd * weights[channel] : rstd, biases ? biases[channel] : 0.0f);
    }
    return Statistics{mean, rstd};
  };
  return normalize(ctx, in, n, shape, weight, bias, out, each);
}

}  // namespace

ThreeTensors native_layer_norm_out(KernelRuntimeContext& ctx, const Tensor& input,
                                   ArrayRef<int64_t> normalized_shape,
                                   const std::optional<Tensor>& weight,
                                   const std::optional<Tensor>& bias, double eps, Tensor& out0,
                                   Tensor& out1, Tensor& out2) {
  const ThreeTensors out(out0, out1, out2);
  if (layer_norm(ctx, input, normalized_shape, weight, bias, float(eps), out)) return out;
  return portable::native_layer_norm_out(ctx, input, normalized_shape, weight, bias, eps, out0,
                                         out1, out2);
}

ThreeTensors native_group_norm_out(KernelRuntimeContext& ctx, const Tensor& input,
                                   const std::optional<Tensor>& weight,
                                   const std::optional<Tensor>& bias, int64_t N, int64_t C,
                                   int64_t HxW, int64_t group, double eps, Tensor& out0,
                                   Tensor& out1, Tensor& out2) {
  const ThreeTensors out(out0, out1, out2);
  const bool fast = fits(input, out) && input.dim() >= 2 && input.size(0) == N &&
                    input.size(1) == C && HxW == input.numel() / (N * C) && group > 0 &&
                    C % group == 0 && fits(weight, {&C, 1}) && fits(bias, {&C, 1}) &&
                    group_norm(ctx, input, weight, bias, group, HxW, eps, out);
  if (fast) return out;
  return portable::native_group_norm_out(ctx, input, weight, bias, N, C, HxW, group, eps, out0,
                                         out1, out2);
}

}  // namespace executorch::kernels::optimized
