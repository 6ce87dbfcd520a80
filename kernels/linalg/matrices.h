// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// Batches of matrices in tensors, for kernels that compute on one Eigen matrix after the other.
//
// Kernels compute in double or std::complex<double>, whatever the dtype of the tensors is. Eigen
// allocates from the heap: these kernels are for hosts.
#pragma once

#include <Eigen/Dense>

#include <complex>
#include <new>

#include <executorch/kernels/loops/memory/check.h>
#include <executorch/kernels/loops/memory/strided.h>

namespace executorch::kernels::linalg {

using Complex = std::complex<double>;
template <typename T>
using Matrix = Eigen::Matrix<T, Eigen::Dynamic, Eigen::Dynamic>;
template <typename T>
using Vector = Eigen::Matrix<T, Eigen::Dynamic, 1>;
using Pivots = Eigen::Matrix<int32_t, Eigen::Dynamic, 1>;
using RealVector = Vector<double>;

/// A tensor of shape [*batch, rows, columns], or [*batch, rows] (`item_rank` 1), or [*batch]
/// (`item_rank` 0): one matrix, vector or number for each place of the batch.
class Batch final {
 public:
  Batch(const Tensor& tensor, int item_rank);

  int64_t rows() const { return item_rank_ < 1 ? 1 : memory_.sizes[batch_rank()]; }
  int64_t columns() const { return item_rank_ < 2 ? 1 : memory_.sizes[batch_rank() + 1]; }
  /// The sizes before those of a matrix.
  Shape batch() const;

  /// The item of the tensor for place `index` of a batch of this shape.
  int64_t item_at(const Shape& batch, int64_t index) const;
  /// The item at place `index` of a batch of this shape, to which the tensor's batch is broadcast.
  template <typename T>
  Matrix<T> load(const Shape& batch, int64_t index) const;
  Pivots load_pivots(const Shape& batch, int64_t index) const;
  /// Writes an item; complex numbers to real memory lose their imaginary parts.
  template <typename T>
  void store(int64_t index, const Matrix<T>& item) const;
  void store_integers(int64_t index, const Pivots& item) const;
  void store_integer(int64_t index, int32_t item) const;

 private:
  int batch_rank() const { return memory_.rank - item_rank_; }
  /// Calls use(own dimension, place in it) for each dimension of the tensor's batch.
  template <typename Use>
  void for_each_place(const Shape& batch, int64_t index, const Use& use) const;
  char* at(const Shape& batch, int64_t index) const;
  int64_t row_stride() const { return item_rank_ < 1 ? 0 : memory_.strides[batch_rank()]; }
  int64_t column_stride() const { return item_rank_ < 2 ? 0 : memory_.strides[batch_rank() + 1]; }

  Strided memory_;
  int item_rank_;
};

/// The dtype of absolute values: that of the parts of complex numbers.
inline ScalarType real_dtype(ScalarType dtype) {
  return is_complex(dtype) ? part_dtype(dtype) : dtype;
}

/// Fails the context unless `tensor` has at least `rank` dimensions and a real or complex
/// floating-point dtype.
bool expect_matrices(KernelRuntimeContext& ctx, const char* name, const Tensor& tensor,
                     int rank = 2);
/// The same, and the last two sizes must be equal.
bool expect_square(KernelRuntimeContext& ctx, const char* name, const Tensor& tensor);
/// Resizes `out`, of this dtype, to [*batch, *item].
bool prepare(KernelRuntimeContext& ctx, const char* name, Tensor& out, ScalarType dtype,
             const Shape& batch, std::initializer_list<int64_t> item);
/// The shape that two batches are broadcast to.
bool common_batch(KernelRuntimeContext& ctx, const Shape& a, const Shape& b, Shape* common);

/// The items of a batch to compute: none if no result has elements, because the batch's sizes may
/// then be larger than memory.
int64_t count_items(const Shape& batch, std::initializer_list<const Tensor*> results);

/// `info` is 0, or i if item i - 1 (a pivot, a leading minor) makes the result impossible.
bool expect_no_error(KernelRuntimeContext& ctx, const char* what, int32_t info);

/// Calls compute(T()) with double or Complex as T. The kernel fails if Eigen cannot allocate
/// memory.
template <typename Compute>
void visit_numbers(KernelRuntimeContext& ctx, ScalarType dtype, const Compute& compute) {
  try {
    if (is_complex(dtype)) {
      compute(Complex());
    } else {
      compute(double());
    }
  } catch (const std::bad_alloc&) {
    ET_LOG(Error, "no memory for the matrices of a kernel");
    ctx.fail(Error::MemoryAllocationFailed);
  }
}

}  // namespace executorch::kernels::linalg
