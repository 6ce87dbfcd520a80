// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
#include <executorch/kernels/portable/gemm/matrix.h>

#include <algorithm>

namespace executorch::kernels::portable {

namespace {

/// Copies [rows, columns] whose columns are what lies together in memory, a line of the result at a
/// time.
template <class T>
void transpose(const T* from, int64_t column_step, int64_t rows, int64_t columns, T* to,
               int64_t step) {
  constexpr int64_t kLine = 64 / sizeof(T);
  int64_t j = 0;
  for (; j + kLine <= columns; j += kLine) {
    const T* column = from + j * column_step;
    for (int64_t i = 0; i < rows; ++i) {
      for (int64_t c = 0; c < kLine; ++c) to[i * step + j + c] = column[c * column_step + i];
    }
  }
  for (; j < columns; ++j) {
    for (int64_t i = 0; i < rows; ++i) to[i * step + j] = from[j * column_step + i];
  }
}

}  // namespace

template <class T>
MatrixSource<T>::MatrixSource(const MatrixView& view)
    : view_(view), load_(load(view.dtype, compute_type<T>)) {
  constexpr int64_t kSize = sizeof(T);
  if (stands_as<T>(view.dtype) && view.row_stride % kSize == 0 && view.column_stride % kSize == 0) {
    this->data = reinterpret_cast<const T*>(view.data);
    this->row_step = view.row_stride / kSize;
    this->column_step = view.column_stride / kSize;
  }
}

template <class T>
void MatrixSource<T>::read(int64_t row, int64_t rows, int64_t column, int64_t columns, T* to,
                           int64_t step) const {
  const char* from = view_.data + row * view_.row_stride + column * view_.column_stride;
  if (this->data && this->row_step == 1 && this->column_step > 1) {
    transpose(this->data + row + column * this->column_step, this->column_step, rows, columns, to,
              step);
    return;
  }
  // Along whichever dimension lies closer in memory.
  if (view_.column_stride <= view_.row_stride) {
    for (int64_t i = 0; i < rows; ++i) {
      load_(reinterpret_cast<char*>(to + i * step), sizeof(T), from + i * view_.row_stride,
            view_.column_stride, columns);
    }
    return;
  }
  for (int64_t j = 0; j < columns; ++j) {
    load_(reinterpret_cast<char*>(to + j), step * sizeof(T), from + j * view_.column_stride,
          view_.row_stride, rows);
  }
}

template <class T>
MatrixSink<T>::MatrixSink(const MatrixView& out, const MatrixView& addend, T alpha, T beta)
    : out_(out),
      addend_(addend),
      alpha_(alpha),
      beta_(beta),
      load_(addend.data ? load(addend.dtype, compute_type<T>) : nullptr),
      store_(store(compute_type<T>, out.dtype)) {
  constexpr int64_t kSize = sizeof(T);
  const bool in_place = stands_as<T>(out.dtype) && out.column_stride == kSize &&
                        out.row_stride % kSize == 0 && addend.data != out.data;
  if (in_place) {
    this->data = reinterpret_cast<T*>(out.data);
    this->row_step = out.row_stride / kSize;
  }
}

template <class T>
void MatrixSink<T>::finish(int64_t row, int64_t rows, int64_t column, int64_t columns,
                           const T* from, int64_t step) {
  if (this->data && !addend_.data && alpha_ == T(1)) return;
  T values[kBlock];
  T addend[kBlock];
  for (int64_t i = 0; i < rows; ++i) {
    char* to = out_.data + (row + i) * out_.row_stride + column * out_.column_stride;
    const char* add =
        addend_.data + (row + i) * addend_.row_stride + column * addend_.column_stride;
    for (int64_t j = 0; j < columns; j += kBlock) {
      const int64_t n = std::min(kBlock, columns - j);
      const T* sums = from + i * step + j;
      for (int64_t c = 0; c < n; ++c) values[c] = alpha_ * sums[c];
      if (addend_.data) {
        load_(reinterpret_cast<char*>(addend), sizeof(T), add + j * addend_.column_stride,
              addend_.column_stride, n);
        for (int64_t c = 0; c < n; ++c) values[c] += beta_ * addend[c];
      }
      store_(to + j * out_.column_stride, out_.column_stride, reinterpret_cast<const char*>(values),
             sizeof(T), n);
    }
  }
}

template class MatrixSource<float>;
template class MatrixSource<double>;
template class MatrixSource<uint64_t>;
template class MatrixSink<float>;
template class MatrixSink<double>;
template class MatrixSink<uint64_t>;

}  // namespace executorch::kernels::portable
