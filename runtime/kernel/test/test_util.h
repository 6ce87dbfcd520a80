// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// For tests of users' kernels.
#pragma once

#include <stddef.h>

#include <utility>
#include <vector>

#include <executorch/runtime/core/exec_aten/exec_aten.h>
#include <executorch/runtime/kernel/operator_registry.h>

namespace executorch::runtime::testing {

/// Writes the text of a KernelKey for tensors of these dtypes and dim orders; errors as
/// make_kernel_key_string().
inline Error make_kernel_key(
    const std::vector<std::pair<executorch::aten::ScalarType,
                                std::vector<executorch::aten::DimOrderType>>>& tensors,
    char* buf, size_t buf_size) {
  std::vector<TensorMeta> metas;
  for (const auto& [dtype, dim_order] : tensors) {
    // A TensorMeta refers to an order that it does not change.
    metas.emplace_back(dtype, Span<executorch::aten::DimOrderType>(
                                  const_cast<executorch::aten::DimOrderType*>(dim_order.data()),
                                  dim_order.size()));
  }
  return ::executorch::ET_RUNTIME_NAMESPACE::internal::make_kernel_key_string(
      Span<const TensorMeta>(metas.data(), metas.size()), buf, buf_size);
}

}  // namespace executorch::runtime::testing
