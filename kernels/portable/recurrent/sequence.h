// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// Sequences in memory, and their rows as the left operand of a product.
#pragma once

#include <executorch/kernels/loops/dtype/convert.h>
#include <executorch/kernels/portable/gemm/gemm.h>

namespace executorch::kernels {

/// Sequences of one dtype: elements [step, batch, feature]. Strides count bytes. Does not own the
/// memory.
struct SequenceView {
  char* data = nullptr;
  ScalarType dtype = ScalarType::Undefined;
  int64_t steps = 0;
  int64_t step_stride = 0, batch_stride = 0, feature_stride = 0;
  bool reversed = false;  ///< whether the last step is walked first

  /// Address of the step with number `index` in the order of the walk.
  char* at(int64_t index, int64_t sequence) const {
    const int64_t step = reversed ? steps - 1 - index : index;
    return data + step * step_stride + sequence * batch_stride;
  }
};

/// Rows (step, batch), in the order in which steps are walked, from step `first` on; columns are
/// features.
template <class T>
class SequenceSource final : public BlockSource<T> {
 public:
  SequenceSource(const SequenceView& view, int64_t first, int64_t batch)
      : view_(view), first_(first), batch_(batch), load_(load(view.dtype, compute_type<T>)) {
    constexpr int64_t kSize = sizeof(T);
    const int64_t along = view.reversed ? -view.step_stride : view.step_stride;
    const int64_t step = batch == 1 ? along : view.batch_stride;
    const bool is_matrix = batch == 1 || along == batch * step;
    if (view.dtype == dtype_of(compute_type<T>) && view.feature_stride == kSize && is_matrix &&
        step % kSize == 0) {
      this->data = reinterpret_cast<const T*>(view.at(first, 0));
      this->row_step = step / kSize;
      this->column_step = 1;
    }
  }

  void read(int64_t row, int64_t rows, int64_t column, int64_t columns, T* to,
            int64_t step) const override {
    for (int64_t i = row; i < row + rows; ++i, to += step) {
      const char* from = view_.at(first_ + i / batch_, i % batch_) + column * view_.feature_stride;
      load_(reinterpret_cast<char*>(to), sizeof(T), from, view_.feature_stride, columns);
    }
  }

 private:
  SequenceView view_;
  int64_t first_, batch_;
  Convert load_;
};

}  // namespace executorch::kernels
