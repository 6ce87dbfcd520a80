// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
#include <executorch/kernels/portable/gemm/matmul.h>

#include <executorch/kernels/portable/gemm/matrix.h>
#include <executorch/kernels/portable/loops/broadcast.h>

namespace executorch::kernels::portable {

namespace {

/// Matrices [batch, rows, columns] with their sizes.
struct Batch {
  MatrixView view;
  int64_t batch_stride;
  int64_t batch, rows, columns;
};

/// A tensor of rank 3 as it is; missing leading dimensions are of size 1.
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

struct Product {
  Batch left, right, addend, out;
  Scalar alpha, beta;
};

template <class T>
T number(const Scalar& scalar) {
  if (scalar.isFloatingPoint()) return cast<T>(scalar.to<double>());
  return cast<T>(scalar.isBoolean() ? int64_t(scalar.to<bool>()) : scalar.to<int64_t>());
}

template <class T>
void multiply(KernelRuntimeContext& ctx, const GemmTiles& tiles, const Product& p) {
  Gemm<T> gemm(ctx, tile_of<T>(tiles), p.out.rows, p.out.columns, p.left.columns);
  for (int64_t b = 0; b < p.out.batch; ++b) {
    const MatrixSource<T> left(matrix(p.left, b));
    const MatrixSource<T> right(matrix(p.right, b));
    MatrixSink<T> out(matrix(p.out, b), matrix(p.addend, b), number<T>(p.alpha), number<T>(p.beta));
    gemm.run(left, right, out);
  }
}

bool is_zero(const Scalar& scalar) { return number<double>(scalar) == 0; }

/// Everything but the ranks of the operands, which the caller has checked; `row` and `column` tell
/// whether the left operand is a vector (one row) and the right one is (one column).
void product(KernelRuntimeContext& ctx, const GemmTiles& tiles, const Tensor& left,
             const Tensor& right, const Addend& addend, const Shape& shape, bool row, bool column,
             Tensor& out) {
  const ScalarType dtype = left.scalar_type();
  if (!expect_same_dtype(ctx, "left", left, "right", right) ||
      !expect_dtype(ctx, "out", out, dtype) ||
      !ET_EXPECT(ctx, dtype != ScalarType::Bool && size_of(dtype) != 0,
                 "matrix products take numbers, found %s", name_of(dtype)) ||
      !resize(ctx, out, shape)) {
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
  if (p.out.columns == 1) {
    // One row is the faster way to compute one column.
    const Batch left_side = p.left;
    p.left = transposed(p.right);
    p.right = transposed(left_side);
    p.out = transposed(p.out);
    p.addend = transposed(p.addend);
  }
  visit_product_type(dtype, [&](auto tag) { multiply<ET_TYPE_OF(tag)>(ctx, tiles, p); });
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

void matrix_product(KernelRuntimeContext& ctx, const GemmTiles& tiles, const Tensor& left,
                    const Tensor& right, const Addend& addend, Tensor& out) {
  if (!expect_rank(ctx, "left", left, 2) || !expect_rank(ctx, "right", right, 2) ||
      !expect_inner(ctx, left, right, left.size(1), right.size(0))) {
    return;
  }
  Shape shape;
  shape.append(left.size(0));
  shape.append(right.size(1));
  product(ctx, tiles, left, right, addend, shape, false, false, out);
}

void batched_product(KernelRuntimeContext& ctx, const GemmTiles& tiles, const Tensor& left,
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
  product(ctx, tiles, left, right, addend, shape, false, false, out);
}

void vector_product(KernelRuntimeContext& ctx, const GemmTiles& tiles, const Tensor& left,
                    const Tensor& right, const Addend& addend, Tensor& out) {
  if (!expect_rank(ctx, "left", left, 2) || !expect_rank(ctx, "right", right, 1) ||
      !expect_inner(ctx, left, right, left.size(1), right.size(0))) {
    return;
  }
  Shape shape;
  shape.append(left.size(0));
  product(ctx, tiles, left, right, addend, shape, false, true, out);
}

void inner_product(KernelRuntimeContext& ctx, const GemmTiles& tiles, const Tensor& left,
                   const Tensor& right, Tensor& out) {
  if (!expect_rank(ctx, "left", left, 1) || !expect_rank(ctx, "right", right, 1) ||
      !expect_inner(ctx, left, right, left.size(0), right.size(0))) {
    return;
  }
  product(ctx, tiles, left, right, {}, Shape(), true, true, out);
}

}  // namespace executorch::kernels::portable
