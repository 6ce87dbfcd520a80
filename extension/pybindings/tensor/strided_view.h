// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// A tensor of someone else's, in any layout, and how it gets into a dense one.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>

#include <executorch/extension/pybindings/tensor/element_types.h>
#include <executorch/runtime/core/exec_aten/util/tensor_dimension_limit.h>

namespace executorch::extension::pybindings {

constexpr size_t kMaxRank = runtime::kTensorDimensionLimit;

/// Borrows the elements; whoever made the view keeps them alive.
struct StridedView {
  const uint8_t* data = nullptr;
  const ElementTypeInfo* type = nullptr;
  size_t rank = 0;
  std::array<int64_t, kMaxRank> sizes;
  /// In bytes; of any sign, and not always a multiple of the element's size.
  std::array<int64_t, kMaxRank> strides;
  bool read_only = false;

  /// The number of elements.
  int64_t count() const;
  /// For messages: "float32 tensor [2, 3]".
  std::string describe() const;
};

/// Sets the view's strides to those of dense memory, `dim_order` naming the dimensions from the
/// outermost to the innermost.
void set_dense_strides(StridedView& view, const uint8_t* dim_order);

/// Whether the elements lie as a tensor of that dim order has them: dense and aligned.
bool is_dense(const StridedView& view, const uint8_t* dim_order);

/// Copies the elements to `destination`, dense in that dim order.
void copy_dense(const StridedView& view, const uint8_t* dim_order, uint8_t* destination);

}  // namespace executorch::extension::pybindings
