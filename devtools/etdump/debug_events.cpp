// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// Recording of the values that a run computes.
#include <executorch/devtools/etdump/etdump_flatcc.h>

#include <string.h>

#include <executorch/runtime/platform/log.h>

namespace executorch::etdump {

using ET_RUNTIME_NAMESPACE::EValue;
using ET_RUNTIME_NAMESPACE::kUnsetDelegateDebugIntId;
using ET_RUNTIME_NAMESPACE::LoggedEValueType;
using executorch::aten::ArrayRef;
using executorch::aten::Tensor;
using runtime::Error;
using runtime::Result;
using runtime::Tag;

namespace {

// Kinds of Value, each with the number of its field.
constexpr RecordedValue kInt = {1, 3, 0}, kBool = {2, 6, 0}, kDouble = {4, 5, 0},
                        kTensor = {5, 1, 0}, kTensorList = {6, 2, 0};
constexpr uint32_t kValueKind = 0, kValueIsOutput = 7;

namespace debug {
constexpr uint32_t kChain = 0, kInstruction = 1, kValue = 2, kDelegateInt = 3, kDelegateText = 4;
}  // namespace debug
constexpr uint32_t kDebugEvent = 2;

constexpr size_t kMaxDimensions = 16;
constexpr size_t kTensorBytes =
    TraceTables::kMaxTableBytes + 2 * TraceTables::bytes_of(kMaxDimensions, sizeof(int64_t));

template <typename T>
Place scalar(TraceTables& tables, const TableLayout& layout, T value) {
  const Place place = tables.table(layout, 1);
  tables.set(place, layout, 0, value);
  return place;
}

}  // namespace

Result<bool> ETDumpGen::set_debug_buffer(runtime::Span<uint8_t> buffer) {
  own_sink_.emplace(ET_UNWRAP(BufferDataSink::create(buffer)));
  data_sink_ = &*own_sink_;
  return true;
}

Result<Place> ETDumpGen::tensor(const Tensor& value) {
  ET_CHECK_OR_RETURN_ERROR(data_sink_ != nullptr, InvalidState,
                           "event tracer: recording tensors requires a debug buffer "
                           "(set_debug_buffer())");
  const auto rank = static_cast<size_t>(value.dim());
  ET_CHECK_OR_RETURN_ERROR(rank <= kMaxDimensions, NotSupported,
                           "event tracer: a tensor of %zu dimensions", rank);
  const Result<size_t> offset = data_sink_->write(value.const_data_ptr(), value.nbytes());
  if (!offset.ok()) {
    return offset.error();
  }
  int64_t sizes[kMaxDimensions];
  int64_t strides[kMaxDimensions];
  for (size_t i = 0; i < rank; ++i) {
    sizes[i] = value.sizes()[i];
    strides[i] = value.strides()[i];
  }
  const Place sizes_place = tables_.longs(sizes, rank);
  const Place strides_place = tables_.longs(strides, rank);
  const Place place = tables_.table(kTensorLayout, 0xf);
  tables_.set(place, kTensorLayout, 0, static_cast<int8_t>(value.scalar_type()));
  tables_.refer(place, kTensorLayout, 1, sizes_place);
  tables_.refer(place, kTensorLayout, 2, strides_place);
  tables_.set(place, kTensorLayout, 3, static_cast<int64_t>(*offset));
  return place;
}

Result<Place> ETDumpGen::tensor_list(ArrayRef<Tensor> values) {
  // Use the free end of the event list as scratch memory.
  const size_t first = buffer_.list_size();
  for (const Tensor& value : values) {
    const Result<Place> place = tensor(value);
    if (!place.ok()) {
      buffer_.pop_to(first);
      return place.error();
    }
    buffer_.push(*place);
  }
  const Place tensors = tables_.listed_tables(first, values.size());
  buffer_.pop_to(first);
  const Place place = tables_.table(kTensorListLayout, 1);
  tables_.refer(place, kTensorListLayout, 0, tensors);
  return place;
}

Place ETDumpGen::debug_event(const DelegateId* id, Place value) {
  const bool has_number = id != nullptr && id->number != kUnsetDelegateDebugIntId;
  const Place text = id == nullptr ? 0 : id->name;
  const Place place = tables_.table(kDebugLayout, 1U << debug::kChain | 1U << debug::kInstruction |
                                                      1U << debug::kValue |
                                                      (has_number ? 1U << debug::kDelegateInt : 0) |
                                                      (text != 0 ? 1U << debug::kDelegateText : 0));
  tables_.set<uint64_t>(place, kDebugLayout, debug::kChain, static_cast<uint64_t>(chain_id_));
  tables_.set<int32_t>(place, kDebugLayout, debug::kInstruction,
                       static_cast<int32_t>(debug_handle_));
  tables_.refer(place, kDebugLayout, debug::kValue, value);
  if (has_number) {
    tables_.set<int32_t>(place, kDebugLayout, debug::kDelegateInt, id->number);
  }
  if (text != 0) {
    tables_.refer(place, kDebugLayout, debug::kDelegateText, text);
  }
  return place;
}

Result<RecordedValue> ETDumpGen::write_value(const EValue& value) {
  const auto placed = [](RecordedValue form, Place place) {
    form.place = place;
    return form;
  };
  switch (value.tag) {
    case Tag::Tensor:
      return placed(kTensor, ET_UNWRAP(tensor(value.toTensor())));
    case Tag::ListTensor:
      return placed(kTensorList, ET_UNWRAP(tensor_list(value.toTensorList())));
    case Tag::Int:
      return placed(kInt, scalar(tables_, kLongLayout, value.toInt()));
    case Tag::Double:
      return placed(kDouble, scalar(tables_, kLongLayout, value.toDouble()));
    case Tag::Bool:
      return placed(kBool, scalar(tables_, kShortLayout, static_cast<uint8_t>(value.toBool())));
    default:
      return RecordedValue{0, 0, 0};
  }
}

Result<bool> ETDumpGen::record(const Result<RecordedValue>& value, bool is_output,
                               const DelegateId* id) {
  if (value.error() == Error::OutOfResources) {
    if (dropped_++ == 0) {
      ET_LOG(Error, "event tracer: the debug buffer is full; later values are not recorded");
    }
    return false;
  }
  if (!value.ok()) {
    return value.error();
  }
  if (value->place == 0) {
    return false;
  }
  const Place flag = is_output ? scalar(tables_, kShortLayout, uint8_t{1}) : 0;
  const Place wrapper = tables_.table(
      kValueLayout, 1U << kValueKind | 1U << value->field | (is_output ? 1U << kValueIsOutput : 0));
  tables_.set(wrapper, kValueLayout, kValueKind, value->kind);
  tables_.refer(wrapper, kValueLayout, value->field, value->place);
  if (is_output) {
    tables_.refer(wrapper, kValueLayout, kValueIsOutput, flag);
  }
  push_event(kDebugEvent, debug_event(id, wrapper));
  return true;
}

bool ETDumpGen::reserve_value(size_t tensors, const char* name) {
  const size_t length = name == nullptr ? 0 : strlen(name);
  constexpr size_t kMaxTensors = UINT32_MAX / (kTensorBytes + 2 * sizeof(Place)) / 2;
  // A list of a hostile program may have more items than memory can describe.
  return blocks_ != 0 && tensors <= kMaxTensors &&
         reserve(6 * TraceTables::kMaxTableBytes + TraceTables::bytes_of(length + 1, 1) +
                 tensors * (kTensorBytes + 2 * sizeof(Place)));
}

Result<bool> ETDumpGen::log_evalue(const EValue& evalue, LoggedEValueType evalue_type) {
  if (!reserve_value(evalue.tag == Tag::ListTensor ? evalue.toTensorList().size() : 1, nullptr)) {
    return false;
  }
  return record(write_value(evalue), evalue_type == LoggedEValueType::kProgramOutput, nullptr);
}

Result<bool> ETDumpGen::is_selected(const char* name, DelegateDebugIntId number) {
  ET_CHECK_OR_RETURN_ERROR(
      (name == nullptr) != (number == kUnsetDelegateDebugIntId), InvalidArgument,
      "event tracer: a delegate's output requires exactly one of name and number");
  if (filter_ == nullptr) {
    return true;
  }
  return filter_->filter(name, number);
}

Result<bool> ETDumpGen::log_of_delegate(const char* name, DelegateDebugIntId number,
                                        const EValue& value) {
  const bool is_recorded = ET_UNWRAP(is_selected(name, number));
  if (!is_recorded || !reserve_value(1, name)) {
    return false;
  }
  const DelegateId id = delegate_id(name, number);
  return record(write_value(value), false, &id);
}

Result<bool> ETDumpGen::log_intermediate_output_delegate(const char* name,
                                                         DelegateDebugIntId delegate_debug_index,
                                                         const Tensor& output) {
  return log_of_delegate(name, delegate_debug_index, EValue(output));
}

Result<bool> ETDumpGen::log_intermediate_output_delegate(const char* name,
                                                         DelegateDebugIntId delegate_debug_index,
                                                         const ArrayRef<Tensor> output) {
  const bool is_recorded = ET_UNWRAP(is_selected(name, delegate_debug_index));
  if (!is_recorded || !reserve_value(output.size(), name)) {
    return false;
  }
  const DelegateId id = delegate_id(name, delegate_debug_index);
  Result<Place> list = tensor_list(output);
  if (!list.ok()) {
    return record(list.error(), false, &id);
  }
  RecordedValue value = kTensorList;
  value.place = *list;
  return record(value, false, &id);
}

Result<bool> ETDumpGen::log_intermediate_output_delegate(const char* name,
                                                         DelegateDebugIntId delegate_debug_index,
                                                         const int& output) {
  return log_of_delegate(name, delegate_debug_index, EValue(static_cast<int64_t>(output)));
}

Result<bool> ETDumpGen::log_intermediate_output_delegate(const char* name,
                                                         DelegateDebugIntId delegate_debug_index,
                                                         const bool& output) {
  return log_of_delegate(name, delegate_debug_index, EValue(output));
}

Result<bool> ETDumpGen::log_intermediate_output_delegate(const char* name,
                                                         DelegateDebugIntId delegate_debug_index,
                                                         const double& output) {
  return log_of_delegate(name, delegate_debug_index, EValue(output));
}

}  // namespace executorch::etdump
