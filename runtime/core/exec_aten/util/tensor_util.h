// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// Tensor checks for kernels outside of this project, with macros. The project's own code includes
// tensor_checks.h.
#pragma once

#include <executorch/runtime/core/exec_aten/compatibility/tensor_macros.h>
#include <executorch/runtime/core/exec_aten/compatibility/tensor_predicates.h>
#include <executorch/runtime/core/exec_aten/util/scalar_type_util.h>
#include <executorch/runtime/core/exec_aten/util/tensor_checks.h>

// Documented names of the same things.
namespace torch::executor {
using ::executorch::runtime::calculate_linear_index;
using ::executorch::runtime::coordinateToIndex;
using ::executorch::runtime::coordinateToIndexWithTrailingDimsMemo;
using ::executorch::runtime::dim_is_valid;
using ::executorch::runtime::extract_scalar_tensor;
using ::executorch::runtime::get_dim_order;
using ::executorch::runtime::getLeadingDims;
using ::executorch::runtime::getTrailingDims;
using ::executorch::runtime::indexToCoordinate;
using ::executorch::runtime::memoizeTrailingDims;
using ::executorch::runtime::nonempty_size;
using ::executorch::runtime::nonzero_dim;
using ::executorch::runtime::resize;
using ::executorch::runtime::resize_tensor;
using ::executorch::runtime::tensor_can_cast_to;
using ::executorch::runtime::tensor_dim_has_index;
using ::executorch::runtime::tensor_has_dim;
using ::executorch::runtime::tensor_has_expected_size;
using ::executorch::runtime::tensor_has_non_empty_dim;
using ::executorch::runtime::tensor_has_rank_greater_or_equal_to;
using ::executorch::runtime::tensor_has_rank_smaller_or_equal_to;
using ::executorch::runtime::tensor_has_valid_dim_order;
using ::executorch::runtime::tensor_is_bits_type;
using ::executorch::runtime::tensor_is_bool_type;
using ::executorch::runtime::tensor_is_channels_last_dim_order;
using ::executorch::runtime::tensor_is_complex_type;
using ::executorch::runtime::tensor_is_contiguous;
using ::executorch::runtime::tensor_is_default_dim_order;
using ::executorch::runtime::tensor_is_default_or_channels_last_dim_order;
using ::executorch::runtime::tensor_is_floating_type;
using ::executorch::runtime::tensor_is_integral_type;
using ::executorch::runtime::tensor_is_rank;
using ::executorch::runtime::tensor_is_real_type;
using ::executorch::runtime::tensor_is_realh_type;
using ::executorch::runtime::tensor_is_realhb_type;
using ::executorch::runtime::tensor_is_realhbbf16_type;
using ::executorch::runtime::tensor_is_realhbf16_type;
using ::executorch::runtime::tensor_is_scalar;
using ::executorch::runtime::tensor_is_type;
using ::executorch::runtime::tensors_have_same_dim_order;
using ::executorch::runtime::tensors_have_same_dtype;
using ::executorch::runtime::tensors_have_same_rank;
using ::executorch::runtime::tensors_have_same_shape;
using ::executorch::runtime::tensors_have_same_shape_and_dtype;
using ::executorch::runtime::tensors_have_same_size_at_dims;
using ::executorch::runtime::tensors_have_same_strides;
namespace internal {
using ::executorch::ET_RUNTIME_NAMESPACE::internal::copy_tensor_data;
using ::executorch::ET_RUNTIME_NAMESPACE::internal::reset_data_ptr;
using ::executorch::ET_RUNTIME_NAMESPACE::internal::set_tensor_data;
using ::executorch::ET_RUNTIME_NAMESPACE::internal::share_tensor_data;
}  // namespace internal
}  // namespace torch::executor
