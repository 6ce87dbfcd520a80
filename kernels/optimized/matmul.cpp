// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
#include <executorch/kernels/engine/gemm/few_rows.h>
#include <executorch/kernels/optimized/NativeFunctions.h>
#include <executorch/kernels/optimized/kernel_threads.h>
#include <executorch/kernels/optimized/product.h>
#include <executorch/kernels/portable/gemm/matmul.h>

namespace executorch::kernels::optimized {
namespace {

using portable::Batch;
using portable::Product;

constexpr int64_t kSize = sizeof(float);
/// Multiplications that are worth the start of a thread: about 5 us.
constexpr size_t kLeastWork = 1 << 18;

bool in_floats(const Batch& b) {
  return b.view.row_stride >= 0 && b.view.column_stride >= 0 && b.batch_stride >= 0 &&
         b.view.row_stride % kSize == 0 && b.view.column_stride % kSize == 0 &&
         b.batch_stride % kSize == 0;
}

bool has_rows(const Batch& b) { return b.columns <= 1 || b.view.column_stride == kSize; }

size_t floats(int64_t bytes) { return size_t(bytes / kSize); }

/// How the addend gets into the result.
enum class Adding : uint8_t { Nothing, Bias, Residual, Later };

Adding adding_of(const Product& p, float alpha, float beta) {
  const MatrixView &addend = p.addend.view, &out = p.out.view;
  if (addend.data == nullptr) return alpha == 1 ? Adding::Nothing : Adding::Later;
  if (alpha != 1 || beta != 1) return Adding::Later;
  if (addend.row_stride == 0 && addend.column_stride == kSize && p.addend.batch_stride == 0) {
    return Adding::Bias;
  }
  const bool lies_alike = addend.row_stride == out.row_stride && addend.column_stride == kSize &&
                          p.addend.batch_stride == p.out.batch_stride;
  return lies_alike ? Adding::Residual : Adding::Later;
}

/// out = alpha * out + beta * addend
void add_later(const Product& p, float alpha, float beta) {
  const Batch &out = p.out, &addend = p.addend;
  for (int64_t b = 0; b < out.batch; ++b) {
    for (int64_t r = 0; r < out.rows; ++r) {
      char* const row = out.view.data + b * out.batch_stride + r * out.view.row_stride;
      float* const to = reinterpret_cast<float*>(row);
      if (addend.view.data == nullptr) {
        for (int64_t c = 0; c < out.columns; ++c) to[c] *= alpha;
        continue;
      }
      const char* const from =
          addend.view.data + b * addend.batch_stride + r * addend.view.row_stride;
      const float* const values = reinterpret_cast<const float*>(from);
      const int64_t step = addend.view.column_stride / kSize;
      if (step == 1) {
        for (int64_t c = 0; c < out.columns; ++c) to[c] = alpha * to[c] + beta * values[c];
      } else {
        for (int64_t c = 0; c < out.columns; ++c) to[c] = alpha * to[c] + beta * values[c * step];
      }
    }
  }
}

engine::BatchMatmulCall call_of(const Product& p) {
  engine::BatchMatmulCall call;
  call.rows = size_t(p.out.rows);
  call.columns = size_t(p.out.columns);
  call.depth = size_t(p.left.columns);
  call.left = reinterpret_cast<const float*>(p.left.view.data);
  call.left_stride = floats(p.left.view.row_stride);
  call.right = {reinterpret_cast<const float*>(p.right.view.data), floats(p.right.view.row_stride),
                floats(p.right.view.column_stride)};
  call.out = reinterpret_cast<float*>(p.out.view.data);
  call.out_stride = floats(p.out.view.row_stride);
  return call;
}

/// Whole products for each thread where there are enough, else all threads on each.
void few_rows(const Product& p, KernelThreads& threads) {
  const engine::BatchMatmulCall all = call_of(p);
  engine::FewRowsCall call;
  call.rows = all.rows;
  call.columns = all.columns;
  call.depth = all.depth;
  call.left_stride = all.left_stride;
  call.out_stride = all.out_stride;
  const auto at = [&](size_t b) {
    engine::FewRowsCall one = call;
    one.left = all.left + b * floats(p.left.batch_stride);
    one.right = {all.right.data + b * floats(p.right.batch_stride), all.right.depth_stride,
                 all.right.column_stride};
    one.out = all.out + b * floats(p.out.batch_stride);
    return one;
  };
  const size_t batch = size_t(p.out.batch);
  if (batch >= threads.count()) {
    engine::for_each_item(threads, batch, [&](size_t b, size_t) {
      engine::CallingThread thread;
      engine::multiply_few_rows(at(b), thread);
    });
    return;
  }
  for (size_t b = 0; b < batch; ++b) engine::multiply_few_rows(at(b), threads);
}

}  // namespace

bool multiply_floats(KernelRuntimeContext& ctx, const Product& p) {
  if (!in_floats(p.left) || !in_floats(p.right) || !in_floats(p.out) || !in_floats(p.addend) ||
      !has_rows(p.left) || !has_rows(p.out) || p.addend.view.data == p.out.view.data) {
    return false;
  }
  const float alpha = portable::number<float>(p.alpha), beta = portable::number<float>(p.beta);
  const size_t work = size_t(p.out.batch * p.out.rows * p.out.columns) * size_t(p.left.columns);
  KernelThreads threads(work, kLeastWork);
  Adding adding = adding_of(p, alpha, beta);
  const MatrixView& right = p.right.view;
  const engine::BatchMatmulCall all = call_of(p);
  if ((right.row_stride == kSize || right.column_stride == kSize) &&
      all.rows <= engine::max_few_rows(all.right, all.depth)) {
    few_rows(p, threads);
    if (adding != Adding::Nothing) add_later(p, alpha, beta);
    return true;
  }
  engine::BatchMatmulCall call = all;
  const size_t batch = size_t(p.out.batch), left = floats(p.left.batch_stride),
               right_batch = floats(p.right.batch_stride), out = floats(p.out.batch_stride);
  call.batch_rank = 1;
  call.batch_sizes = &batch;
  call.left_batch_strides = &left;
  call.right_batch_strides = &right_batch;
  call.out_batch_strides = &out;
  const float* const addend = reinterpret_cast<const float*>(p.addend.view.data);
  if (adding == Adding::Bias) call.bias = addend;
  if (adding == Adding::Residual) call.epilogue.residual = addend;
  void* const scratch = scratch_for(
      ctx, threads, [&](size_t count) { return engine::batch_matmul_scratch_bytes(call, count); });
  if (scratch == nullptr) return false;
  engine::batch_matmul(call, scratch, threads);
  if (adding == Adding::Later) add_later(p, alpha, beta);
  return true;
}

using portable::batched_product;
using portable::grouped_product;
using portable::inner_product;
using portable::linear_product;
using portable::matrix_product;
using portable::vector_product;

Tensor& mm_out(KernelRuntimeContext& ctx, const Tensor& self, const Tensor& mat2, Tensor& out) {
  matrix_product(ctx, multiply_floats, self, mat2, {}, out);
  return out;
}

Tensor& addmm_out(KernelRuntimeContext& ctx, const Tensor& self, const Tensor& mat1,
                  const Tensor& mat2, const Scalar& beta, const Scalar& alpha, Tensor& out) {
  matrix_product(ctx, multiply_floats, mat1, mat2, {&self, beta, alpha}, out);
  return out;
}

Tensor& bmm_out(KernelRuntimeContext& ctx, const Tensor& self, const Tensor& mat2, Tensor& out) {
  batched_product(ctx, multiply_floats, self, mat2, {}, out);
  return out;
}

Tensor& baddbmm_out(KernelRuntimeContext& ctx, const Tensor& self, const Tensor& batch1,
                    const Tensor& batch2, const Scalar& beta, const Scalar& alpha, Tensor& out) {
  batched_product(ctx, multiply_floats, batch1, batch2, {&self, beta, alpha}, out);
  return out;
}

Tensor& grouped_mm_out(KernelRuntimeContext& ctx, const Tensor& self, const Tensor& mat2,
                       const Tensor& offs, bool mat2_transposed, Tensor& out) {
  grouped_product(ctx, multiply_floats, self, mat2, offs, mat2_transposed, out);
  return out;
}

Tensor& mv_out(KernelRuntimeContext& ctx, const Tensor& self, const Tensor& vec, Tensor& out) {
  vector_product(ctx, multiply_floats, self, vec, {}, out);
  return out;
}

Tensor& addmv_out(KernelRuntimeContext& ctx, const Tensor& self, const Tensor& mat,
                  const Tensor& vec, const Scalar& beta, const Scalar& alpha, Tensor& out) {
  vector_product(ctx, multiply_floats, mat, vec, {&self, beta, alpha}, out);
  return out;
}

Tensor& linear_out(KernelRuntimeContext& ctx, const Tensor& input, const Tensor& weight,
                   const std::optional<Tensor>& bias, Tensor& out) {
  linear_product(ctx, multiply_floats, input, weight, bias, out);
  return out;
}

Tensor& dot_out(KernelRuntimeContext& ctx, const Tensor& self, const Tensor& tensor, Tensor& out) {
  inner_product(ctx, multiply_floats, self, tensor, out);
  return out;
}

}  // namespace executorch::kernels::optimized
