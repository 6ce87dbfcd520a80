// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
#include <executorch/kernels/optimized/product.h>

#include <executorch/kernels/engine/gemm/few_rows.h>
#include <executorch/kernels/optimized/kernel_threads.h>

namespace executorch::kernels::optimized {
namespace {

using portable::Batch;
using portable::Product;

constexpr int64_t kSize = sizeof(float);

bool in_floats(const Batch& b) {
  return b.view.row_stride >= 0 && b.view.column_stride >= 0 && b.batch_stride >= 0 &&
         b.view.row_stride % kSize == 0 && b.view.column_stride % kSize == 0 &&
         b.batch_stride % kSize == 0;
}

bool has_rows(const Batch& b) { return b.columns <= 1 || b.view.column_stride == kSize; }

size_t floats(int64_t bytes) { return size_t(bytes / kSize); }

/// The step that adds the addend to the result.
enum class Adding : uint8_t { Nothing, Bias, Residual, Later };

Adding adding_of(const Product& p, float alpha, float beta) {
  const MatrixView &addend = p.addend.view, &out = p.out.view;
  if (addend.data == nullptr) return alpha == 1 ? Adding::Nothing : Adding::Later;
  if (alpha != 1 || beta != 1) return Adding::Later;
  if (addend.row_stride == 0 && addend.column_stride == kSize && p.addend.batch_stride == 0) {
    return Adding::Bias;
  }
  const bool has_layout_of_out = addend.row_stride == out.row_stride &&
                                 addend.column_stride == kSize &&
                                 p.addend.batch_stride == p.out.batch_stride;
  return has_layout_of_out ? Adding::Residual : Adding::Later;
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
void few_rows(const Product& p, engine::Threads& threads) {
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

/// A call with memory for its batch's size and strides.
struct BatchCall {
  engine::BatchMatmulCall call;
  size_t batch, left, right, out;

  explicit BatchCall(const Product& p)
      : call(call_of(p)),
        batch(size_t(p.out.batch)),
        left(floats(p.left.batch_stride)),
        right(floats(p.right.batch_stride)),
        out(floats(p.out.batch_stride)) {
    call.batch_rank = 1;
    call.batch_sizes = &batch;
    call.left_batch_strides = &left;
    call.right_batch_strides = &right;
    call.out_batch_strides = &out;
  }
  BatchCall(const BatchCall&) = delete;
  BatchCall& operator=(const BatchCall&) = delete;
};

}  // namespace

bool has_few_rows(const Product& p) {
  const engine::BatchMatmulCall call = call_of(p);
  const MatrixView& right = p.right.view;
  return (right.row_stride == kSize || right.column_stride == kSize) &&
         call.rows <= engine::max_few_rows(call.right, call.depth);
}

size_t float32_scratch_bytes(const Product& p, size_t threads) {
  return engine::batch_matmul_scratch_bytes(BatchCall(p).call, threads);
}

void multiply_float32(const Product& p, bool is_few, void* scratch, engine::Threads& threads) {
  const float alpha = portable::number<float>(p.alpha), beta = portable::number<float>(p.beta);
  const Adding adding = adding_of(p, alpha, beta);
  if (is_few) {
    few_rows(p, threads);
    if (adding != Adding::Nothing) add_later(p, alpha, beta);
    return;
  }
  BatchCall batch(p);
  const float* const addend = reinterpret_cast<const float*>(p.addend.view.data);
  if (adding == Adding::Bias) batch.call.bias = addend;
  if (adding == Adding::Residual) batch.call.epilogue.residual = addend;
  engine::batch_matmul(batch.call, scratch, threads);
  if (adding == Adding::Later) add_later(p, alpha, beta);
}

bool multiply_floats(KernelRuntimeContext& ctx, const Product& p) {
  if (p.addend.view.data == p.out.view.data) return false;
  if (p.out.view.dtype != ScalarType::Float) return multiply_reduced(ctx, p);
  if (!in_floats(p.left) || !in_floats(p.right) || !in_floats(p.out) || !in_floats(p.addend) ||
      !has_rows(p.left) || !has_rows(p.out)) {
    return false;
  }
  const bool is_few = has_few_rows(p);
  KernelThreads threads(work_of(p), is_few ? kMinFewRowsWork : kMinProductWork);
  void* const scratch = is_few ? nullptr : scratch_for(ctx, threads, [&](size_t count) {
    return float32_scratch_bytes(p, count);
  });
  if (!is_few && scratch == nullptr) return false;
  multiply_float32(p, is_few, scratch, threads);
  return true;
}

}  // namespace executorch::kernels::optimized
