// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// Layer, group and batch norm: regions within one sample, or one a channel over all samples.
#include <executorch/kernels/loops/dtype/convert.h>
#include <executorch/kernels/loops/memory/broadcast.h>
#include <executorch/kernels/loops/memory/divide.h>
#include <executorch/kernels/loops/memory/loop_nest.h>
#include <executorch/kernels/portable/NativeFunctions.h>
#include <executorch/kernels/portable/normalize/normalizer.h>

#include <algorithm>
#include <cmath>

namespace executorch::kernels::portable {
namespace {

using ThreeTensors = std::tuple<Tensor&, Tensor&, Tensor&>;

void normalize(const Normalization& n) {
  if (n.in.dtype == ScalarType::Double) {
    Normalizer<double>::run(n);
  } else {
    Normalizer<float>::run(n);
  }
}

/// Checks the three outputs against an input that has been checked, and resizes them.
bool prepare_outputs(KernelRuntimeContext& ctx, const Tensor& input, const Shape& statistics,
                     Tensor& out, Tensor& mean, Tensor& rstd) {
  return expect_dtype(ctx, "out", out, input.scalar_type()) && resize_like(ctx, out, input) &&
         expect_floating(ctx, "the mean", mean) && expect_floating(ctx, "rstd", rstd) &&
         resize(ctx, mean, statistics) && resize(ctx, rstd, statistics);
}

/// The tensor's memory along one dimension; empty without a tensor.
Strided optional_along(const std::optional<Tensor>& tensor, const Strided& like, int dim) {
  return tensor ? along(Strided(*tensor), like, dim) : Strided();
}

struct BatchNorm {
  const Tensor& input;
  const std::optional<Tensor>& weight;
  const std::optional<Tensor>& bias;
  double eps;
};

bool check(KernelRuntimeContext& ctx, const BatchNorm& b, int64_t statistics, Tensor& out,
           Tensor& save_mean, Tensor& save_invstd) {
  if (!expect_batch(ctx, b.input)) return false;
  const Shape channels = shape_of(b.input.size(1));
  return expect_parameter(ctx, "weight", b.weight, channels) &&
         expect_parameter(ctx, "bias", b.bias, channels) &&
         prepare_outputs(ctx, b.input, shape_of(statistics), out, save_mean, save_invstd);
}

/// to = x * factor + addend, each of the last two one value for all or one for each.
template <class T>
void scale_run(T* to, const T* x, const T* factor, const T* addend, bool is_same, int64_t n) {
  if (is_same) {
    const T f = *factor, a = *addend;
    for (int64_t i = 0; i < n; ++i) to[i] = x[i] * f + a;
  } else {
    for (int64_t i = 0; i < n; ++i) to[i] = x[i] * factor[i] + addend[i];
  }
}

/// out = in * scale + shift, in the order of the operands.
template <class T>
void scale_rows(const LoopNest& nest, ScalarType dtype) {
  const ScalarType computed = dtype_of(compute_type<T>);
  Reader<T> read_in(dtype), read_scale(computed), read_shift(computed);
  const Convert store_row = store(compute_type<T>, dtype);
  const bool in_place = dtype == computed && nest.stride(0) == sizeof(T);
  const bool is_same = nest.stride(2) == 0;
  T block[kBlock];
  nest.for_each_row([&](char* const* row) {
    for (int64_t i = 0; i < nest.row(); i += kBlock) {
      const int64_t n = std::min(kBlock, nest.row() - i);
      const T* const x = read_in(row[1] + i * nest.stride(1), nest.stride(1), n);
      const auto values = [&](Reader<T>& reader, int k) {
        return is_same ? reinterpret_cast<const T*>(row[k])
                       : reader(row[k] + i * nest.stride(k), nest.stride(k), n);
      };
      char* const to = row[0] + i * nest.stride(0);
      T* const result = in_place ? reinterpret_cast<T*>(to) : block;
      in_vectors([](T* y, const T* from, const T* factor, const T* addend, bool same,
                    int64_t count) { scale_run(y, from, factor, addend, same, count); },
                 result, x, values(read_scale, 2), values(read_shift, 3), is_same, n);
      if (in_place) continue;
      store_row(to, nest.stride(0), reinterpret_cast<const char*>(block), sizeof(T), n);
    }
  });
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
  NestDivision(nest, kBlock, in.numel()).run([&](int64_t, const LoopNest& part) {
    scale_rows<T>(part, in.dtype);
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
  if (!check(ctx, b, 0, out, save_mean, save_invstd) ||
      !expect_parameter(ctx, "running_mean", mean, shape_of(b.input.size(1))) ||
      !expect_parameter(ctx, "running_var", variance, shape_of(b.input.size(1)))) {
    return;
  }
  if (b.input.scalar_type() == ScalarType::Double) {
    normalize_with<double>(ctx, b, mean, variance, out);
  } else {
    normalize_with<float>(ctx, b, mean, variance, out);
  }
}

/// Normalizes by the statistics of the input itself; the population's variance of each channel goes
/// to `variance` where that has memory.
bool normalize_batch(KernelRuntimeContext& ctx, const BatchNorm& b, Tensor& out, Tensor& save_mean,
                     Tensor& save_invstd, const Strided& variance) {
  if (!expect_batch(ctx, b.input) || !check(ctx, b, b.input.size(1), out, save_mean, save_invstd)) {
    return false;
  }
  Normalization n;
  n.out = Strided(out);
  n.in = Strided(b.input);
  n.weight = optional_along(b.weight, n.in, 1);
  n.bias = optional_along(b.bias, n.in, 1);
  n.kept = 0b10;
  n.eps = b.eps;
  n.mean = along(Strided(save_mean), n.in, 1);
  n.rstd = along(Strided(save_invstd), n.in, 1);
  if (variance.data) n.variance = along(variance, n.in, 1);
  normalize(n);
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
  if (!expect_parameter(ctx, "running_mean", running_mean, shape_of(channels)) ||
      !expect_parameter(ctx, "running_var", running_var, shape_of(channels))) {
    return;
  }
  double* const population = allocate<double>(ctx, channels);
  Strided variance;
  variance.data = reinterpret_cast<char*>(population);
  variance.dtype = ScalarType::Double;
  variance.append(channels, sizeof(double));
  if (!population || !normalize_batch(ctx, b, out, save_mean, save_invstd, variance)) return;
  const double count = channels > 0 ? double(b.input.numel()) / double(channels) : 0;
  update(running_mean, momentum, Strided(save_mean), 1);
  update(running_var, momentum, variance, count / (count - 1));
}

}  // namespace

bool expect_parameter(KernelRuntimeContext& ctx, const char* name,
                      const std::optional<Tensor>& tensor, const Shape& shape) {
  return !tensor || (expect_floating(ctx, name, *tensor) &&
                     ET_EXPECT(ctx, Shape(*tensor) == shape, "%s must have sizes %s, found %s",
                               name, ShapeText(shape).text, ShapeText(*tensor).text));
}

bool expect_layers(KernelRuntimeContext& ctx, const Tensor& input,
                   ArrayRef<int64_t> normalized_shape) {
  const Shape shape(input);
  const int trailing = Shape::fits(normalized_shape) ? int(normalized_shape.size()) : 0;
  bool fits = trailing > 0 && trailing <= shape.rank;
  for (int d = 0; fits && d < trailing; ++d) {
    fits = shape.sizes[shape.rank - trailing + d] == normalized_shape[d];
  }
  return expect_floating(ctx, "input", input) &&
         ET_EXPECT(ctx, fits,
                   "normalized_shape must be the last sizes of input, whose sizes are %s",
                   ShapeText(shape).text);
}

bool expect_groups(KernelRuntimeContext& ctx, const Tensor& input, int64_t N, int64_t C,
                   int64_t HxW, int64_t group) {
  int64_t inner = 1;
  for (int d = 2; d < int(input.dim()); ++d) inner *= input.size(d);
  return expect_floating(ctx, "input", input) &&
         ET_EXPECT(ctx,
                   input.dim() >= 2 && input.size(0) == N && input.size(1) == C && inner == HxW,
                   "N %" PRId64 ", C %" PRId64 " and HxW %" PRId64 " do not match input's sizes %s",
                   N, C, HxW, ShapeText(input).text) &&
         ET_EXPECT(ctx, group > 0 && C % group == 0,
                   "C %" PRId64 " must be a multiple of group %" PRId64, C, group);
}

bool expect_batch(KernelRuntimeContext& ctx, const Tensor& input) {
  return expect_floating(ctx, "input", input) &&
         ET_EXPECT(ctx, input.dim() >= 2, "input must have at least 2 dimensions, found sizes %s",
                   ShapeText(input).text);
}

Shape layer_statistics(const Tensor& input, int trailing) {
  Shape shape(input);
  for (int d = shape.rank - trailing; d < shape.rank; ++d) shape.sizes[d] = 1;
  return shape;
}

ThreeTensors native_layer_norm_out(KernelRuntimeContext& ctx, const Tensor& input,
                                   ArrayRef<int64_t> normalized_shape,
                                   const std::optional<Tensor>& weight,
                                   const std::optional<Tensor>& bias, double eps, Tensor& out0,
                                   Tensor& out1, Tensor& out2) {
  const int trailing = int(normalized_shape.size());
  const Shape tail(normalized_shape);
  if (!expect_layers(ctx, input, normalized_shape) ||
      !expect_parameter(ctx, "weight", weight, tail) ||
      !expect_parameter(ctx, "bias", bias, tail) ||
      !prepare_outputs(ctx, input, layer_statistics(input, trailing), out0, out1, out2)) {
    return {out0, out1, out2};
  }
  const Shape shape(input);
  Normalization n;
  n.out = Strided(out0);
  n.in = Strided(input);
  if (weight) n.weight = expanded(Strided(*weight), shape);
  if (bias) n.bias = expanded(Strided(*bias), shape);
  n.kept = (1u << (shape.rank - trailing)) - 1;
  n.eps = eps;
  n.mean = Strided(out1);
  n.rstd = Strided(out2);
  normalize(n);
  return {out0, out1, out2};
}

ThreeTensors native_group_norm_out(KernelRuntimeContext& ctx, const Tensor& input,
                                   const std::optional<Tensor>& weight,
                                   const std::optional<Tensor>& bias, int64_t N, int64_t C,
                                   int64_t HxW, int64_t group, double eps, Tensor& out0,
                                   Tensor& out1, Tensor& out2) {
  if (!expect_groups(ctx, input, N, C, HxW, group) ||
      !expect_parameter(ctx, "weight", weight, shape_of(C)) ||
      !expect_parameter(ctx, "bias", bias, shape_of(C)) ||
      !prepare_outputs(ctx, input, shape_of(N, group), out0, out1, out2)) {
    return {out0, out1, out2};
  }
  Normalization n;
  n.out = Strided(out0);
  n.in = Strided(input);
  n.weight = optional_along(weight, n.in, 1);
  n.bias = optional_along(bias, n.in, 1);
  for (Strided* memory : {&n.out, &n.in, &n.weight, &n.bias}) {
    if (memory->rank > 0) split_channels(*memory, group);
  }
  n.kept = 0b11;
  n.eps = eps;
  n.mean = Strided(out1);
  n.rstd = Strided(out2);
  normalize(n);
  return {out0, out1, out2};
}

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
