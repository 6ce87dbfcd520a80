// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// Batch norm: one region a channel, over all samples, or the statistics given.
#include <executorch/kernels/portable/NativeFunctions.h>
#include <executorch/kernels/portable/loops/convert.h>
#include <executorch/kernels/portable/loops/loop_nest.h>
#include <executorch/kernels/portable/normalize/region.h>

#include <algorithm>
#include <cmath>

namespace executorch::kernels::portable {
namespace {

using ThreeTensors = std::tuple<Tensor&, Tensor&, Tensor&>;

struct BatchNorm {
  const Tensor& input;
  const std::optional<Tensor>& weight;
  const std::optional<Tensor>& bias;
  double eps;
};

bool expect_channels(KernelRuntimeContext& ctx, const char* name, const Tensor& tensor,
                     int64_t channels) {
  return expect_floating(ctx, name, tensor) &&
         ET_EXPECT(ctx, tensor.dim() == 1 && tensor.size(0) == channels,
                   "%s must have sizes [%" PRId64 "], found %s", name, channels,
                   ShapeText(tensor).text);
}

bool check(KernelRuntimeContext& ctx, const BatchNorm& b, Tensor& out) {
  if (!expect_floating(ctx, "input", b.input) ||
      !ET_EXPECT(ctx, b.input.dim() >= 2, "input must have at least 2 dimensions, found sizes %s",
                 ShapeText(b.input).text)) {
    return false;
  }
  const int64_t channels = b.input.size(1);
  return (!b.weight || expect_channels(ctx, "weight", *b.weight, channels)) &&
         (!b.bias || expect_channels(ctx, "bias", *b.bias, channels)) &&
         expect_dtype(ctx, "out", out, b.input.scalar_type()) && resize_like(ctx, out, b.input);
}

bool resize_statistics(KernelRuntimeContext& ctx, Tensor& a, Tensor& b, int64_t size) {
  Shape shape;
  shape.append(size);
  return expect_floating(ctx, "save_mean", a) && expect_floating(ctx, "save_invstd", b) &&
         resize(ctx, a, shape) && resize(ctx, b, shape);
}

/// out = in * scale + shift, both of one value a channel.
template <class T>
void scale_channels(const Strided& out, const Strided& in, const T* scale, const T* shift) {
  Strided scales = in, shifts = in;
  for (int d = 0; d < in.rank; ++d) scales.strides[d] = shifts.strides[d] = d == 1 ? sizeof(T) : 0;
  scales.data = reinterpret_cast<char*>(const_cast<T*>(scale));
  shifts.data = reinterpret_cast<char*>(const_cast<T*>(shift));
  scales.dtype = shifts.dtype = dtype_of(compute_type<T>);
  const Strided* const operands[] = {&out, &in, &scales, &shifts};
  const LoopNest nest(operands, 4);
  Reader<T> read_in(in.dtype), read_scale(scales.dtype), read_shift(shifts.dtype);
  const Convert store_row = store(compute_type<T>, out.dtype);
  T result[kBlock];
  nest.for_each_row([&](char* const* row) {
    for (int64_t i = 0; i < nest.row(); i += kBlock) {
      const int64_t n = std::min(kBlock, nest.row() - i);
      const T* x = read_in(row[1] + i * nest.stride(1), nest.stride(1), n);
      if (nest.stride(2) == 0) {
        const T factor = *reinterpret_cast<const T*>(row[2]);
        const T addend = *reinterpret_cast<const T*>(row[3]);
        for (int64_t j = 0; j < n; ++j) result[j] = x[j] * factor + addend;
      } else {
        const T* factor = read_scale(row[2] + i * nest.stride(2), nest.stride(2), n);
        const T* addend = read_shift(row[3] + i * nest.stride(3), nest.stride(3), n);
        for (int64_t j = 0; j < n; ++j) result[j] = x[j] * factor[j] + addend[j];
      }
      store_row(row[0] + i * nest.stride(0), nest.stride(0), reinterpret_cast<const char*>(result),
                sizeof(T), n);
    }
  });
}

template <class T>
void normalize_with(KernelRuntimeContext& ctx, const BatchNorm& b, const Tensor& mean,
                    const Tensor& variance, Tensor& out) {
  const int64_t channels = b.input.size(1);
  T* const scale = allocate<T>(ctx, 2 * channels);
  if (!scale) return;
  T* const shift = scale + channels;
  const auto value = [](const Tensor& tensor, int64_t i) {
    const Strided memory(tensor);
    return read<T>(memory.data + i * memory.strides[0], memory.dtype);
  };
  for (int64_t c = 0; c < channels; ++c) {
    scale[c] = 1 / std::sqrt(value(variance, c) + T(b.eps));
    if (b.weight) scale[c] *= value(*b.weight, c);
    shift[c] = (b.bias ? value(*b.bias, c) : T(0)) - value(mean, c) * scale[c];
  }
  scale_channels<T>(Strided(out), Strided(b.input), scale, shift);
}

void inference(KernelRuntimeContext& ctx, const BatchNorm& b, const Tensor& mean,
               const Tensor& variance, Tensor& out, Tensor& save_mean, Tensor& save_invstd) {
  if (!check(ctx, b, out) || !expect_channels(ctx, "running_mean", mean, b.input.size(1)) ||
      !expect_channels(ctx, "running_var", variance, b.input.size(1)) ||
      !resize_statistics(ctx, save_mean, save_invstd, 0)) {
    return;
  }
  if (b.input.scalar_type() == ScalarType::Double) {
    normalize_with<double>(ctx, b, mean, variance, out);
  } else {
    normalize_with<float>(ctx, b, mean, variance, out);
  }
}

/// Normalizes by the statistics of the input itself; the population's variance goes to `variance`
/// where that is not null.
bool normalize_batch(KernelRuntimeContext& ctx, const BatchNorm& b, Tensor& out, Tensor& save_mean,
                     Tensor& save_invstd, const Strided& variance) {
  if (!check(ctx, b, out) || !resize_statistics(ctx, save_mean, save_invstd, b.input.size(1))) {
    return false;
  }
  Normalization n;
  n.out = Strided(out);
  n.in = Strided(b.input);
  n.weight = along(b.weight, n.in, 1);
  n.bias = along(b.bias, n.in, 1);
  n.kept = 0b10;
  n.eps = b.eps;
  n.mean = Strided(save_mean);
  n.rstd = Strided(save_invstd);
  n.variance = variance;
  normalize_regions(n);
  return true;
}

/// running = (1 - momentum) * running + momentum * scale * measured
void update(Tensor& running, double momentum, const Strided& measured, double scale) {
  const Strided memory(running);
  for (int64_t c = 0; c < memory.sizes[0]; ++c) {
    char* const at = memory.data + c * memory.strides[0];
    const double now =
        scale * read<double>(measured.data + c * measured.element_size(), measured.dtype);
    write<double>((1 - momentum) * read<double>(at, memory.dtype) + momentum * now, at,
                  memory.dtype);
  }
}

void training(KernelRuntimeContext& ctx, const BatchNorm& b, Tensor& running_mean,
              Tensor& running_var, double momentum, Tensor& out, Tensor& save_mean,
              Tensor& save_invstd) {
  const int64_t channels = b.input.dim() >= 2 ? b.input.size(1) : 0;
  if (!expect_channels(ctx, "running_mean", running_mean, channels) ||
      !expect_channels(ctx, "running_var", running_var, channels)) {
    return;
  }
  double* const population = allocate<double>(ctx, channels);
  Strided variance;
  variance.data = reinterpret_cast<char*>(population);
  variance.dtype = ScalarType::Double;
  if (!population || !normalize_batch(ctx, b, out, save_mean, save_invstd, variance)) return;
  const double count = channels > 0 ? double(b.input.numel()) / double(channels) : 0;
  update(running_mean, momentum, Strided(save_mean), 1);
  update(running_var, momentum, variance, count / (count - 1));
}

}  // namespace

ThreeTensors _native_batch_norm_legit_no_training_out(
    KernelRuntimeContext& ctx, const Tensor& input, const std::optional<Tensor>& weight,
    const std::optional<Tensor>& bias, const Tensor& running_mean, const Tensor& running_var,
    double momentum, double eps, Tensor& out0, Tensor& out1, Tensor& out2) {
  (void)momentum;
  inference(ctx, {input, weight, bias, eps}, running_mean, running_var, out0, out1, out2);
  return {out0, out1, out2};
}

ThreeTensors _native_batch_norm_legit_out(KernelRuntimeContext& ctx, const Tensor& input,
                                          const std::optional<Tensor>& weight,
                                          const std::optional<Tensor>& bias, Tensor& running_mean,
                                          Tensor& running_var, bool training_now, double momentum,
                                          double eps, Tensor& out, Tensor& save_mean,
                                          Tensor& save_invstd) {
  const BatchNorm b = {input, weight, bias, eps};
  if (training_now) {
    training(ctx, b, running_mean, running_var, momentum, out, save_mean, save_invstd);
  } else {
    inference(ctx, b, running_mean, running_var, out, save_mean, save_invstd);
  }
  return {out, save_mean, save_invstd};
}

ThreeTensors _native_batch_norm_legit_no_stats_out(KernelRuntimeContext& ctx, const Tensor& input,
                                                   const std::optional<Tensor>& weight,
                                                   const std::optional<Tensor>& bias,
                                                   bool training_now, double momentum, double eps,
                                                   Tensor& out, Tensor& save_mean,
                                                   Tensor& save_invstd) {
  (void)momentum;
  // Without running statistics there is nothing else to use, in training or not.
  (void)training_now;
  normalize_batch(ctx, {input, weight, bias, eps}, out, save_mean, save_invstd, Strided());
  return {out, save_mean, save_invstd};
}

}  // namespace executorch::kernels::portable
