// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// Layer and group norm of contiguous tensors that are computed in float32; the portable kernels do
// the rest.
#include <executorch/kernels/engine/norm/norm.h>
#include <executorch/kernels/loops/memory/check.h>
#include <executorch/kernels/loops/memory/index_order.h>
#include <executorch/kernels/optimized/NativeFunctions.h>
#include <executorch/kernels/optimized/float_rows.h>
#include <executorch/kernels/portable/NativeFunctions.h>

namespace executorch::kernels::optimized {
namespace {

using ThreeTensors = std::tuple<Tensor&, Tensor&, Tensor&>;

/// Elements worth the start of a thread.
constexpr size_t kMinElements = 1 << 16;
constexpr int64_t kSize = sizeof(float);

bool in_order(const Tensor& tensor) { return in_index_order(Strided(tensor)); }

/// True if the tensor is contiguous and computed in float32.
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

/// True if `sizes` are the last sizes of the tensor.
bool ends_with(const Tensor& tensor, ArrayRef<int64_t> sizes) {
  const int64_t rank = tensor.dim(), trailing = int64_t(sizes.size());
  if (trailing == 0 || trailing > rank) return false;
  for (int64_t d = 0; d < trailing; ++d) {
    if (tensor.size(rank - trailing + d) != sizes[d]) return false;
  }
  return true;
}

/// Reads a parameter as float32. False if the memory for its conversion cannot be allocated.
bool floats(KernelRuntimeContext& ctx, const std::optional<Tensor>& tensor, const float** values) {
  *values = nullptr;
  if (!tensor) return true;
  const auto* const data = static_cast<const char*>(tensor->const_data_ptr());
  if (tensor->scalar_type() == ScalarType::Float) {
    *values = reinterpret_cast<const float*>(data);
    return true;
  }
  // On 32 bits, the converted parameter may need more than size_t counts.
  if (tensor->numel() > int64_t(SIZE_MAX / 2 / kSize)) return false;
  const auto memory = ctx.allocate_temp(size_t(tensor->numel() * kSize), 64);
  if (!memory.ok()) return false;
  load(tensor->scalar_type(), Compute::Float)(static_cast<char*>(*memory), kSize, data,
                                              tensor->element_size(), tensor->numel());
  *values = static_cast<const float*>(*memory);
  return true;
}

bool fits(const Tensor& in, const ThreeTensors& out) {
  return in.numel() > 0 && fits(in) && std::get<0>(out).scalar_type() == in.scalar_type() &&
         is_floating(std::get<1>(out).scalar_type()) && is_floating(std::get<2>(out).scalar_type());
}

void put(Tensor& tensor, int64_t index, float value) {
  char* const data = static_cast<char*>(tensor.mutable_data_ptr());
  write<float>(value, data + index * tensor.element_size(), tensor.scalar_type());
}

/// Resizes the outputs, then calls f(call, first, threads) for rows of n elements, from row `first`
/// on; `shape` is that of their statistics. False for calls that the portable kernel must compute.
template <class F>
bool normalize(KernelRuntimeContext& ctx, const Tensor& in, int64_t n, const Shape& shape,
               const std::optional<Tensor>& weight, const std::optional<Tensor>& bias, double eps,
               const ThreeTensors& out, F&& f) {
  auto& [result, mean, rstd] = out;
  const ScalarType dtype = in.scalar_type();
  const bool are_floats =
      mean.scalar_type() == ScalarType::Float && rstd.scalar_type() == ScalarType::Float;
  if ((dtype == ScalarType::Float && !are_floats) || !resize_like(ctx, result, in) ||
      !resize(ctx, mean, shape) || !resize(ctx, rstd, shape) || !in_order(result) ||
      !in_order(mean) || !in_order(rstd)) {
    return false;
  }
  engine::NormCall all;
  all.length = size_t(n);
  all.epsilon = float(eps);
  if (!floats(ctx, weight, &all.weight) || !floats(ctx, bias, &all.bias)) return false;
  const RowTensors rows = {static_cast<const char*>(in.const_data_ptr()),
                           static_cast<char*>(result.mutable_data_ptr()), dtype,
                           size_t(in.numel() / n), size_t(n)};
  Tensor &means = mean, &rstds = rstd;
  return for_float_rows(
      ctx, rows, kMinElements,
      [&](const float* from, float* to, size_t first, size_t count, engine::Threads& threads) {
        engine::NormCall call = all;
        float statistics[2];
        const bool is_direct = dtype == ScalarType::Float;
        call.in = from;
        call.out = to;
        call.rows = count;
        call.mean = is_direct ? static_cast<float*>(means.mutable_data_ptr()) : &statistics[0];
        call.rstd = is_direct ? static_cast<float*>(rstds.mutable_data_ptr()) : &statistics[1];
        f(call, first, threads);
        if (is_direct) return;
        put(means, int64_t(first), statistics[0]);
        put(rstds, int64_t(first), statistics[1]);
      });
}

/// False for calls that the portable kernel must compute or refuse.
bool layer_norm(KernelRuntimeContext& ctx, const Tensor& in, ArrayRef<int64_t> sizes,
                const std::optional<Tensor>& weight, const std::optional<Tensor>& bias, double eps,
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
  return normalize(ctx, in, n, shape, weight, bias, eps, out,
                   [](const engine::NormCall& call, size_t, engine::Threads& threads) {
                     engine::layer_norm(call, threads);
                   });
}

/// Same as layer_norm(), for rows of `channels` times `pixels` elements.
bool group_norm(KernelRuntimeContext& ctx, const Tensor& in, const std::optional<Tensor>& weight,
                const std::optional<Tensor>& bias, int64_t groups, int64_t pixels, double eps,
                const ThreeTensors& out) {
  const int64_t channels = in.size(1) / groups;
  Shape shape;
  shape.append(in.size(0));
  shape.append(groups);
  return normalize(ctx, in, channels * pixels, shape, weight, bias, eps, out,
                   [&](const engine::NormCall& given, size_t first, engine::Threads& threads) {
                     engine::GroupNormCall call = {given, size_t(groups), size_t(channels),
                                                   size_t(pixels)};
                     const size_t skipped = first % size_t(groups) * size_t(channels);
                     if (call.rows.weight != nullptr) call.rows.weight += skipped;
                     if (call.rows.bias != nullptr) call.rows.bias += skipped;
                     engine::group_norm(call, threads);
                   });
}

}  // namespace

ThreeTensors native_layer_norm_out(KernelRuntimeContext& ctx, const Tensor& input,
                                   ArrayRef<int64_t> normalized_shape,
                                   const std::optional<Tensor>& weight,
                                   const std::optional<Tensor>& bias, double eps, Tensor& out0,
                                   Tensor& out1, Tensor& out2) {
  const ThreeTensors out(out0, out1, out2);
  if (layer_norm(ctx, input, normalized_shape, weight, bias, eps, out)) return out;
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
