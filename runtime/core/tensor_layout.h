// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
#pragma once

#include <stddef.h>
#include <stdint.h>

#include <executorch/runtime/core/exec_aten/exec_aten.h>
#include <executorch/runtime/core/result.h>
#include <executorch/runtime/core/span.h>

#ifndef EXECUTORCH_OWN_SOURCES  // headers that ExecuTorch 1.4 brings here
#include <executorch/runtime/core/exec_aten/util/scalar_type_util.h>
#endif

namespace executorch {
namespace ET_RUNTIME_NAMESPACE {

/// Type and shape of a tensor without its data. The arrays it shows must outlive it.
class TensorLayout final {
 public:
  TensorLayout() = delete;

  /// InvalidArgument unless `sizes` and `dim_order` have the same length, at most 16, no size is
  /// negative, `dim_order` is a permutation, `scalar_type` is valid, and the bytes can be counted.
  static Result<const TensorLayout> create(Span<const int32_t> sizes, Span<const uint8_t> dim_order,
                                           executorch::aten::ScalarType scalar_type);

  Span<const int32_t> sizes() const { return sizes_; }
  Span<const uint8_t> dim_order() const { return dim_order_; }
  executorch::aten::ScalarType scalar_type() const { return scalar_type_; }
  /// The bytes of the tensor's data.
  size_t nbytes() const { return nbytes_; }

 private:
  TensorLayout(Span<const int32_t> sizes, Span<const uint8_t> dim_order,
               executorch::aten::ScalarType scalar_type, size_t nbytes)
      : sizes_(sizes), dim_order_(dim_order), nbytes_(nbytes), scalar_type_(scalar_type) {}

  Span<const int32_t> sizes_;
  Span<const uint8_t> dim_order_;
  size_t nbytes_;
  executorch::aten::ScalarType scalar_type_;
};

}  // namespace ET_RUNTIME_NAMESPACE
}  // namespace executorch
