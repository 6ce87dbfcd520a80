// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// Inputs and outputs of a method.
#include <executorch/runtime/core/exec_aten/util/dim_order_util.h>
#include <executorch/runtime/core/exec_aten/util/dtype_info.h>
#include <executorch/runtime/core/exec_aten/util/tensor_checks.h>
#include <executorch/runtime/core/exec_aten/util/tensor_rebind.h>
#include <executorch/runtime/core/exec_aten/util/tensor_shape_to_c_string.h>
#include <executorch/runtime/executor/execute/release_inputs.h>
#include <executorch/runtime/executor/execute/unaliased_values.h>
#include <executorch/runtime/executor/method.h>
#include <executorch/runtime/executor/plan/optional_vector.h>
#include <executorch/runtime/executor/plan/plan_values.h>
#include <executorch/runtime/executor/plan/tensor_source.h>
#include <executorch/runtime/kernel/platform_memory_allocator.h>
#include <executorch/runtime/platform/log.h>

namespace executorch {
namespace ET_RUNTIME_NAMESPACE {

namespace fb = executorch_flatbuffer;
namespace et = executorch::aten;
using executorch::runtime::internal::count;
using executorch::runtime::internal::grows_unless_input;
using executorch::runtime::internal::items;
using executorch::runtime::internal::tensor_at;
using executorch::runtime::internal::tensor_source;
using executorch::runtime::internal::TensorSource;

namespace {

bool is_dynamic(const fb::Tensor& tensor) {
  return tensor.shape_dynamism() != fb::TensorShapeDynamism::STATIC;
}

/// Returns true if the dimension accepts any size: the file of an unbounded tensor has 0 there.
bool has_no_bound(const fb::Tensor& tensor, size_t dim) {
  return tensor.shape_dynamism() == fb::TensorShapeDynamism::DYNAMIC_UNBOUND &&
         items(tensor.sizes())[dim] == 0;
}

/// Returns true if the tensor's elements are contiguous in this dim order.
bool is_dense(const et::Tensor& tensor, Span<const uint8_t> dim_order) {
  auto strides = tensor.strides();
  et::StridesType implied[kTensorDimensionLimit];
  // Without strides, the elements are dense in the tensor's own dim order, or in the default one if
  // it has none.
  if (strides.empty()) {
    et::DimOrderType own_order[kTensorDimensionLimit];
    const size_t rank = dim_order.size();
    if (get_dim_order(tensor, own_order, rank) != Error::Ok ||
        dim_order_to_stride(tensor.sizes().data(), own_order, rank, implied) != Error::Ok) {
      return false;
    }
    strides = {implied, rank};
  }
  int64_t expected = 1;
  for (size_t i = dim_order.size(); i-- > 0;) {
    const size_t dim = dim_order[i];
    const int64_t size = tensor.sizes()[dim];
    // The stride of a dimension of size 0 or 1 is never used.
    if (size > 1 && strides[dim] != expected) {
      return tensor.numel() == 0;
    }
    expected *= size > 1 ? size : 1;
  }
  return true;
}

bool same_double(double a, double b) { return a == b || (a != a && b != b); }

bool same_value(const EValue& a, const EValue& b) {
  switch (a.tag) {
    case Tag::None:
      return true;
    case Tag::Int:
      return a.toInt() == b.toInt();
    case Tag::Bool:
      return a.toBool() == b.toBool();
    case Tag::Double:
      return same_double(a.toDouble(), b.toDouble());
    case Tag::String:
      return a.toString() == b.toString();
    default:
      return false;
  }
}

}  // namespace

Error Method::check_tensor_input(const internal::Input& input, size_t index,
                                 const et::Tensor& given) const {
  const fb::Tensor& wanted = *input.tensor;
  const auto type = static_cast<et::ScalarType>(wanted.scalar_type());
  ET_CHECK_OR_RETURN_ERROR(given.scalar_type() == type, InvalidArgument,
                           "method '%s', input %zu: dtype %s, expected %s", name(), index,
                           toString(given.scalar_type()), toString(type));
  const auto sizes = items(wanted.sizes());
  bool fits = given.sizes().size() == sizes.size();
  for (size_t i = 0; fits && i < sizes.size(); ++i) {
    const auto size = static_cast<int64_t>(given.sizes()[i]);
    fits = is_dynamic(wanted) ? size <= sizes[i] || has_no_bound(wanted, i) : size == sizes[i];
  }
  ET_CHECK_OR_RETURN_ERROR(
      fits, InvalidArgument, "method '%s', input %zu: sizes %s, expected %s%s", name(), index,
      tensor_shape_to_c_string(
          Span<const et::SizesType>(given.sizes().data(), given.sizes().size()))
          .data(),
      is_dynamic(wanted) ? "at most " : "", tensor_shape_to_c_string(sizes).data());
  ET_CHECK_OR_RETURN_ERROR(
      is_dense(given, items(wanted.dim_order())), InvalidArgument,
      "method '%s', input %zu: not contiguous in the dim order that the program expects (%s)",
      name(), index,
      is_contiguous_dim_order(items(wanted.dim_order()).data(), sizes.size()) ? "the default one"
                                                                              : "not the default");
  ET_CHECK_OR_RETURN_ERROR(given.const_data_ptr() != nullptr || given.numel() == 0, InvalidArgument,
                           "method '%s', input %zu: a tensor without memory", name(), index);
  return Error::Ok;
}

Error Method::set_tensor_input(internal::Input& input, size_t index, const et::Tensor& given) {
  ET_CHECK_OK_OR_RETURN_ERROR(check_tensor_input(input, index, given));
  const et::Tensor own = internal::tensor_of(input.impl);
  if (input.planned != nullptr) {
    ET_CHECK_OK_OR_RETURN_ERROR(internal::use_planned_memory(input));
  }
  if (tensor_source(*input.tensor) != TensorSource::None) {
    ET_CHECK_OK_OR_RETURN_ERROR(resize_tensor(own, given.sizes()));
    return internal::copy_tensor_data(own, given);
  }
  // The caller's memory has room for the given sizes only.
  return internal::rebind_tensor(own, given.sizes(), given.mutable_data_ptr());
}

Error Method::check_constant_input(const internal::Input& input, size_t index,
                                   const EValue& given) const {
  ET_CHECK_OR_RETURN_ERROR(given.tag == input.value->tag, InvalidArgument,
                           "method '%s', input %zu: a value of tag %u, expected tag %u", name(),
                           index, static_cast<unsigned>(given.tag),
                           static_cast<unsigned>(input.value->tag));
  ET_CHECK_OR_RETURN_ERROR(same_value(*input.value, given), InvalidArgument,
                           "method '%s', input %zu: another value than the one that the program "
                           "was exported with",
                           name(), index);
  return Error::Ok;
}

Error Method::check_input(size_t index) const {
  ET_CHECK_OK_OR_RETURN_ERROR(check_usable());
  ET_CHECK_OR_RETURN_ERROR(index < inputs_size(), InvalidArgument, "method '%s': input %zu of %zu",
                           name(), index, inputs_size());
  ET_CHECK_OR_RETURN_ERROR(!in_progress(), InvalidState,
                           "method '%s', input %zu: step() has begun an execution", name(), index);
  return Error::Ok;
}

Error Method::clear_input(size_t input_idx) {
  ET_CHECK_OK_OR_RETURN_ERROR(check_input(input_idx));
  internal::Input& input = block_.inputs[input_idx];
  input.is_set = input.tensor == nullptr;
  return Error::Ok;
}

Error Method::set_input(const EValue& input_evalue, size_t input_idx) {
  ET_CHECK_OK_OR_RETURN_ERROR(check_input(input_idx));
  internal::Input& input = block_.inputs[input_idx];
  if (input.tensor == nullptr) {
    return check_constant_input(input, input_idx, input_evalue);
  }
  ET_CHECK_OR_RETURN_ERROR(input_evalue.isTensor(), InvalidArgument,
                           "method '%s', input %zu: a value of tag %u, expected a tensor", name(),
                           input_idx, static_cast<unsigned>(input_evalue.tag));
  ET_CHECK_OK_OR_RETURN_ERROR(set_tensor_input(input, input_idx, input_evalue.toTensor()));
  *input.value = EValue(internal::tensor_of(input.impl));
  input.is_set = true;
  return Error::Ok;
}

bool Method::is_unaliased(size_t value, uint8_t flag) const {
  if (parametric_plan_.exists()) {
    return false;
  }
  if (!cache_.unaliased_are_marked) {
    internal::PlatformMemoryAllocator platform;
    MemoryAllocator& temp = temp_allocator_ != nullptr ? *temp_allocator_ : platform;
    cache_.unaliased_are_marked =
        internal::mark_unaliased_values(*plan_, block_, temp) == Error::Ok;
    temp.reset();
  }
  return (block_.flags[value] & flag) != 0;
}

bool Method::is_input_unaliased(size_t input_idx) const {
  return input_idx < inputs_size() &&
         is_unaliased(static_cast<size_t>(items(plan_->inputs())[input_idx]),
                      internal::kUnaliasedInput);
}

Error Method::bind_input_data(const EValue& input_evalue, size_t input_idx) {
  ET_CHECK_OK_OR_RETURN_ERROR(check_input(input_idx));
  internal::Input& input = block_.inputs[input_idx];
  // An input that is bound already has passed this check.
  const bool can_bind = input.planned != nullptr || is_input_unaliased(input_idx);
  ET_CHECK_OR_RETURN_ERROR(can_bind, InvalidState,
                           "method '%s': input %zu cannot be bound, because "
                           "is_input_unaliased() is false; use set_input()",
                           name(), input_idx);
  ET_CHECK_OR_RETURN_ERROR(input_evalue.isTensor(), InvalidArgument,
                           "method '%s', input %zu: a value of tag %u, expected a tensor", name(),
                           input_idx, static_cast<unsigned>(input_evalue.tag));
  const et::Tensor& given = input_evalue.toTensor();
  ET_CHECK_OK_OR_RETURN_ERROR(check_tensor_input(input, input_idx, given));
  const et::Tensor own = internal::tensor_of(input.impl);
  void* const planned = input.planned != nullptr ? input.planned : own.mutable_data_ptr();
  ET_CHECK_OK_OR_RETURN_ERROR(
      internal::rebind_tensor(own, given.sizes(), given.mutable_data_ptr()));
  input.planned = planned;
  *input.value = EValue(own);
  input.is_set = true;
  return Error::Ok;
}

Error Method::set_inputs(const et::ArrayRef<EValue>& input_evalues) {
  ET_CHECK_OK_OR_RETURN_ERROR(check_usable());
  ET_CHECK_OR_RETURN_ERROR(input_evalues.size() == inputs_size(), InvalidArgument,
                           "method '%s': %zu inputs, expected %zu", name(), input_evalues.size(),
                           inputs_size());
  for (size_t i = 0; i < input_evalues.size(); ++i) {
    ET_CHECK_OK_OR_RETURN_ERROR(set_input(input_evalues[i], i));
  }
  return Error::Ok;
}

size_t Method::outputs_size() const { return program_ == nullptr ? 0 : count(plan_->outputs()); }

EValue& Method::output(size_t index) const {
  return block_.values[static_cast<size_t>(items(plan_->outputs())[index])];
}

const EValue& Method::get_output(size_t i) const {
  ET_CHECK_MSG(i < outputs_size(), "method '%s': output %zu of %zu", name(), i, outputs_size());
  return output(i);
}

const EValue& Method::get_input(size_t i) const {
  ET_CHECK_MSG(i < inputs_size(), "method '%s': input %zu of %zu", name(), i, inputs_size());
  return *block_.inputs[i].value;
}

Error Method::get_outputs(EValue* output_evalues, size_t length) {
  ET_CHECK_OK_OR_RETURN_ERROR(check_usable());
  ET_CHECK_OR_RETURN_ERROR(output_evalues != nullptr || length == 0, InvalidArgument,
                           "method '%s': no array for %zu outputs", name(), length);
  ET_CHECK_OR_RETURN_ERROR(length >= outputs_size(), InvalidArgument,
                           "method '%s': room for %zu outputs, expected %zu", name(), length,
                           outputs_size());
  for (size_t i = 0; i < length; ++i) {
    output_evalues[i] = i < outputs_size() ? output(i) : EValue();
  }
  return Error::Ok;
}

Error Method::get_inputs(EValue* input_evalues, size_t length) {
  ET_CHECK_OK_OR_RETURN_ERROR(check_usable());
  ET_CHECK_OR_RETURN_ERROR(input_evalues != nullptr || length == 0, InvalidArgument,
                           "method '%s': no array for %zu inputs", name(), length);
  ET_CHECK_OR_RETURN_ERROR(length >= inputs_size(), InvalidArgument,
                           "method '%s': room for %zu inputs, expected %zu", name(), length,
                           inputs_size());
  for (size_t i = 0; i < length; ++i) {
    input_evalues[i] = i < inputs_size() ? *block_.inputs[i].value : EValue();
  }
  return Error::Ok;
}

Error Method::check_output(size_t index) const {
  ET_CHECK_OK_OR_RETURN_ERROR(check_usable());
  ET_CHECK_OR_RETURN_ERROR(index < outputs_size(), InvalidArgument,
                           "method '%s': output %zu of %zu", name(), index, outputs_size());
  return Error::Ok;
}

Error Method::set_output_data_ptr(void* buffer, size_t size, size_t output_idx) {
  ET_CHECK_OK_OR_RETURN_ERROR(check_output(output_idx));
  const auto index = items(plan_->outputs())[output_idx];
  const fb::Tensor* tensor = tensor_at(*plan_, static_cast<size_t>(index));
  ET_CHECK_OR_RETURN_ERROR(tensor != nullptr, InvalidType,
                           "method '%s': output %zu is not a tensor", name(), output_idx);
  ET_CHECK_OR_RETURN_ERROR(tensor_source(*tensor) == TensorSource::None, InvalidState,
                           "method '%s': output %zu has planned memory", name(), output_idx);
  const bool is_input = (block_.flags[static_cast<size_t>(index)] & internal::kInputValue) != 0;
  ET_CHECK_OR_RETURN_ERROR(is_input || !grows_unless_input(*tensor), InvalidState,
                           "method '%s': output %zu is unbounded, so the dynamic allocator "
                           "provides its memory",
                           name(), output_idx);
  return give_output_memory(buffer, size, output_idx);
}

bool Method::is_output_unaliased(size_t output_idx) const {
  return output_idx < outputs_size() &&
         is_unaliased(static_cast<size_t>(items(plan_->outputs())[output_idx]),
                      internal::kUnaliasedOutput);
}

Error Method::replace_output_data_ptr(void* buffer, size_t size, size_t output_idx) {
  ET_CHECK_OK_OR_RETURN_ERROR(check_output(output_idx));
  ET_CHECK_OR_RETURN_ERROR(is_output_unaliased(output_idx), InvalidState,
                           "method '%s': the memory of output %zu cannot be replaced, because "
                           "is_output_unaliased() is false",
                           name(), output_idx);
  return give_output_memory(buffer, size, output_idx);
}

et::Tensor Method::own_output(size_t index) const {
  const auto value = static_cast<size_t>(items(plan_->outputs())[index]);
  if ((block_.flags[value] & internal::kMovedValue) == 0) {
    return block_.values[value].toTensor();
  }
  // Queries in the order of the outputs' values, or in reverse, share one walk.
  for (; cache_.counted_values < value; ++cache_.counted_values) {
    cache_.counted_tensors += tensor_at(*plan_, cache_.counted_values) != nullptr ? 1 : 0;
  }
  for (; cache_.counted_values > value; --cache_.counted_values) {
    cache_.counted_tensors -= tensor_at(*plan_, cache_.counted_values - 1) != nullptr ? 1 : 0;
  }
  return internal::tensor_in(block_.tensors[cache_.counted_tensors]);
}

Error Method::give_output_memory(void* buffer, size_t size, size_t output_idx) {
  const et::Tensor own = own_output(output_idx);
  const size_t element = elementSize(own.scalar_type());
  const size_t capacity = internal::capacity_bytes(own);
  ET_CHECK_OR_RETURN_ERROR(size >= capacity, InvalidArgument,
                           "method '%s', output %zu: memory of %zu bytes, expected %zu", name(),
                           output_idx, size, capacity);
  ET_CHECK_OR_RETURN_ERROR(buffer != nullptr || capacity == 0, InvalidArgument,
                           "method '%s', output %zu: no memory", name(), output_idx);
  ET_CHECK_OR_RETURN_ERROR(reinterpret_cast<uintptr_t>(buffer) % element == 0, InvalidArgument,
                           "method '%s', output %zu: memory at %p is not aligned to its elements",
                           name(), output_idx, buffer);
  return internal::set_tensor_data(own, buffer, size);
}

}  // namespace ET_RUNTIME_NAMESPACE
}  // namespace executorch
