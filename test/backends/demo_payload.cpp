// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
#include "backends/demo_payload.h"

#include <charconv>
#include <cstring>
#include <new>
#include <string_view>

#include <executorch/runtime/core/error.h>
#include <executorch/runtime/platform/log.h>

namespace executorch::demo {
namespace {

using runtime::Error;
using runtime::MemoryAllocator;
using runtime::Result;
using runtime::Span;

struct OperationRow {
  std::string_view name;
  Operation operation;
  size_t min_operands;
  size_t max_operands;
};

constexpr OperationRow kOperations[] = {
    {"add", Operation::kAdd, 2, 2}, {"sub", Operation::kSub, 2, 2},
    {"mul", Operation::kMul, 2, 2}, {"sin", Operation::kSin, 1, 1},
    {"mm", Operation::kMm, 2, 2},   {"linear", Operation::kLinear, 2, 3},
};

bool is_ready(const Value& value) { return value.origin != Origin::kNone; }

/// Takes pieces from the front of a text; each function says whether there was such a piece.
struct Cursor {
  std::string_view rest;

  std::string_view until(char end) {
    const size_t end_at = rest.find(end);
    const std::string_view piece = rest.substr(0, end_at);
    rest.remove_prefix(end_at == std::string_view::npos ? rest.size() : end_at + 1);
    return piece;
  }
  template <typename T>
  bool number(char end, T& value) {
    const std::string_view piece = until(end);
    const auto [last, error] = std::from_chars(piece.data(), piece.data() + piece.size(), value);
    return error == std::errc() && last == piece.data() + piece.size() && !piece.empty();
  }
};

template <typename T>
bool make_list(MemoryAllocator& allocator, size_t count, Span<T>& list) {
  T* items = allocator.allocateList<T>(count);
  for (size_t i = 0; items != nullptr && i < count; ++i) {
    new (&items[i]) T();
  }
  list = Span<T>(items, items == nullptr ? 0 : count);
  return items != nullptr || count == 0;
}

class Reader {
 public:
  Reader(std::string_view text, MemoryAllocator& allocator, const runtime::NamedDataMap* named_data)
      : text_(text), allocator_(allocator), named_data_(named_data) {}

  Result<Payload*> read() {
    payload_ = allocator_.allocateInstance<Payload>();
    if (payload_ == nullptr) {
      return Error::MemoryAllocationFailed;
    }
    new (payload_) Payload();
    ET_CHECK_OK_OR_RETURN_ERROR(find_parts());
    Cursor lines{head_};
    lines.until('\n');  // the first line, which find_parts() has checked
    while (!lines.rest.empty()) {
      const std::string_view line = lines.until('\n');
      const Error error = read_line(Cursor{line});
      if (error != Error::Ok) {
        ET_LOG(Error, "demo payload: cannot use the line \"%.*s\"", static_cast<int>(line.size()),
               line.data());
        return error;
      }
    }
    for (const size_t output : payload_->outputs) {
      if (!is_ready(payload_->values[output])) {
        ET_LOG(Error, "demo payload: output %zu is never written", output);
        return Error::InvalidProgram;
      }
    }
    return payload_;
  }

 private:
  // Splits text and data, and makes lists of the right lengths.
  Error find_parts() {
    size_t values = 0, steps = 0, inputs = 0, outputs = 0, updates = 0, data_size = 0;
    Cursor lines{text_};
    const bool is_ours = lines.until('\n') == "demo 1";
    bool has_data = false;
    while (is_ours && !has_data && !lines.rest.empty()) {
      head_ = text_.substr(0, text_.size() - lines.rest.size());
      Cursor line{lines.until('\n')};
      const std::string_view kind = line.until(' ');
      values += kind == "value";
      steps += kind == "op";
      inputs += kind == "input";
      outputs += kind == "output";
      updates += kind == "update";
      has_data = kind == "data" && line.number('\n', data_size);
    }
    if (!has_data || lines.rest.size() != data_size) {
      ET_LOG(Error, "demo payload: %zu bytes that are not a payload of version 1", text_.size());
      return Error::InvalidProgram;
    }
    data_ = lines.rest;
    const bool succeeded = make_list(allocator_, values, payload_->values) &&
                           make_list(allocator_, steps, payload_->steps) &&
                           make_list(allocator_, inputs, payload_->inputs) &&
                           make_list(allocator_, outputs, payload_->outputs) &&
                           make_list(allocator_, updates, payload_->updates);
    return succeeded ? Error::Ok : Error::MemoryAllocationFailed;
  }

  Error read_line(Cursor line) {
    const std::string_view kind = line.until(' ');
    if (kind == "value") {
      return read_value(line);
    }
    if (kind == "constant") {
      return read_constant(line);
    }
    if (kind == "shared") {
      return read_shared(line);
    }
    if (kind == "op") {
      return read_step(line);
    }
    if (kind == "update") {
      return read_update(line);
    }
    size_t value = 0;
    if (!line.number(' ', value) || value >= next_value_) {
      return Error::InvalidProgram;
    }
    if (kind == "input" && !is_ready(payload_->values[value])) {
      payload_->values[value].origin = Origin::kInput;
      payload_->inputs[next_input_++] = value;
      return Error::Ok;
    }
    if (kind == "output") {
      payload_->outputs[next_output_++] = value;
      return Error::Ok;
    }
    return Error::InvalidProgram;
  }

  Error read_value(Cursor line) {
    size_t number = 0;
    if (!line.number(' ', number) || number != next_value_) {
      return Error::InvalidProgram;
    }
    Value& value = payload_->values[next_value_++];
    if (line.rest == "scalar") {
      return Error::Ok;
    }
    while (!line.rest.empty()) {
      int32_t size = 0;
      if (value.rank == kMaxRank || !line.number('x', size) || size < 0 ||
          (size > 0 && value.capacity > SIZE_MAX / sizeof(float) / static_cast<size_t>(size))) {
        return Error::InvalidProgram;
      }
      value.sizes[value.rank++] = size;
      value.capacity *= static_cast<size_t>(size);
    }
    return Error::Ok;
  }

  Error make_memory(Value& value, Origin origin = Origin::kConstant) {
    value.data = allocator_.allocateList<float>(value.capacity == 0 ? 1 : value.capacity);
    value.origin = origin;
    return value.data == nullptr ? Error::MemoryAllocationFailed : Error::Ok;
  }

  Error read_constant(Cursor line) {
    size_t number = 0, offset = 0, size = 0;
    if (!line.number(' ', number) || !line.number(' ', offset) || !line.number(' ', size) ||
        number >= next_value_ || offset > data_.size() || size > data_.size() - offset ||
        is_ready(payload_->values[number]) ||
        size != payload_->values[number].capacity * sizeof(float)) {
      return Error::InvalidProgram;
    }
    Value& value = payload_->values[number];
    ET_CHECK_OK_OR_RETURN_ERROR(make_memory(value));
    memcpy(value.data, data_.data() + offset, size);  // the payload need not be aligned
    return Error::Ok;
  }

  Error read_shared(Cursor line) {
    size_t number = 0;
    if (!line.number(' ', number) || number >= next_value_ || is_ready(payload_->values[number])) {
      return Error::InvalidProgram;
    }
    const std::string_view key = line.rest;
    Value& value = payload_->values[number];
    ET_CHECK_OK_OR_RETURN_ERROR(make_memory(value));
    const size_t size = value.capacity * sizeof(float);
    const Error error = named_data_ == nullptr ? Error::NotFound
                                               : named_data_->load_data_into(key, value.data, size);
    if (error != Error::Ok) {
      ET_LOG(Error, "demo backend: there are no %zu bytes of data named \"%.*s\"", size,
             static_cast<int>(key.size()), key.data());
    }
    return error;
  }

  // The value is a step's result: only those keep their memory to themselves.
  Error read_update(Cursor line) {
    Update& update = payload_->updates[next_update_++];
    if (!line.number(' ', update.state) || !line.number(' ', update.value) ||
        update.state >= next_value_ || update.value >= next_value_ ||
        payload_->values[update.state].origin != Origin::kConstant ||
        payload_->values[update.value].origin != Origin::kStep ||
        payload_->values[update.state].capacity != payload_->values[update.value].capacity) {
      return Error::InvalidProgram;
    }
    return Error::Ok;
  }

  Error read_step(Cursor line) {
    const std::string_view name = line.until(' ');
    const OperationRow* row = nullptr;
    for (const OperationRow& candidate : kOperations) {
      row = candidate.name == name ? &candidate : row;
    }
    if (row == nullptr) {
      ET_LOG(Error, "demo backend: there is no operation \"%.*s\"", static_cast<int>(name.size()),
             name.data());
      return Error::NotSupported;
    }
    Step& step = payload_->steps[next_step_++];
    step.operation = row->operation;
    if (!line.number(' ', step.result) || step.result >= next_value_ ||
        is_ready(payload_->values[step.result])) {
      return Error::InvalidProgram;
    }
    Cursor operands{line.until(' ')};
    while (!operands.rest.empty()) {
      size_t operand = 0;
      if (step.operand_count == row->max_operands || !operands.number(',', operand) ||
          operand >= next_value_ || !is_ready(payload_->values[operand])) {
        return Error::InvalidProgram;
      }
      step.operands[step.operand_count++] = operand;
    }
    if (step.operand_count < row->min_operands || !line.number(' ', step.alpha)) {
      return Error::InvalidProgram;
    }
    return make_memory(payload_->values[step.result], Origin::kStep);
  }

  std::string_view text_;
  MemoryAllocator& allocator_;
  const runtime::NamedDataMap* named_data_;
  std::string_view head_;
  std::string_view data_;
  Payload* payload_ = nullptr;
  size_t next_value_ = 0;
  size_t next_step_ = 0;
  size_t next_input_ = 0;
  size_t next_output_ = 0;
  size_t next_update_ = 0;
};

}  // namespace

Result<Payload*> read_payload(const void* data, size_t size, MemoryAllocator& allocator,
                              const runtime::NamedDataMap* named_data) {
  return Reader(std::string_view(static_cast<const char*>(data), size), allocator, named_data)
      .read();
}

}  // namespace executorch::demo
