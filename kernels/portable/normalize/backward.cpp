// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// Gradients of the norms and of softmax: floating dtypes, computed in float32 or float64. Outputs
// that output_mask leaves out are neither resized nor written.
#include <executorch/kernels/loops/dtype/convert.h>
#include <executorch/kernels/loops/memory/broadcast.h>
#include <executorch/kernels/loops/memory/copy.h>
#include <executorch/kernels/loops/memory/dim_slices.h>
#include <executorch/kernels/portable/NativeFunctions.h>
#include <executorch/kernels/portable/normalize/region.h>

#include <algorithm>
#include <cmath>

namespace executorch::kernels::portable {
namespace {

using ThreeTensors = std::tuple<Tensor&, Tensor&, Tensor&>;

/// With x' = (in - mean) * rstd and g = grad_out * weight:
///   grad_in     = rstd * (g - the region's mean of g - x' * the region's mean of g * x'),
///   grad_weight = the sum of grad_out * x' over the dimensions along which the weight repeats,
///   grad_bias   = the sum of grad_out likewise.
/// If the statistics are constants, grad_in = rstd * g.
struct Gradient {
  Strided in, grad_out;
  Strided grad_in;        ///< null data to omit it
  Strided mean, rstd;     ///< as in Normalization
  uint32_t kept = 0;      ///< mask of the dimensions along which regions are counted (region.h)
  bool constant = false;  ///< the statistics do not depend on `in`
  /// The weight in the compute type, expanded to the sizes of `in`. Its array of `parameters`
  /// elements is followed by arrays for the gradients of weight and bias.
  Strided weight;
  int64_t parameters = 0;
};

template <class T>
class NormGradient {
 public:
  explicit NormGradient(const Gradient& g)
      : g_(g),
        read_in_(g.in.dtype),
        read_grad_(g.grad_out.dtype),
        store_(store(compute_type<T>, g.in.dtype)),
        inner_(inner_loops()),
        size_(T(subset(g.in, ~g.kept).numel())) {}

  void run() {
    const Strided* const memories[] = {&grad_in(), &g_.in,   &g_.grad_out,
                                       &g_.weight, &g_.mean, &g_.rstd};
    RegionWalk<6> walk(memories, g_.kept);
    for (int64_t left = walk.regions(); left > 0; --left, walk.next()) {
      for (int k = 0; k < 4; ++k) offset_[k] = walk.offset(k);
      mean_ = read<T>(g_.mean.data + walk.offset(4), g_.mean.dtype);
      rstd_ = read<T>(g_.rstd.data + walk.offset(5), g_.rstd.dtype);
      sum_ = product_ = 0;
      for_each_block([this](const Block& block) { sum_up(block); });
      if (g_.grad_in.data) for_each_block([this](const Block& block) { write_grad_in(block); });
    }
  }

 private:
  struct Block {
    char* to;
    const T* normalized;
    const T* grad;
    T* weight;
    int64_t n;
  };

  const Strided& grad_in() const { return g_.grad_in.data ? g_.grad_in : g_.in; }

  LoopNest inner_loops() const {
    const Strided inner[] = {subset(grad_in(), ~g_.kept), subset(g_.in, ~g_.kept),
                             subset(g_.grad_out, ~g_.kept), subset(g_.weight, ~g_.kept)};
    const Strided* const operands[] = {&inner[0], &inner[1], &inner[2], &inner[3]};
    return LoopNest(operands, 4);
  }

  template <class F>
  void for_each_block(F&& f) {
    T normalized[kBlock];
    inner_.for_each_row([&](char* const* row) {
      for (int64_t i = 0; i < inner_.row(); i += kBlock) {
        const int64_t n = std::min(kBlock, inner_.row() - i);
        const auto at = [&](int k) { return row[k] + offset_[k] + i * inner_.stride(k); };
        const T* const x = read_in_(at(1), inner_.stride(1), n);
        for (int64_t j = 0; j < n; ++j) normalized[j] = (x[j] - mean_) * rstd_;
        const T* const grad = read_grad_(at(2), inner_.stride(2), n);
        f(Block{at(0), normalized, grad, reinterpret_cast<T*>(at(3)), n});
      }
    });
  }

  int64_t weight_step() const { return inner_.stride(3) / int64_t(sizeof(T)); }

  void sum_up(const Block& b) {
    const int64_t step = weight_step();
    T* const grad_weight = b.weight + g_.parameters;
    T* const grad_bias = grad_weight + g_.parameters;
    if (step == 0) {
      const T products = sum_of<T>(b.n, [&](int64_t j) { return b.grad[j] * b.normalized[j]; });
      const T grads = sum_of<T>(b.n, [&](int64_t j) { return b.grad[j]; });
      *grad_weight += products;
      *grad_bias += grads;
      product_ += *b.weight * products;
      sum_ += *b.weight * grads;
      return;
    }
    for (int64_t j = 0; j < b.n; ++j) {
      grad_weight[j * step] += b.grad[j] * b.normalized[j];
      grad_bias[j * step] += b.grad[j];
    }
    const auto weighted = [&](int64_t j) { return b.grad[j] * b.weight[j * step]; };
    product_ += sum_of<T>(b.n, [&](int64_t j) { return weighted(j) * b.normalized[j]; });
    sum_ += sum_of<T>(b.n, weighted);
  }

  void write_grad_in(const Block& b) {
    const int64_t step = weight_step();
    const T mean = g_.constant ? T(0) : sum_ / size_;
    const T slope = g_.constant ? T(0) : product_ / size_;
    T result[kBlock];
    for (int64_t j = 0; j < b.n; ++j) {
      result[j] = rstd_ * (b.grad[j] * b.weight[j * step] - mean - b.normalized[j] * slope);
    }
    store_(b.to, inner_.stride(0), reinterpret_cast<const char*>(result), sizeof(T), b.n);
  }

  const Gradient& g_;
  Reader<T> read_in_, read_grad_;
  Convert store_;
  LoopNest inner_;
  const T size_;  ///< elements of a region
  int64_t offset_[4] = {};
  T mean_ = 0, rstd_ = 0;
  T sum_ = 0, product_ = 0;  ///< of g and of g * x' over the region
};

/// The arguments that all norms' gradients have.
struct Arguments {
  const Tensor& grad_out;
  const Tensor& input;
  const std::optional<Tensor>& weight;
  ArrayRef<bool> output_mask;
  Tensor& out0;
  Tensor& out1;
  Tensor& out2;

  ThreeTensors results() const { return {out0, out1, out2}; }
};

/// Checks the arguments that all operators have and resizes the requested outputs.
bool prepare(KernelRuntimeContext& ctx, const Arguments& a, const Shape& parameter) {
  if (!ET_EXPECT(ctx, a.output_mask.size() == 3, "output_mask must have 3 items, found %zu",
                 a.output_mask.size()) ||
      !expect_same_dtype(ctx, "grad_out", a.grad_out, "input", a.input) ||
      !ET_EXPECT(ctx, Shape(a.grad_out) == Shape(a.input),
                 "grad_out must have input's sizes %s, found %s", ShapeText(a.input).text,
                 ShapeText(a.grad_out).text) ||
      !expect_parameter(ctx, "weight", a.weight, parameter)) {
    return false;
  }
  Tensor* const outs[] = {&a.out0, &a.out1, &a.out2};
  for (int i = 0; i < 3; ++i) {
    if (a.output_mask[i] && (!expect_floating(ctx, "a gradient", *outs[i]) ||
                             !resize(ctx, *outs[i], i == 0 ? Shape(a.input) : parameter))) {
      return false;
    }
  }
  return !a.output_mask[0] || expect_same_dtype(ctx, "out0", a.out0, "input", a.input);
}

/// Dense memory of T, row-major.
template <class T>
Strided dense(T* data, const Shape& shape) {
  Strided memory;
  memory.data = reinterpret_cast<char*>(data);
  memory.dtype = dtype_of(compute_type<T>);
  int64_t stride = sizeof(T);
  for (int d = shape.rank - 1; d >= 0; --d) {
    memory.insert(0, shape.sizes[d], stride);
    stride *= shape.sizes[d];
  }
  return memory;
}

/// Reads the weight, runs, and writes the parameters' gradients. `see` gives memory of a parameter
/// the sizes of `g.in`.
template <class T, class See>
void run(KernelRuntimeContext& ctx, const Arguments& a, Gradient& g, const Shape& parameter,
         See&& see) {
  const int64_t count = parameter.numel();
  T* const memory = allocate<T>(ctx, 3 * count);
  if (!memory) return;
  std::fill(memory, memory + count, T(1));
  std::fill(memory + count, memory + 3 * count, T(0));
  const Strided weight = dense(memory, parameter);
  if (a.weight && !copy(ctx, weight, Strided(*a.weight))) return;
  g.weight = see(weight);
  g.parameters = count;
  NormGradient<T>(g).run();
  if (a.output_mask[1]) copy(ctx, Strided(a.out1), dense(memory + count, parameter));
  if (a.output_mask[2]) copy(ctx, Strided(a.out2), dense(memory + 2 * count, parameter));
}

template <class See>
ThreeTensors gradients(KernelRuntimeContext& ctx, const Arguments& a, Gradient& g,
                       const Shape& parameter, See&& see) {
  // Without elements, the parameter's sizes may be larger than memory.
  if (a.input.numel() == 0 && !a.output_mask[1] && !a.output_mask[2]) return a.results();
  if (g.in.dtype == ScalarType::Double) {
    run<double>(ctx, a, g, parameter, see);
  } else {
    run<float>(ctx, a, g, parameter, see);
  }
  return a.results();
}

Gradient memories(const Arguments& a) {
  Gradient g;
  g.in = Strided(a.input);
  g.grad_out = Strided(a.grad_out);
  if (a.output_mask[0]) g.grad_in = Strided(a.out0);
  return g;
}

/// 1 / sqrt(variance + eps) of each channel, in temporary memory of float64.
Strided inverse_deviations(KernelRuntimeContext& ctx, const Tensor& variance, double eps) {
  const Strided from(variance);
  double* const values = allocate<double>(ctx, from.sizes[0]);
  if (!values) return {};
  for (int64_t c = 0; c < from.sizes[0]; ++c) {
    values[c] = 1 / std::sqrt(read<double>(from.data + c * from.strides[0], from.dtype) + eps);
  }
  return dense(values, shape_of(from.sizes[0]));
}

/// Rows of softmax's gradient: (grad - sum(grad * output)) * output, or of its logarithm's:
/// grad - sum(grad) * exp(output).
template <class T, bool kLog>
void softmax_gradient(const Strided& to, const Strided& grad, const Strided& output, int dim) {
  Reader<T> read_grad(grad.dtype), read_output(output.dtype);
  const Convert write_row = store(compute_type<T>, to.dtype);
  const int64_t length = line_length(grad, dim), to_step = line_stride(to, dim);
  const int64_t grad_step = line_stride(grad, dim), output_step = line_stride(output, dim);
  for_each_line(to, grad, output, dim, [&](char* const* at) {
    T sum = 0;
    const auto blocks = [&](auto&& f) {
      for (int64_t i = 0; i < length; i += kBlock) {
        const int64_t n = std::min(kBlock, length - i);
        f(read_grad(at[1] + i * grad_step, grad_step, n),
          read_output(at[2] + i * output_step, output_step, n), i, n);
      }
    };
    blocks([&](const T* g, const T* y, int64_t, int64_t n) {
      sum += sum_of<T>(n, [=](int64_t j) { return kLog ? g[j] : g[j] * y[j]; });
    });
    blocks([&](const T* g, const T* y, int64_t i, int64_t n) {
      T result[kBlock];
      for (int64_t j = 0; j < n; ++j) {
        result[j] = kLog ? g[j] - sum * std::exp(y[j]) : (g[j] - sum) * y[j];
      }
      write_row(at[0] + i * to_step, to_step, reinterpret_cast<const char*>(result), sizeof(T), n);
    });
  });
}

template <bool kLog>
Tensor& softmax_backward(KernelRuntimeContext& ctx, const Tensor& grad, const Tensor& output,
                         int64_t dim, ScalarType input_dtype, Tensor& out) {
  const ScalarType dtype = output.scalar_type();
  int axis;
  if (!expect_floating(ctx, "output", output) ||
      !expect_same_dtype(ctx, "grad_output", grad, "output", output) ||
      !ET_EXPECT(ctx, input_dtype == dtype, "input_dtype must be output's dtype %s, found %s",
                 name_of(dtype), name_of(input_dtype)) ||
      !expect_dtype(ctx, "out", out, dtype) ||
      !ET_EXPECT(ctx, Shape(grad) == Shape(output), "grad_output and output differ: %s and %s",
                 ShapeText(grad).text, ShapeText(output).text) ||
      !expect_dim(ctx, dim, int(output.dim()), &axis) || !resize_like(ctx, out, output) ||
      out.numel() == 0) {
    return out;
  }
  if (dtype == ScalarType::Double) {
    softmax_gradient<double, kLog>(Strided(out), Strided(grad), Strided(output), axis);
  } else {
    softmax_gradient<float, kLog>(Strided(out), Strided(grad), Strided(output), axis);
  }
  return out;
}

}  // namespace

ThreeTensors native_layer_norm_backward_out(KernelRuntimeContext& ctx, const Tensor& grad_out,
                                            const Tensor& input, ArrayRef<int64_t> normalized_shape,
                                            const Tensor& mean, const Tensor& rstd,
                                            const std::optional<Tensor>& weight,
                                            const std::optional<Tensor>& bias,
                                            ArrayRef<bool> output_mask, Tensor& out0, Tensor& out1,
                                            Tensor& out2) {
  (void)bias;  // output_mask says whether its gradient is requested
  const Arguments a = {grad_out, input, weight, output_mask, out0, out1, out2};
  if (!expect_layers(ctx, input, normalized_shape)) return a.results();
  const Shape parameter(normalized_shape), shape(input);
  const Shape statistics = layer_statistics(input, parameter.rank);
  if (!expect_parameter(ctx, "mean", mean, statistics) ||
      !expect_parameter(ctx, "rstd", rstd, statistics) || !prepare(ctx, a, parameter)) {
    return a.results();
  }
  Gradient g = memories(a);
  g.mean = Strided(mean);
  g.rstd = Strided(rstd);
  g.kept = (1u << (shape.rank - parameter.rank)) - 1;
  return gradients(ctx, a, g, parameter,
                   [&](const Strided& memory) { return expanded(memory, shape); });
}

ThreeTensors native_group_norm_backward_out(KernelRuntimeContext& ctx, const Tensor& grad_out,
                                            const Tensor& input, const Tensor& mean,
                                            const Tensor& rstd, const std::optional<Tensor>& weight,
                                            int64_t N, int64_t C, int64_t HxW, int64_t group,
                                            ArrayRef<bool> output_mask, Tensor& out0, Tensor& out1,
                                            Tensor& out2) {
  const Arguments a = {grad_out, input, weight, output_mask, out0, out1, out2};
  if (!expect_groups(ctx, input, N, C, HxW, group) ||
      !expect_parameter(ctx, "mean", mean, shape_of(N, group)) ||
      !expect_parameter(ctx, "rstd", rstd, shape_of(N, group)) || !prepare(ctx, a, shape_of(C))) {
    return a.results();
  }
  Gradient g = memories(a);
  const Strided whole = g.in;
  for (Strided* memory : {&g.in, &g.grad_out, &g.grad_in}) {
    if (memory->rank > 0) split_channels(*memory, group);
  }
  g.mean = Strided(mean);
  g.rstd = Strided(rstd);
  g.kept = 0b11;
  return gradients(ctx, a, g, shape_of(C), [&](const Strided& memory) {
    Strided result = along(memory, whole, 1);
    split_channels(result, group);
    return result;
  });
}

ThreeTensors native_batch_norm_backward_out(
    KernelRuntimeContext& ctx, const Tensor& grad_out, const Tensor& input,
    const std::optional<Tensor>& weight, const std::optional<Tensor>& running_mean,
    const std::optional<Tensor>& running_var, const std::optional<Tensor>& save_mean,
    const std::optional<Tensor>& save_invstd, bool train, double eps, ArrayRef<bool> output_mask,
    Tensor& out0, Tensor& out1, Tensor& out2) {
  const Arguments a = {grad_out, input, weight, output_mask, out0, out1, out2};
  if (!expect_batch(ctx, input)) return a.results();
  const Shape channels = shape_of(input.size(1));
  const std::optional<Tensor>& mean = train ? save_mean : running_mean;
  const std::optional<Tensor>& scale = train ? save_invstd : running_var;
  if (!ET_EXPECT(ctx, mean && scale, "%s are needed",
                 train ? "save_mean and save_invstd" : "running_mean and running_var") ||
      !expect_parameter(ctx, "the mean", mean, channels) ||
      !expect_parameter(ctx, train ? "save_invstd" : "running_var", scale, channels) ||
      !prepare(ctx, a, channels)) {
    return a.results();
  }
  Gradient g = memories(a);
  g.mean = along(Strided(*mean), g.in, 1);
  const Strided rstd = train ? Strided(*scale) : inverse_deviations(ctx, *scale, eps);
  if (!rstd.data) return a.results();  // no memory for it, or no channels
  g.rstd = along(rstd, g.in, 1);
  g.kept = 0b10;
  g.constant = !train;
  return gradients(ctx, a, g, channels,
                   [&](const Strided& memory) { return along(memory, g.in, 1); });
}

Tensor& _softmax_backward_data_out(KernelRuntimeContext& ctx, const Tensor& grad_output,
                                   const Tensor& output, int64_t dim, ScalarType input_dtype,
                                   Tensor& grad_input) {
  return softmax_backward<false>(ctx, grad_output, output, dim, input_dtype, grad_input);
}

Tensor& _log_softmax_backward_data_out(KernelRuntimeContext& ctx, const Tensor& grad_output,
                                       const Tensor& output, int64_t dim, ScalarType input_dtype,
                                       Tensor& out) {
  return softmax_backward<true>(ctx, grad_output, output, dim, input_dtype, out);
}

}  // namespace executorch::kernels::portable
