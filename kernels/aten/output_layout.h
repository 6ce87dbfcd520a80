// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
#pragma once

#include <ATen/core/Tensor.h>
#include <c10/util/SmallVector.h>

#include <executorch/runtime/core/evalue.h>

namespace executorch::kernels {

/// Sizes and strides of an operator's outputs. ATen chooses the dim order of an output anew when it
/// resizes it, but a program's kernels rely on the planned one. If ATen cannot allocate memory for
/// an output, it has already set the sizes that do not fit.
class OutputLayouts final {
 public:
  /// Records the dim orders before the call. `output`, a tensor or a list of tensors, must outlive
  /// this object.
  void keep(const runtime::EValue& output);
  /// Moves the elements of outputs whose dim order the call changed. Throws c10::Error.
  void restore_dim_orders() const;
  /// After a call that failed: restores the sizes of outputs.
  void undo() const;

 private:
  struct Layout {
    const at::Tensor* tensor;
    c10::SmallVector<int64_t, 5> sizes;
    c10::SmallVector<int64_t, 5> strides;
  };

  void keep(const at::Tensor& tensor);

  c10::SmallVector<Layout, 1> layouts_;
};

}  // namespace executorch::kernels
