// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// Matrices in memory as operands and results of a product: any dtype of the compute type's kind,
// any strides.
#pragma once

#include <executorch/kernels/loops/dtype/convert.h>
#include <executorch/kernels/portable/gemm/gemm.h>

namespace executorch::kernels {

/// Memory seen as a matrix. Strides count bytes; 0 repeats. Does not own the memory.
struct MatrixView {
  char* data = nullptr;
  ScalarType dtype = ScalarType::Undefined;
  int64_t row_stride = 0;
  int64_t column_stride = 0;
};

/// The type products of a dtype are computed in: float for the 16-bit floats, uint64_t for
/// integers. Calls visitor(Type<T>{}), unless this build leaves out the dtypes computed in it.
template <class Visitor>
void visit_product_type(ScalarType dtype, Visitor&& visitor) {
  switch (compute_of(dtype)) {
    case Compute::Float:
      if constexpr (is_product_computed<float>) visitor(Type<float>{});
      return;
    case Compute::Double:
      if constexpr (is_product_computed<double>) visitor(Type<double>{});
      return;
    default:
      if constexpr (is_product_computed<uint64_t>) visitor(Type<uint64_t>{});
  }
}

/// True if memory of the dtype can be used as T without conversion.
template <class T>
bool is_stored_as(ScalarType dtype) {
  return dtype == dtype_of(compute_type<T>);
}

template <class T>
class MatrixSource final : public BlockSource<T> {
 public:
  explicit MatrixSource(const MatrixView& view);
  void read(int64_t row, int64_t rows, int64_t column, int64_t columns, T* to,
            int64_t step) const override;

 private:
  MatrixView view_;
  Convert load_;
};

/// out = alpha * sums + beta * addend. The addend may be null.
template <class T>
class MatrixSink final : public BlockSink<T> {
 public:
  MatrixSink(const MatrixView& out, const MatrixView& addend, T alpha, T beta);
  void finish(int64_t row, int64_t rows, int64_t column, int64_t columns, const T* from,
              int64_t step) override;

 private:
  MatrixView out_;
  MatrixView addend_;
  T alpha_;
  T beta_;
  Convert load_;
  Convert store_;
};

/// Transposes [rows, columns] with contiguous columns, `column_step` apart, a line of the result at
/// a time; the result's rows are `step` apart. T is float, double or uint64_t.
template <class T>
void transpose(const T* from, int64_t column_step, int64_t rows, int64_t columns, T* to,
               int64_t step);

extern template class MatrixSource<float>;
extern template class MatrixSource<double>;
extern template class MatrixSource<uint64_t>;
extern template class MatrixSink<float>;
extern template class MatrixSink<double>;
extern template class MatrixSink<uint64_t>;

}  // namespace executorch::kernels
