// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// Matrix product operators.
#include <executorch/kernels/loops/dtype/complex.h>
#include <executorch/kernels/loops/memory/broadcast.h>
#include <executorch/kernels/loops/memory/copy.h>
#include <executorch/kernels/loops/memory/loop_nest.h>
#include <executorch/kernels/loops/memory/positions.h>
#include <executorch/kernels/portable/NativeFunctions.h>
#include <executorch/kernels/portable/gemm/matmul.h>
#include <executorch/kernels/portable/gemm/matrix.h>
#include <executorch/runtime/kernel/parallel.h>

#include <cinttypes>

namespace executorch::kernels::portable {
namespace {

/// Describes a tensor as a batch of matrices; missing leading dimensions have size 1.
Batch batch_of(const Strided& memory) {
  int64_t sizes[3] = {1, 1, 1};
  int64_t strides[3] = {0, 0, 0};
  const int missing = 3 - memory.rank;
  for (int d = 0; d < memory.rank; ++d) {
    sizes[missing + d] = memory.sizes[d];
    strides[missing + d] = memory.strides[d];
  }
  return {{memory.data, memory.dtype, strides[1], strides[2]},
          strides[0],
          sizes[0],
          sizes[1],
          sizes[2]};
}

Batch transposed(const Batch& b) {
  return {{b.view.data, b.view.dtype, b.view.column_stride, b.view.row_stride},
          b.batch_stride,
          b.batch,
          b.columns,
          b.rows};
}

MatrixView matrix(const Batch& batch, int64_t index) {
  MatrixView view = batch.view;
  if (view.data) view.data += index * batch.batch_stride;
  return view;
}

template <class T>
void multiply(KernelRuntimeContext& ctx, const Product& p) {
  const int64_t batch = p.out.batch;
  Gemm<T> gemm(ctx, tile_of<T>(plain_gemm_tiles()), p.out.rows, p.out.columns, p.left.columns,
               batch);
  const auto for_each_matrix = [&](int64_t begin, int64_t end, auto run) {
    for (int64_t b = begin; b < end; ++b) {
      const MatrixSource<T> left(matrix(p.left, b));
      const MatrixSource<T> right(matrix(p.right, b));
      MatrixSink<T> out(matrix(p.out, b), matrix(p.addend, b), number<T>(p.alpha),
                        number<T>(p.beta));
      run(left, right, out);
    }
  };
  // Give each thread whole products if these divide evenly enough; else use all threads for each.
  const int64_t parts = gemm.parts();
  if (parts > 1 && (batch % parts == 0 || batch >= 4 * parts)) {
    runtime::run_parallel(
        [&](size_t part) {
          const auto run = [&](const auto& left, const auto& right, auto& out) {
            gemm.run_alone(int64_t(part), left, right, out);
          };
          for_each_matrix(batch * int64_t(part) / parts, batch * (int64_t(part) + 1) / parts, run);
        },
        size_t(parts));
    return;
  }
  for_each_matrix(0, batch, [&](const auto& left, const auto& right, auto& out) {
    gemm.run(left, right, out);
  });
}

Batch part_of(Batch batch, int which) {
  batch.view.dtype = part_dtype(batch.view.dtype);
  if (batch.view.data != nullptr) batch.view.data += which * width_of(batch.view.dtype);
  return batch;
}

/// Computes a complex product as four real ones. The second of each pair adds to the first.
template <class T>
void multiply_complex(KernelRuntimeContext& ctx, const Product& p) {
  const double alpha = number<double>(p.alpha);
  for (int which = 0; which < 2; ++which) {
    const Batch out = part_of(p.out, which), addend = part_of(p.addend, which);
    const Batch left[] = {part_of(p.left, 0), part_of(p.left, 1)};
    multiply<T>(ctx, {left[0], part_of(p.right, which), addend, out, alpha, p.beta});
    multiply<T>(ctx, {left[1], part_of(p.right, 1 - which), out, out, which == 0 ? -alpha : alpha,
                      Scalar(int64_t(1))});
  }
}

/// True for the dtypes of a FloatProduct.
bool is_float_product(ScalarType dtype) {
  return is_floating(dtype) && dtype != ScalarType::Double;
}

void multiply(KernelRuntimeContext& ctx, FloatProduct fast, const Product& p) {
  const ScalarType dtype = p.out.view.dtype;
  if (fast != nullptr && is_float_product(dtype) && fast(ctx, p)) return;
  visit_product_type(part_dtype(dtype), [&](auto tag) {
    using T = ET_TYPE_OF(tag);
    if constexpr (has_complex && std::is_floating_point_v<T>) {
      if (is_complex(dtype)) return multiply_complex<T>(ctx, p);
    }
    multiply<T>(ctx, p);
  });
}

bool is_zero(const Scalar& scalar) { return number<double>(scalar) == 0; }

bool expect_operands(KernelRuntimeContext& ctx, const Tensor& left, const Tensor& right,
                     const Tensor& out) {
  const ScalarType dtype = left.scalar_type();
  return expect_same_dtype(ctx, "left", left, "right", right) &&
         expect_dtype(ctx, "out", out, dtype) &&
         ET_EXPECT(
             ctx,
             dtype != ScalarType::Bool && width_of(dtype) != 0 && dtype != ScalarType::ComplexHalf,
             "matrix products take numbers, found %s", name_of(dtype));
}

/// Checks the operands except for their ranks, resizes `out` and multiplies. `row`: the left
/// operand is a vector (one row); `column`: the right operand is a vector (one column).
void product(KernelRuntimeContext& ctx, FloatProduct fast, const Tensor& left, const Tensor& right,
             const Addend& addend, const Shape& shape, bool row, bool column, Tensor& out) {
  if (!expect_operands(ctx, left, right, out) || !resize(ctx, out, shape)) return;
  // Eager converts alpha and beta to the dtype itself for vectors, to opmath_dtype() for matrices.
  const ScalarType dtype = column ? out.scalar_type() : opmath_dtype(out.scalar_type());
  if (addend.tensor != nullptr && (!expect_fits(ctx, "beta", addend.beta, dtype) ||
                                   !expect_fits(ctx, "alpha", addend.alpha, dtype))) {
    return;
  }
  Strided left_memory(left), right_memory(right), out_memory(out);
  if (row) left_memory.insert(0, 1, 0);
  if (column) right_memory.append(1, 0);
  if (row) out_memory.insert(0, 1, 0);
  if (column) out_memory.append(1, out_memory.element_size());
  Product p = {batch_of(left_memory), batch_of(right_memory), {},
               batch_of(out_memory),  addend.alpha,           addend.beta};
  if (addend.tensor && !is_zero(addend.beta)) {
    Shape common = shape;
    if (!expect_same_dtype(ctx, "self", *addend.tensor, "out", out) ||
        !expect_broadcast(ctx, common, Shape(*addend.tensor)) ||
        !ET_EXPECT(ctx, common == shape, "self of sizes %s does not broadcast to the product's %s",
                   ShapeText(*addend.tensor).text, ShapeText(shape).text)) {
      return;
    }
    Strided memory = expanded(Strided(*addend.tensor), shape);
    if (column) memory.append(1, 0);
    p.addend = batch_of(memory);
  }
  // A batch of matrices without elements takes no memory, and may have any size.
  if (out.numel() == 0) return;
  if (p.out.columns == 1) {
    // Compute a column as the transposed product, one row: that is faster.
    const Batch left_side = p.left;
    p.left = transposed(p.right);
    p.right = transposed(left_side);
    p.out = transposed(p.out);
    p.addend = transposed(p.addend);
  }
  multiply(ctx, fast, p);
}

bool expect_rank(KernelRuntimeContext& ctx, const char* name, const Tensor& tensor, int rank) {
  return ET_EXPECT(ctx, tensor.dim() == rank, "%s must have %d dimensions, found sizes %s", name,
                   rank, ShapeText(tensor).text);
}

bool expect_inner(KernelRuntimeContext& ctx, const Tensor& left, const Tensor& right,
                  int64_t left_size, int64_t right_size) {
  return ET_EXPECT(ctx, left_size == right_size, "the inner sizes of %s and %s differ",
                   ShapeText(left).text, ShapeText(right).text);
}

}  // namespace

void matrix_product(KernelRuntimeContext& ctx, FloatProduct fast, const Tensor& left,
                    const Tensor& right, const Addend& addend, Tensor& out) {
  if (!expect_rank(ctx, "left", left, 2) || !expect_rank(ctx, "right", right, 2) ||
      !expect_inner(ctx, left, right, left.size(1), right.size(0))) {
    return;
  }
  Shape shape;
  shape.append(left.size(0));
  shape.append(right.size(1));
  product(ctx, fast, left, right, addend, shape, false, false, out);
}

void batched_product(KernelRuntimeContext& ctx, FloatProduct fast, const Tensor& left,
                     const Tensor& right, const Addend& addend, Tensor& out) {
  if (!expect_rank(ctx, "left", left, 3) || !expect_rank(ctx, "right", right, 3) ||
      !expect_inner(ctx, left, right, left.size(2), right.size(1)) ||
      !ET_EXPECT(ctx, left.size(0) == right.size(0), "the batch sizes of %s and %s differ",
                 ShapeText(left).text, ShapeText(right).text)) {
    return;
  }
  Shape shape;
  shape.append(left.size(0));
  shape.append(left.size(1));
  shape.append(right.size(2));
  product(ctx, fast, left, right, addend, shape, false, false, out);
}

void grouped_product(KernelRuntimeContext& ctx, FloatProduct fast, const Tensor& left,
                     const Tensor& right, const Tensor& ends, bool right_transposed, Tensor& out) {
  if (!expect_rank(ctx, "self", left, 2) || !expect_rank(ctx, "mat2", right, 3) ||
      !expect_rank(ctx, "offs", ends, 1) || !expect_operands(ctx, left, right, out) ||
      !expect_inner(ctx, left, right, left.size(1), right.size(right_transposed ? 2 : 1)) ||
      !expect_index_dtype(ctx, "offs", ends) ||
      !ET_EXPECT(ctx, ends.size(0) == right.size(0),
                 "offs of sizes %s must have an end for each matrix of %s", ShapeText(ends).text,
                 ShapeText(right).text)) {
    return;
  }
  Shape shape;
  shape.append(left.size(0));
  shape.append(right.size(right_transposed ? 1 : 2));
  if (!resize(ctx, out, shape)) return;
  const Batch rows = batch_of(Strided(left)), sums = batch_of(Strided(out));
  Batch weights = batch_of(Strided(right));
  if (right_transposed) weights = transposed(weights);
  const Strided ends_memory(ends);
  const auto multiply_rows = [&](int64_t begin, int64_t end, int64_t group, int64_t inner) {
    Product p = {rows, weights, {}, sums, Scalar(int64_t(1)), Scalar(int64_t(1))};
    p.right.view = matrix(weights, group);
    p.left.columns = p.right.rows = inner;
    for (Batch* part : {&p.left, &p.out}) {
      if (part->view.data) part->view.data += begin * part->view.row_stride;
      part->rows = end - begin;
    }
    multiply(ctx, fast, p);
  };
  int64_t begin = 0;
  for (int64_t g = 0; g < ends.size(0); ++g) {
    const int64_t end =
        read<int64_t>(ends_memory.data + g * ends_memory.strides[0], ends_memory.dtype);
    if (!ET_EXPECT(ctx, begin <= end && end <= rows.rows,
                   "group %" PRId64 " ends at row %" PRId64 ", expected %" PRId64 " to %" PRId64, g,
                   end, begin, rows.rows)) {
      return;
    }
    if (begin < end) multiply_rows(begin, end, g, rows.columns);
    begin = end;
  }
  if (begin < rows.rows) multiply_rows(begin, rows.rows, 0, 0);  // an inner size of 0: zeros
}

void vector_product(KernelRuntimeContext& ctx, FloatProduct fast, const Tensor& left,
                    const Tensor& right, const Addend& addend, Tensor& out) {
  if (!expect_rank(ctx, "left", left, 2) || !expect_rank(ctx, "right", right, 1) ||
      !expect_inner(ctx, left, right, left.size(1), right.size(0))) {
    return;
  }
  Shape shape;
  shape.append(left.size(0));
  product(ctx, fast, left, right, addend, shape, false, true, out);
}

void inner_product(KernelRuntimeContext& ctx, FloatProduct fast, const Tensor& left,
                   const Tensor& right, Tensor& out) {
  if (!expect_rank(ctx, "left", left, 1) || !expect_rank(ctx, "right", right, 1) ||
      !expect_inner(ctx, left, right, left.size(0), right.size(0))) {
    return;
  }
  product(ctx, fast, left, right, {}, Shape(), true, true, out);
}

namespace {

/// linear_product() as one product for each run of rows at an even stride. Returns false if there
/// are several runs and `alone` is set.
bool linear_runs(KernelRuntimeContext& ctx, FloatProduct fast, Strided from, const Strided& weights,
                 const std::optional<Tensor>& bias, Strided to, bool column, bool alone) {
  if (column) to.append(1, to.element_size());
  Strided added = to;
  if (bias) {
    Shape shape;
    for (int d = 0; d < to.rank - (column ? 1 : 0); ++d) shape.append(to.sizes[d]);
    added = expanded(Strided(*bias), shape);
    if (column) added.append(1, 0);
  }
  const auto lines = [](const Strided& memory, char* data, int64_t stride, int64_t rows) {
    const int last = memory.rank - 1;
    return Batch{
        {data, memory.dtype, stride, memory.strides[last]}, 0, 1, rows, memory.sizes[last]};
  };
  const Batch right{{weights.data, weights.dtype, weights.strides[1], weights.strides[0]},
                    0,
                    1,
                    weights.sizes[1],
                    weights.sizes[0]};
  Strided rows[] = {to, from, added};
  for (Strided& memory : rows) memory.remove(memory.rank - 1);
  const LoopNest nest(rows[0], rows[1], rows[2]);
  if (alone && nest.rank() != 1) return false;
  nest.for_each_row([&](char* const* at) {
    const int64_t n = nest.row();
    Batch addend{};
    if (bias) addend = lines(added, at[2], nest.stride(2), n);
    multiply(ctx, fast,
             {lines(from, at[1], nest.stride(1), n), right, addend,
              lines(to, at[0], nest.stride(0), n), Scalar(int64_t(1)), Scalar(int64_t(1))});
  });
  return true;
}

}  // namespace

void linear_product(KernelRuntimeContext& ctx, FloatProduct fast, const Tensor& input,
                    const Tensor& weight, const std::optional<Tensor>& bias, Tensor& out) {
  if (!ET_EXPECT(ctx, weight.dim() == 1 || weight.dim() == 2,
                 "weight must have 1 or 2 dimensions, found sizes %s", ShapeText(weight).text) ||
      !ET_EXPECT(ctx, input.dim() > 0, "input must have a dimension, found sizes []") ||
      !expect_inner(ctx, input, weight, input.size(input.dim() - 1),
                    weight.size(weight.dim() - 1)) ||
      !expect_operands(ctx, input, weight, out)) {
    return;
  }
  // A weight vector is one column, which is not a dimension of the result.
  Strided weights(weight);
  const bool column = weights.rank == 1;
  if (column) weights.insert(0, 1, 0);
  const int64_t inner = weights.sizes[1], columns = weights.sizes[0];
  Shape shape(input);
  column ? --shape.rank : shape.sizes[shape.rank - 1] = columns;
  if (bias && (!expect_same_dtype(ctx, "bias", *bias, "out", out) ||
               !ET_EXPECT(ctx, broadcasts_to(Shape(*bias), shape),
                          "bias of sizes %s does not broadcast to the result's %s",
                          ShapeText(*bias).text, ShapeText(shape).text))) {
    return;
  }
  if (!resize(ctx, out, shape) || out.numel() == 0) return;
  const bool in_complex = has_complex && is_complex(out.scalar_type());
  const bool is_fast = fast != nullptr && is_float_product(out.scalar_type());
  if ((in_complex || is_fast) &&
      linear_runs(ctx, fast, Strided(input), weights, bias, Strided(out), column, !in_complex)) {
    return;
  }
  // All leading dimensions are rows; each run of rows at an even stride is one product.
  Strided from(input), to(out);
  if (column) to.append(1, to.element_size());
  const int64_t from_step = from.strides[from.rank - 1], to_step = to.strides[to.rank - 1];
  from.remove(from.rank - 1);
  to.remove(to.rank - 1);
  Strided added = to;
  MatrixView addend;
  if (bias) {
    added = expanded(Strided(*bias), shape);
    if (column) added.append(1, 0);
    addend = {added.data, added.dtype, 0, added.strides[added.rank - 1]};
    added.remove(added.rank - 1);
  }
  const LoopNest nest(to, from, added);
  addend.row_stride = nest.stride(2);
  visit_product_type(input.scalar_type(), [&](auto tag) {
    using T = ET_TYPE_OF(tag);
    Gemm<T> gemm(ctx, tile_of<T>(plain_gemm_tiles()), nest.row(), columns, inner);
    const MatrixSource<T> right(
        {weights.data, weights.dtype, weights.strides[1], weights.strides[0]});
    nest.for_each_row([&](char* const* at) {
      const MatrixSource<T> left({at[1], from.dtype, nest.stride(1), from_step});
      MatrixView row = addend;
      if (row.data != nullptr) row.data = at[2];
      MatrixSink<T> sink({at[0], to.dtype, nest.stride(0), to_step}, row, T(1), T(1));
      gemm.run(left, right, sink);
    });
  });
}

Tensor& mm_out(KernelRuntimeContext& ctx, const Tensor& self, const Tensor& mat2, Tensor& out) {
  matrix_product(ctx, nullptr, self, mat2, {}, out);
  return out;
}

Tensor& addmm_out(KernelRuntimeContext& ctx, const Tensor& self, const Tensor& mat1,
                  const Tensor& mat2, const Scalar& beta, const Scalar& alpha, Tensor& out) {
  matrix_product(ctx, nullptr, mat1, mat2, {&self, beta, alpha}, out);
  return out;
}

Tensor& bmm_out(KernelRuntimeContext& ctx, const Tensor& self, const Tensor& mat2, Tensor& out) {
  batched_product(ctx, nullptr, self, mat2, {}, out);
  return out;
}

Tensor& baddbmm_out(KernelRuntimeContext& ctx, const Tensor& self, const Tensor& batch1,
                    const Tensor& batch2, const Scalar& beta, const Scalar& alpha, Tensor& out) {
  batched_product(ctx, nullptr, batch1, batch2, {&self, beta, alpha}, out);
  return out;
}

Tensor& grouped_mm_out(KernelRuntimeContext& ctx, const Tensor& self, const Tensor& mat2,
                       const Tensor& offs, bool mat2_transposed, Tensor& out) {
  grouped_product(ctx, nullptr, self, mat2, offs, mat2_transposed, out);
  return out;
}

Tensor& mv_out(KernelRuntimeContext& ctx, const Tensor& self, const Tensor& vec, Tensor& out) {
  vector_product(ctx, nullptr, self, vec, {}, out);
  return out;
}

Tensor& addmv_out(KernelRuntimeContext& ctx, const Tensor& self, const Tensor& mat,
                  const Tensor& vec, const Scalar& beta, const Scalar& alpha, Tensor& out) {
  vector_product(ctx, nullptr, mat, vec, {&self, beta, alpha}, out);
  return out;
}

Tensor& linear_out(KernelRuntimeContext& ctx, const Tensor& input, const Tensor& weight,
                   const std::optional<Tensor>& bias, Tensor& out) {
  linear_product(ctx, nullptr, input, weight, bias, out);
  return out;
}

Tensor& dot_out(KernelRuntimeContext& ctx, const Tensor& self, const Tensor& tensor, Tensor& out) {
  inner_product(ctx, nullptr, self, tensor, out);
  return out;
}

}  // namespace executorch::kernels::portable
