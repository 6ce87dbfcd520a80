// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// The values of a method, its inputs and outputs, planned memory and delegates.
#include <algorithm>

#include <executorch/runtime/executor/plan/inlining.h>
#include <executorch/runtime/executor/plan/optional_vector.h>
#include <executorch/runtime/executor/plan/plan_values.h>
#include <executorch/runtime/executor/plan/tensor_source.h>
#include <executorch/runtime/executor/verify/program_verifier.h>
#include <executorch/runtime/platform/log.h>

namespace executorch::runtime::internal {
namespace {

namespace fb = executorch_flatbuffer;
using Kind = fb::KernelTypes;

/// Tables may share lists: charges the method's lists to the budget, which is the file's number of
/// bytes. Checking an item costs as much as two visits, and its place in the file has at least four
/// bytes.
Error spend(const fb::ExecutionPlan& plan, WorkBudget* budget) {
  const size_t sizes[] = {count(plan.non_const_buffer_sizes()), count(plan.inputs()),
                          count(plan.outputs())};
  ET_CHECK_OR_RETURN_ERROR(
      budget->spend(2 * (sizes[0] + sizes[1] + sizes[2])), InvalidProgram,
      "method '%s': lists repeat beyond the size of the file, with %zu planned buffers, %zu inputs "
      "and %zu outputs here",
      text(plan.name()), sizes[0], sizes[1], sizes[2]);
  return Error::Ok;
}

/// The bytes of a list of bools are used as bool in place.
Error verify_bools(const fb::ExecutionPlan& plan, size_t index, Span<const uint8_t> list) {
  for (const uint8_t item : list) {
    ET_CHECK_OR_RETURN_ERROR(item <= 1, InvalidProgram,
                             "method '%s', value %zu: bool %u in a list, expected 0 or 1",
                             text(plan.name()), index, static_cast<unsigned>(item));
  }
  return Error::Ok;
}

/// Checks the items of list `index`: bools, or indices of values of the kind that the list is for;
/// an optional list may also have -1 and None.
Error verify_list(const fb::ExecutionPlan& plan, size_t index, WorkBudget* budget) {
  const fb::EValue& value = value_at(plan, static_cast<size_t>(index));
  const bool is_wide = value.val_type() == Kind::IntList;
  const bool optional = value.val_type() == Kind::OptionalTensorList;
  const Kind wanted = is_wide ? Kind::Int : Kind::Tensor;
  const Span<const int32_t> list = list_items(value);
  const auto* const wide = reinterpret_cast<const int64_t*>(list.data());
  ET_CHECK_OR_RETURN_ERROR(budget->spend(list.size()), InvalidProgram,
                           "method '%s', value %zu: lists repeat beyond the size of the file",
                           text(plan.name()), index);
  if (value.val_type() == Kind::BoolList) {
    return verify_bools(plan, index, list_items<uint8_t>(value));
  }
  const size_t values = value_count(plan);
  for (size_t i = 0; i < list.size(); ++i) {
    const int64_t item = is_wide ? wide[i] : list[i];
    if (optional && item == -1) {
      continue;
    }
    // A negative index becomes a large one.
    const bool inside = static_cast<uint64_t>(item) < values;
    const Kind found = inside ? value_at(plan, static_cast<size_t>(item)).val_type() : Kind::NONE;
    ET_CHECK_OR_RETURN_ERROR(
        found == wanted || (optional && found == Kind::Null), InvalidProgram,
        "method '%s', value %zu: list item %lld of %zu values has kind %u, expected %u",
        text(plan.name()), index, static_cast<long long>(item), values,
        static_cast<unsigned>(found), static_cast<unsigned>(wanted));
  }
  return Error::Ok;
}

Error verify_value(const fb::Program& program, const fb::ExecutionPlan& plan, size_t index,
                   WorkBudget* budget, VerifiedShape* shape, size_t* longest_list) {
  const fb::EValue& value = value_at(plan, index);
  const Kind kind = value.val_type();
  if (kind == Kind::Tensor) {
    return verify_tensor(program, plan, as<fb::Tensor>(value), index, shape);
  }
  if (kind < Kind::IntList) {
    return Error::Ok;
  }
  *longest_list = std::max(*longest_list, list_size(value));
  return kind == Kind::DoubleList ? Error::Ok : verify_list(plan, index, budget);
}

Error verify_inputs(const fb::ExecutionPlan& plan, Span<const int32_t> indices) {
  const size_t values = value_count(plan);
  for (const int32_t index : indices) {
    ET_CHECK_OR_RETURN_ERROR(static_cast<uint32_t>(index) < values, InvalidProgram,
                             "method '%s', input: value %d of %zu", text(plan.name()), index,
                             values);
    // The caller's data is written to the input's memory or replaces it: an input must not have
    // data of the program.
    const fb::Tensor* tensor = tensor_at(plan, static_cast<size_t>(index));
    const TensorSource source = tensor == nullptr ? TensorSource::None : tensor_source(*tensor);
    ET_CHECK_OR_RETURN_ERROR(
        source != TensorSource::Constant && source != TensorSource::External, InvalidProgram,
        "method '%s', input: value %d is a constant, expected a tensor that can be set",
        text(plan.name()), index);
  }
  return Error::Ok;
}

Error verify_outputs(const fb::ExecutionPlan& plan) {
  const size_t values = value_count(plan);
  for (const int32_t index : items(plan.outputs())) {
    ET_CHECK_OR_RETURN_ERROR(static_cast<uint32_t>(index) < values, InvalidProgram,
                             "method '%s', output: value %d of %zu", text(plan.name()), index,
                             values);
  }
  return Error::Ok;
}

Error verify_planned_buffers(const fb::ExecutionPlan& plan) {
  const auto sizes = items(plan.non_const_buffer_sizes());
  for (size_t i = 0; i < sizes.size(); ++i) {
    ET_CHECK_OR_RETURN_ERROR(sizes[i] >= 0 && static_cast<uint64_t>(sizes[i]) <= SIZE_MAX / 2,
                             InvalidProgram, "method '%s', planned buffer %zu: %" PRId64 " bytes",
                             text(plan.name()), i, sizes[i]);
  }
  for (size_t i = 0; i < count(plan.non_const_buffer_device()); ++i) {
    const fb::NonConstBufferDevice& device = *plan.non_const_buffer_device()->Get(i);
    ET_CHECK_OR_RETURN_ERROR(static_cast<uint32_t>(device.buffer_idx()) < sizes.size(),
                             InvalidProgram, "method '%s', device of planned buffer %d of %zu",
                             text(plan.name()), device.buffer_idx(), sizes.size());
    ET_CHECK_OR_RETURN_ERROR(
        device.device_type() == fb::DeviceType::CPU, NotSupported,
        "method '%s', planned buffer %d is on device type %d, expected CPU (0)", text(plan.name()),
        device.buffer_idx(), static_cast<int>(device.device_type()));
  }
  return Error::Ok;
}

Error verify_delegate(const fb::Program& program, const fb::ExecutionPlan& plan, size_t index) {
  const fb::BackendDelegate& delegate = *plan.delegates()->Get(index);
  const fb::BackendDelegateDataReference& data = *delegate.processed();
  size_t available = 0;
  switch (data.location()) {
    case fb::DataLocation::INLINE:
      available = count(program.backend_delegate_data());
      break;
    case fb::DataLocation::SEGMENT:
      available = count(program.segments());
      break;
  }
  ET_CHECK_OR_RETURN_ERROR(data.index() < available, InvalidProgram,
                           "method '%s', delegate %zu (%s): data %u of %zu at location %d",
                           text(plan.name()), index, text(delegate.id()), data.index(), available,
                           static_cast<int>(data.location()));
  return Error::Ok;
}

}  // namespace

Error verify_plan(const fb::Program& program, const fb::ExecutionPlan& plan,
                  ProgramBudget* budget) {
  ET_CHECK_OK_OR_RETURN_ERROR(spend(plan, budget));
  ET_CHECK_OK_OR_RETURN_ERROR(verify_planned_buffers(plan));
  const size_t values = value_count(plan);
  VerifiedShape shape;
  size_t longest_list = 0;
  const auto inputs = items(plan.inputs());
  size_t verified = 0;
  for (size_t i = 0; i < values; ++i) {
    ET_CHECK_OK_OR_RETURN_ERROR(verify_value(program, plan, i, budget, &shape, &longest_list));
    // Inputs are often in the order of values: the next one is read while it is in the cache.
    if (ET_SHORTCUTS && verified < inputs.size() && static_cast<size_t>(inputs[verified]) == i) {
      ET_CHECK_OK_OR_RETURN_ERROR(verify_inputs(plan, {&inputs[verified++], 1}));
    }
  }
  ET_CHECK_OK_OR_RETURN_ERROR(
      verify_inputs(plan, {inputs.data() + verified, inputs.size() - verified}));
  ET_CHECK_OK_OR_RETURN_ERROR(verify_outputs(plan));
  for (size_t i = 0; i < count(plan.delegates()); ++i) {
    ET_CHECK_OK_OR_RETURN_ERROR(verify_delegate(program, plan, i));
  }
  return verify_instructions(plan, longest_list, budget);
}

}  // namespace executorch::runtime::internal
