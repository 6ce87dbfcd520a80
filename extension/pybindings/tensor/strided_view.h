// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// A view of another library's tensor in any layout, and its copy to a dense layout.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include <executorch/extension/pybindings/tensor/element_types.h>
#include <executorch/runtime/core/exec_aten/util/tensor_dimension_limit.h>

namespace executorch::extension::pybindings {

constexpr size_t kMaxRank = runtime::kTensorDimensionLimit;

/// Does not own the elements: the creator of the view keeps them alive.
struct StridedView {
  const uint8_t* data = nullptr;
  const ElementTypeInfo* type = nullptr;
  size_t rank = 0;
  std::array<int64_t, kMaxRank> sizes;
  /// In bytes; of any sign, and not always a multiple of the element's size.
  std::array<int64_t, kMaxRank> strides;
  bool read_only = false;

  /// The number of elements; wrong if it overflows, which checked_bytes() finds.
  int64_t count() const;
  /// Bytes of the elements; none if their number overflows, or a size is negative or above 2^31
  /// - 1. An expanded tensor may have any sizes.
  std::optional<size_t> checked_bytes() const;
  /// For messages: "float32 tensor [2, 3]".
  std::string describe() const;
};

/// Sizes and strides come from other libraries and may be any numbers until checked_bytes().
inline int64_t wrapping_product(int64_t a, int64_t b) {
  return static_cast<int64_t>(static_cast<uint64_t>(a) * static_cast<uint64_t>(b));
}

/// Sets the view's strides to those of dense memory. `dim_order` lists the dimensions from the
/// outermost to the innermost.
void set_dense_strides(StridedView& view, const uint8_t* dim_order);

/// True if the elements are aligned and dense in that dim order.
bool is_dense(const StridedView& view, const uint8_t* dim_order);

/// Copies the elements to `destination`, dense in that dim order.
void copy_dense(const StridedView& view, const uint8_t* dim_order, uint8_t* destination);

}  // namespace executorch::extension::pybindings
