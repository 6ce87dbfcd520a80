// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
#pragma once

#include <ATen/core/Tensor.h>
#include <c10/util/SmallVector.h>

#include <executorch/runtime/core/evalue.h>

namespace executorch::kernels {

/// Sizes and strides of an operator's outputs. ATen chooses the dim order of an output anew when it
/// resizes it, and a program's kernels count on the one that was planned; an output that ATen
/// cannot give memory has the sizes already that do not fit.
class OutputLayouts final {
 public:
  /// Records the dim orders before the call. `output`, a tensor or a list of tensors, must outlive
  /// this object.
  void keep(const runtime::EValue& output);
  /// Moves the elements of outputs whose dim order the call changed. Throws c10::Error.
  void restore_dim_orders() const;
  /// After one that failed: outputs have the sizes that they had.
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
