// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
#include <executorch/runtime/executor/method_meta.h>

#include <string.h>

#include <executorch/runtime/core/portable_type/tensor_impl.h>
#include <executorch/runtime/executor/plan/method_layout.h>
#include <executorch/runtime/executor/plan/optional_vector.h>
#include <executorch/runtime/executor/plan/plan_values.h>
#include <executorch/runtime/executor/plan/tensor_source.h>
#include <executorch/runtime/platform/log.h>

namespace executorch {
namespace ET_RUNTIME_NAMESPACE {

namespace fb = executorch_flatbuffer;
using executorch::runtime::internal::count;
using executorch::runtime::internal::grows_unless_input;
using executorch::runtime::internal::items;
using executorch::runtime::internal::tensor_at;
using executorch::runtime::internal::tensor_source;
using executorch::runtime::internal::TensorSource;
using executorch::runtime::internal::text;
using executorch::runtime::internal::value_at;
using executorch::runtime::internal::value_count;

namespace {

std::string_view tensor_name(const fb::Tensor& tensor) {
  const fb::ExtraTensorInfo* extra = tensor.extra_tensor_info();
  return extra == nullptr ? std::string_view() : text(extra->fully_qualified_name());
}

Tag tag_of(fb::KernelTypes kind) {
  switch (kind) {
    case fb::KernelTypes::Int:
      return Tag::Int;
    case fb::KernelTypes::Bool:
      return Tag::Bool;
    case fb::KernelTypes::Double:
      return Tag::Double;
    case fb::KernelTypes::Tensor:
      return Tag::Tensor;
    case fb::KernelTypes::String:
      return Tag::String;
    case fb::KernelTypes::IntList:
      return Tag::ListInt;
    case fb::KernelTypes::DoubleList:
      return Tag::ListDouble;
    case fb::KernelTypes::BoolList:
      return Tag::ListBool;
    case fb::KernelTypes::TensorList:
      return Tag::ListTensor;
    case fb::KernelTypes::OptionalTensorList:
      return Tag::ListOptionalTensor;
    default:
      return Tag::None;
  }
}

}  // namespace

TensorInfo::TensorInfo(const fb::Tensor& tensor, bool is_output)
    : sizes_(items(tensor.sizes())),
      dim_order_(items(tensor.dim_order())),
      name_(tensor_name(tensor)),
      scalar_type_(static_cast<executorch::aten::ScalarType>(tensor.scalar_type())),
      is_unbounded_(tensor.shape_dynamism() == fb::TensorShapeDynamism::DYNAMIC_UNBOUND) {
  is_memory_planned_ = tensor_source(tensor) != TensorSource::None || (is_output && is_unbounded_);
  // The program has been verified: the bytes can be counted.
  const auto bytes = etensor::safe_nbytes(static_cast<etensor::ScalarType>(tensor.scalar_type()),
                                          sizes_.data(), static_cast<ssize_t>(sizes_.size()));
  nbytes_ = bytes.ok() ? *bytes : 0;
}

const char* MethodMeta::name() const { return text(plan_->name()); }

const fb::EValue& MethodMeta::value(Span<const int32_t> interface, size_t index) const {
  return value_at(*plan_, static_cast<size_t>(interface[index]));
}

Result<Tag> MethodMeta::tag(Span<const int32_t> interface, size_t index) const {
  ET_CHECK_OR_RETURN_ERROR(index < interface.size(), InvalidArgument,
                           "method '%s': input or output %zu of %zu", name(), index,
                           interface.size());
  return tag_of(value(interface, index).val_type());
}

Result<TensorInfo> MethodMeta::tensor_meta(Span<const int32_t> interface, size_t index) const {
  const Tag value_tag = ET_UNWRAP(tag(interface, index));
  ET_CHECK_OR_RETURN_ERROR(value_tag == Tag::Tensor, InvalidArgument,
                           "method '%s': input or output %zu has tag %u, expected a tensor", name(),
                           index, static_cast<unsigned>(value_tag));
  return TensorInfo(*value(interface, index).val_as_Tensor(),
                    interface.data() != items(plan_->inputs()).data());
}

namespace {

bool grows(const fb::Tensor* tensor) { return tensor != nullptr && grows_unless_input(*tensor); }

}  // namespace

size_t MethodMeta::num_unbounded_tensors() const {
  size_t unbounded = 0;
  for (size_t i = 0; i < value_count(*plan_); ++i) {
    unbounded += grows(tensor_at(*plan_, i)) ? 1 : 0;
  }
  for (const int32_t index : items(plan_->inputs())) {
    // A method with a repeated input does not load, but has metadata: do not count below 0.
    unbounded -= unbounded > 0 && grows(tensor_at(*plan_, static_cast<size_t>(index))) ? 1 : 0;
  }
  return unbounded;
}

size_t MethodMeta::num_inputs() const { return count(plan_->inputs()); }
Result<Tag> MethodMeta::input_tag(size_t index) const { return tag(items(plan_->inputs()), index); }
Result<TensorInfo> MethodMeta::input_tensor_meta(size_t index) const {
  return tensor_meta(items(plan_->inputs()), index);
}

size_t MethodMeta::num_outputs() const { return count(plan_->outputs()); }
Result<Tag> MethodMeta::output_tag(size_t index) const {
  return tag(items(plan_->outputs()), index);
}
Result<TensorInfo> MethodMeta::output_tensor_meta(size_t index) const {
  return tensor_meta(items(plan_->outputs()), index);
}

namespace {

/// Value `index` if it is a tensor with a name, else null.
const fb::Tensor* attribute_at(const fb::ExecutionPlan& plan, size_t index) {
  const fb::Tensor* tensor = tensor_at(plan, index);
  return tensor == nullptr || tensor_name(*tensor).empty() ? nullptr : tensor;
}

}  // namespace

size_t MethodMeta::num_attributes() const {
  size_t known = attributes_.get().second;
  if (known == 0) {
    known = 1;
    for (size_t i = 0; i < value_count(*plan_); ++i) {
      known += attribute_at(*plan_, i) != nullptr ? 1 : 0;
    }
    attributes_.set({0, known});
  }
  return known - 1;
}

Result<TensorInfo> MethodMeta::attribute_tensor_meta(size_t index) const {
  auto [value, before] = attribute_.get();
  while (before > index) {
    before -= attribute_at(*plan_, --value) != nullptr ? 1 : 0;
  }
  for (; value < value_count(*plan_); ++value) {
    const fb::Tensor* const tensor = attribute_at(*plan_, value);
    if (tensor != nullptr && before++ == index) {
      attribute_.set({value, index});
      return TensorInfo(*tensor);
    }
  }
  ET_LOG(Error, "method '%s': attribute %zu of %zu", name(), index, before);
  return Error::InvalidArgument;
}

size_t MethodMeta::num_memory_planned_buffers() const {
  // The first entry is reserved.
  const size_t sizes = count(plan_->non_const_buffer_sizes());
  return sizes == 0 ? 0 : sizes - 1;
}

Result<int64_t> MethodMeta::memory_planned_buffer_size(size_t index) const {
  ET_CHECK_OR_RETURN_ERROR(index < num_memory_planned_buffers(), InvalidArgument,
                           "method '%s': planned buffer %zu of %zu", name(), index,
                           num_memory_planned_buffers());
  return items(plan_->non_const_buffer_sizes())[index + 1];
}

bool MethodMeta::memory_planned_buffer_has_state(size_t index) const {
  constexpr size_t kWindow = SearchPosition::kHalf;
  const size_t window = index / kWindow + 1;
  auto [known, states] = states_.get();
  if (known != window) {
    states = 0;
    for (size_t i = 0; i < value_count(*plan_); ++i) {
      const fb::Tensor* tensor = tensor_at(*plan_, i);
      const fb::AllocationDetails* where = tensor == nullptr ? nullptr : tensor->allocation_info();
      // The file counts buffers from 1: those before the window become large numbers.
      const size_t bit =
          where == nullptr ? kWindow : where->memory_id() - 1 - index / kWindow * kWindow;
      if (bit < kWindow && (tensor->data_buffer_idx() > 0 || !tensor_name(*tensor).empty())) {
        states |= size_t{1} << bit;
      }
    }
    states_.set({window, states});
  }
  return (states >> index % kWindow & 1) != 0;
}

uint64_t MethodMeta::initial_state_bytes() const {
  uint64_t sum = 0;
  for (size_t i = 0; i < value_count(*plan_); ++i) {
    const fb::Tensor* const tensor = tensor_at(*plan_, i);
    if (tensor != nullptr && tensor->allocation_info() != nullptr &&
        tensor_source(*tensor) != TensorSource::Planned) {
      const uint64_t bytes = TensorInfo(*tensor).nbytes();
      sum = bytes > UINT64_MAX - sum ? UINT64_MAX : sum + bytes;
    }
  }
  return sum;
}

Result<etensor::Device> MethodMeta::memory_planned_buffer_device(size_t index) const {
  ET_CHECK_OR_RETURN_ERROR(index < num_memory_planned_buffers(), InvalidArgument,
                           "method '%s': planned buffer %zu of %zu", name(), index,
                           num_memory_planned_buffers());
  // Other devices are refused when a program is loaded.
  return etensor::Device(etensor::DeviceType::CPU, 0);
}

size_t MethodMeta::method_allocator_size() const {
  internal::MethodBlock unused;
  return internal::lay_out_method(internal::count_method(*plan_, plan_words_), nullptr, &unused);
}

bool MethodMeta::uses_backend(const char* backend_name) const {
  for (size_t i = 0; i < count(plan_->delegates()); ++i) {
    if (strcmp(text(plan_->delegates()->Get(i)->id()), backend_name) == 0) {
      return true;
    }
  }
  return false;
}

size_t MethodMeta::num_backends() const { return count(plan_->delegates()); }

Result<const char*> MethodMeta::get_backend_name(size_t index) const {
  ET_CHECK_OR_RETURN_ERROR(index < num_backends(), InvalidArgument,
                           "method '%s': backend %zu of %zu", name(), index, num_backends());
  return text(plan_->delegates()->Get(index)->id());
}

size_t MethodMeta::num_instructions() const {
  size_t instructions = 0;
  for (size_t i = 0; i < count(plan_->chains()); ++i) {
    instructions += count(plan_->chains()->Get(i)->instructions());
  }
  return instructions;
}

size_t MethodMeta::num_operators() const { return count(plan_->operators()); }

Result<OperatorName> MethodMeta::operator_name(size_t index) const {
  ET_CHECK_OR_RETURN_ERROR(index < num_operators(), InvalidArgument,
                           "method '%s': operator %zu of %zu", name(), index, num_operators());
  const fb::Operator& op = *plan_->operators()->Get(index);
  return OperatorName{text(op.name()), text(op.overload())};
}

}  // namespace ET_RUNTIME_NAMESPACE
}  // namespace executorch
