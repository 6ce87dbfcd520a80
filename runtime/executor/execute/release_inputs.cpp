// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// Memory of the caller for inputs: its end, and whether the method writes to it.
#include <string.h>

#include <executorch/runtime/core/exec_aten/util/tensor_checks.h>
#include <executorch/runtime/core/exec_aten/util/tensor_dimension_limit.h>
#include <executorch/runtime/core/exec_aten/util/tensor_rebind.h>
#include <executorch/runtime/executor/execute/release_inputs.h>
#include <executorch/runtime/executor/method.h>
#include <executorch/runtime/executor/plan/optional_vector.h>
#include <executorch/runtime/executor/plan/plan_values.h>
#include <executorch/runtime/executor/plan/tensor_source.h>
#include <executorch/runtime/platform/log.h>

namespace executorch {
namespace ET_RUNTIME_NAMESPACE {

namespace fb = executorch_flatbuffer;
using executorch::runtime::internal::items;
using executorch::runtime::internal::tensor_source;
using executorch::runtime::internal::TensorSource;

namespace internal {

Error use_planned_memory(Input& input) {
  const auto bounds = items(input.tensor->sizes());
  executorch::aten::SizesType sizes[kTensorDimensionLimit];
  for (size_t i = 0; i < bounds.size(); ++i) {
    sizes[i] = bounds[i];
  }
  ET_CHECK_OK_OR_RETURN_ERROR(
      rebind_tensor(tensor_of(input.impl), {sizes, bounds.size()}, input.planned));
  input.planned = nullptr;
  return Error::Ok;
}

}  // namespace internal

Error Method::release_inputs() {
  ET_CHECK_OK_OR_RETURN_ERROR(check_usable());
  ET_CHECK_OR_RETURN_ERROR(next_ == 0 || next_ == block_.instructions.size(), InvalidState,
                           "method '%s': an execution has begun, which uses its inputs", name());
  bool may_be_shown = false;
  for (internal::Input& input : block_.inputs) {
    if (input.tensor == nullptr) {
      continue;
    }
    const executorch::aten::Tensor own = internal::tensor_of(input.impl);
    if (input.planned != nullptr) {
      // Outputs may show the tensor with its present sizes.
      executorch::aten::SizesType present[kTensorDimensionLimit];
      const size_t rank = own.sizes().size();
      memcpy(present, own.sizes().data(), rank * sizeof(present[0]));
      ET_CHECK_OK_OR_RETURN_ERROR(internal::use_planned_memory(input));
      ET_CHECK_OK_OR_RETURN_ERROR(resize_tensor(own, {present, rank}));
      input.is_set = false;
    } else if (tensor_source(*input.tensor) == TensorSource::None) {
      internal::reset_data_ptr(own);
      input.is_set = false;
      may_be_shown = true;
    }
  }
  if (may_be_shown) {
    unbind_views(internal::kViewValue | internal::kGivenView, view_facts_.given_end);
  }
  return Error::Ok;
}

bool Method::writes_to_given_input(size_t input_idx) const {
  if (input_idx >= inputs_size()) {
    return false;
  }
  const fb::Tensor* const tensor = block_.inputs[input_idx].tensor;
  const auto value = static_cast<size_t>(items(plan_->inputs())[input_idx]);
  return tensor != nullptr && tensor_source(*tensor) == TensorSource::None &&
         (block_.flags[value] & internal::kWrittenValue) != 0;
}

}  // namespace ET_RUNTIME_NAMESPACE
}  // namespace executorch
