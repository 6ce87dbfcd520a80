// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// Products of float16 and bfloat16, by blocks of columns that are converted to float32.
#include <executorch/kernels/engine/gemm/few_rows.h>
#include <executorch/kernels/loops/dtype/convert.h>
#include <executorch/kernels/loops/elementwise/simd_dispatch.h>
#include <executorch/kernels/optimized/kernel_threads.h>
#include <executorch/kernels/optimized/product.h>

#include <algorithm>

namespace executorch::kernels::optimized {
namespace {

using portable::Batch;
using portable::Product;

constexpr int64_t kSize = sizeof(float);
/// Bytes of a block's converted columns and of its sums, of up to kMaxSums rows: products of few
/// rows read the columns once, others pack them.
constexpr int64_t kBytesOfFewRows = 128 << 10, kBytesOfRows = 256 << 10;
constexpr int64_t kMaxSums = 512, kMinColumns = 64;
/// Columns of a block are a multiple of this: whole panels of the engine.
constexpr int64_t kColumnStep = 32;
/// Columns of a block where the right operand's rows are contiguous and multiplied by few rows.
constexpr int64_t kMaxColumns = 2048;
/// Rows of the right operand that are converted together are a multiple of this.
constexpr int64_t kDepthStep = 4;
/// Threads divide the rows of the left operand into blocks of at least this size, which is more
/// than the rows of a product of few rows.
constexpr int64_t kMinRows = 64;

char* at(const Batch& b, int64_t index, int64_t row, int64_t column) {
  return b.view.data + index * b.batch_stride + row * b.view.row_stride +
         column * b.view.column_stride;
}

/// Lines of elements, `step` bytes apart, to lines of floats without gaps.
void convert(ScalarType dtype, const char* from, int64_t lines, int64_t step, int64_t length,
             int64_t stride, float* to) {
  const Convert load_floats = load(dtype, Compute::Float);
  const int64_t width = width_of(dtype);
  if (stride == width && step == length * width) {
    load_floats(reinterpret_cast<char*>(to), kSize, from, width, lines * length);
    return;
  }
  for (int64_t i = 0; i < lines; ++i) {
    load_floats(reinterpret_cast<char*>(to + i * length), kSize, from + i * step, stride, length);
  }
}

/// A matrix of floats without gaps, row by row or column by column.
Batch matrix_of(float* data, int64_t rows, int64_t columns, bool by_columns = false) {
  const int64_t row_stride = by_columns ? kSize : columns * kSize;
  const int64_t column_stride = by_columns ? rows * kSize : kSize;
  char* const bytes = reinterpret_cast<char*>(data);
  return {{bytes, ScalarType::Float, row_stride, column_stride}, 0, 1, rows, columns};
}

/// A worker's memory. The left operand's rows stay converted while a worker multiplies them by
/// several blocks of columns.
struct Buffers {
  int64_t* converted_rows;  ///< the rows' number, counted through the batch; -1 for none
  float *left, *right, *sums, *addend;
  void* scratch;
};

class ReducedProduct {
 public:
  ReducedProduct(const Product& p, size_t threads)
      : p_(p), depth_(p.left.columns), columns_(p.out.columns), rows_(p.out.rows) {
    const int64_t width = width_of(p.right.view.dtype);
    by_columns_ = p.right.view.row_stride == width && p.right.view.column_stride != width;
    is_few_ = has_few_rows(block({}, rows_, columns_));
    depths_ = std::max<int64_t>(depth_, 1);
    const int64_t floats = (is_few_ ? kBytesOfFewRows : kBytesOfRows) / kSize;
    if (is_few_ && !by_columns_) {
      const int64_t even = engine::divide_up(columns_, int64_t(threads));
      columns_ = std::min({columns_, engine::round_up(even, kColumnStep), kMaxColumns});
      depths_ =
          std::min(depths_, std::max(floats / columns_, kDepthStep) / kDepthStep * kDepthStep);
    } else {
      const int64_t lines = depths_ + std::min(rows_, kMaxSums);
      const int64_t most = floats / lines / kColumnStep * kColumnStep;
      columns_ = std::min(columns_, std::max(most, is_few_ ? kColumnStep : kMinColumns));
    }
    parts_ = engine::divide_up(p.out.columns, columns_);
    const int64_t items = p.out.batch * parts_;
    if (items < int64_t(threads) && rows_ >= 2 * kMinRows) {
      const int64_t wanted = engine::divide_up(int64_t(threads), items);
      rows_ = engine::divide_up(rows_, std::min(wanted, rows_ / kMinRows));
    }
    row_blocks_ = engine::divide_up(p.out.rows, rows_);
  }

  /// Bytes of a worker's buffers.
  size_t bytes() const {
    const size_t scratch = is_few_ ? 0 : float32_scratch_bytes(block({}, rows_, columns_), 1);
    return engine::kAlignment + bytes_of(rows_ * depth_) + bytes_of(depths_ * columns_) +
           bytes_of(rows_ * columns_) + bytes_of(columns_) +
           engine::round_up(scratch, engine::kAlignment);
  }

  void run(char* memory, engine::Threads& threads) const {
    const size_t worker_bytes = bytes();
    for (size_t i = 0; i < threads.count(); ++i)
      *buffers(memory + i * worker_bytes).converted_rows = -1;
    engine::for_each_item(threads, size_t(p_.out.batch * row_blocks_ * parts_),
                          [&](size_t item, size_t worker) {
                            multiply(int64_t(item), buffers(memory + worker * worker_bytes));
                          });
  }

 private:
  static size_t bytes_of(int64_t floats) {
    return engine::round_up(size_t(floats * kSize), engine::kAlignment);
  }

  Buffers buffers(char* memory) const {
    const auto take = [&](size_t bytes) {
      char* const taken = memory;
      memory += bytes;
      return taken;
    };
    const auto take_floats = [&](int64_t count) {
      return reinterpret_cast<float*>(take(bytes_of(count)));
    };
    Buffers b;
    b.converted_rows = reinterpret_cast<int64_t*>(take(engine::kAlignment));
    b.left = take_floats(rows_ * depth_);
    b.right = take_floats(depths_ * columns_);
    b.sums = take_floats(rows_ * columns_);
    b.addend = take_floats(columns_);
    b.scratch = memory;
    return b;
  }

  /// The product of a block in float32, without addend.
  Product block(const Buffers& b, int64_t rows, int64_t columns) const {
    return {matrix_of(b.left, rows, depth_),
            matrix_of(b.right, depth_, columns, by_columns_),
            {},
            matrix_of(b.sums, rows, columns),
            Scalar(int64_t(1)),
            Scalar(int64_t(1))};
  }

  void multiply(int64_t item, const Buffers& b) const {
    const int64_t row_block = item / parts_, index = row_block / row_blocks_;
    const int64_t row = row_block % row_blocks_ * rows_, column = item % parts_ * columns_;
    const int64_t rows = std::min(rows_, p_.out.rows - row);
    const int64_t columns = std::min(columns_, p_.out.columns - column);
    const MatrixView &left = p_.left.view, &right = p_.right.view;
    if (*b.converted_rows != row_block) {
      convert(left.dtype, at(p_.left, index, row, 0), rows, left.row_stride, depth_,
              left.column_stride, b.left);
      *b.converted_rows = row_block;
    }
    if (is_few_ && !by_columns_) {
      add_rows(b, index, rows, column, columns);
    } else {
      const char* const from = at(p_.right, index, 0, column);
      if (by_columns_) {
        convert(right.dtype, from, columns, right.column_stride, depth_, right.row_stride, b.right);
      } else {
        convert(right.dtype, from, depth_, right.row_stride, columns, right.column_stride, b.right);
      }
      engine::CallingThread thread;
      multiply_float32(block(b, rows, columns), is_few_, b.scratch, thread);
    }
    finish(b, index, row, rows, column, columns);
  }

  /// Few rows multiplied by whole rows of the right operand, some at a time.
  void add_rows(const Buffers& b, int64_t index, int64_t rows, int64_t column,
                int64_t columns) const {
    const MatrixView& right = p_.right.view;
    engine::FewRowsCall call;
    call.rows = size_t(rows);
    call.columns = size_t(columns);
    call.left_stride = size_t(depth_);
    call.right = {b.right, size_t(columns), 1};
    call.out = b.sums;
    call.out_stride = size_t(columns);
    call.adds = true;
    std::fill(b.sums, b.sums + rows * columns, 0.0f);
    for (int64_t d = 0; d < depth_; d += depths_) {
      const int64_t depth = std::min(depths_, depth_ - d);
      convert(right.dtype, at(p_.right, index, d, column), depth, right.row_stride, columns,
              right.column_stride, b.right);
      call.depth = size_t(depth);
      call.left = b.left + d;
      engine::CallingThread thread;
      engine::multiply_few_rows(call, thread);
    }
  }

  /// Writes alpha * sums + beta * addend.
  void finish(const Buffers& b, int64_t index, int64_t row, int64_t rows, int64_t column,
              int64_t columns) const {
    const MatrixView &addend = p_.addend.view, &out = p_.out.view;
    const float alpha = portable::number<float>(p_.alpha), beta = portable::number<float>(p_.beta);
    const bool has_addend = addend.data != nullptr;
    const Convert store_floats = store(Compute::Float, out.dtype);
    for (int64_t r = 0; r < rows; ++r) {
      float* const sums = b.sums + r * columns;
      const bool is_new = r == 0 || addend.row_stride != 0;
      if (has_addend && is_new) {
        const bool is_one = addend.column_stride == 0;
        convert(addend.dtype, at(p_.addend, index, row + r, column), 1, 0, is_one ? 1 : columns,
                is_one ? width_of(addend.dtype) : addend.column_stride, b.addend);
        if (is_one) std::fill(b.addend, b.addend + columns, *b.addend);
      }
      if (has_addend) {
        in_vectors(
            [](float* to, const float* from, float a, float b, int64_t n) {
              for (int64_t c = 0; c < n; ++c) to[c] = a * to[c] + b * from[c];
            },
            sums, static_cast<const float*>(b.addend), alpha, beta, columns);
      } else if (alpha != 1) {
        for (int64_t c = 0; c < columns; ++c) sums[c] *= alpha;
      }
      store_floats(at(p_.out, index, row + r, column), out.column_stride,
                   reinterpret_cast<const char*>(sums), kSize, columns);
    }
  }

  const Product& p_;
  int64_t depth_, columns_, rows_;  ///< columns and rows of a block
  int64_t depths_ = 0;              ///< of the right operand's rows that are converted together
  int64_t parts_ = 0, row_blocks_ = 0;
  bool by_columns_ = false, is_few_ = false;
};

}  // namespace

bool multiply_reduced(KernelRuntimeContext& ctx, const Product& p) {
  if (p.out.batch == 0 || p.out.rows == 0 || p.out.columns == 0) return true;
  KernelThreads threads(work_of(p), kMinProductWork);
  const auto bytes_of = [&](size_t count) { return ReducedProduct(p, count).bytes() * count; };
  void* const memory = scratch_for(ctx, threads, bytes_of);
  if (memory == nullptr) return false;
  ReducedProduct(p, threads.count()).run(static_cast<char*>(memory), threads);
  return true;
}

}  // namespace executorch::kernels::optimized
