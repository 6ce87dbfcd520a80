// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
#include "fuzz/program/program_editor.h"

#include <algorithm>
#include <utility>

#include <executorch/runtime/core/portable_type/tensor_impl.h>

namespace executorch::fuzz {

using namespace executorch::testing;
using Call = fb::InstructionArguments;
using Kind = fb::KernelTypes;

namespace {

constexpr size_t kMaxBytes = 1u << 16;
constexpr size_t kConstantGap = 64;

}  // namespace

size_t bytes_of(const TestTensor& tensor) {
  const auto bytes =
      runtime::etensor::safe_nbytes(static_cast<runtime::etensor::ScalarType>(tensor.type),
                                    tensor.sizes.data(), static_cast<ssize_t>(tensor.sizes.size()));
  return bytes.ok() ? *bytes : 0;
}

int64_t odd_number(Random& random) {
  return random.one_in(3)
             ? random.pick({int64_t{-1}, int64_t{INT32_MAX}, int64_t{INT32_MIN}, INT64_MAX,
                            INT64_MIN, int64_t{1} << 32, int64_t{255}, int64_t{65536}})
             : random.between(-3, 9);
}

fb::ScalarType any_type(Random& random) {
  using Type = fb::ScalarType;
  return random.one_in(2) ? random.pick({Type::FLOAT, Type::LONG})
                          : random.pick({Type::BYTE, Type::CHAR, Type::SHORT, Type::INT, Type::LONG,
                                         Type::HALF, Type::FLOAT, Type::DOUBLE, Type::BOOL,
                                         Type::BFLOAT16, Type::UINT16, Type::UINT32});
}

std::vector<int32_t> any_sizes(Random& random) {
  std::vector<int32_t> sizes(random.one_in(16) ? 5 : random.below(5));
  for (int32_t& size : sizes) {
    size = random.one_in(24) ? 0 : static_cast<int32_t>(random.between(1, 4));
  }
  return sizes;
}

std::vector<int32_t> ProgramEditor::values_of(Kind kind) const {
  std::vector<int32_t> ids;
  for (size_t i = 0; i < plan.values.size(); ++i) {
    if (plan.values[i].kind == kind) {
      ids.push_back(static_cast<int32_t>(i));
    }
  }
  return ids;
}

std::vector<int32_t> ProgramEditor::planned() const {
  std::vector<int32_t> ids = values_of(Kind::Tensor);
  ids.erase(std::remove_if(ids.begin(), ids.end(),
                           [this](int32_t i) {
                             const size_t id = plan.values[static_cast<size_t>(i)].tensor.memory_id;
                             return id == 0 || id >= plan.buffer_sizes.size();
                           }),
            ids.end());
  return ids;
}

int32_t ProgramEditor::any(Kind kind) {
  const std::vector<int32_t> ids = values_of(kind);
  if (!ids.empty()) {
    return random.pick(ids);
  }
  if (kind == Kind::Tensor) {
    return add_tensor(any_type(random), any_sizes(random), Memory::Planned);
  }
  TestValue value;
  value.kind = kind;
  return add(std::move(value));
}

int32_t ProgramEditor::add(TestValue value) {
  plan.values.push_back(std::move(value));
  return static_cast<int32_t>(plan.values.size() - 1);
}

void ProgramEditor::set_sizes(TestTensor& tensor, std::vector<int32_t> sizes) {
  tensor.sizes = std::move(sizes);
  tensor.dim_order.resize(tensor.sizes.size());
  for (size_t d = 0; d < tensor.dim_order.size(); ++d) {
    tensor.dim_order[d] = static_cast<uint8_t>(d);
  }
  if (random.one_in(12) && tensor.dim_order.size() > 1) {
    std::swap(random.pick(tensor.dim_order), random.pick(tensor.dim_order));
  }
}

int32_t ProgramEditor::add_tensor(fb::ScalarType type, std::vector<int32_t> sizes, Memory memory) {
  TestTensor test_tensor;
  test_tensor.type = type;
  set_sizes(test_tensor, std::move(sizes));
  switch (memory) {
    case Memory::Given:
      break;
    case Memory::Planned:
      plan_alone(test_tensor);
      break;
    case Memory::Constant:
      make_constant(test_tensor);
      break;
  }
  return add(tensor(std::move(test_tensor)));
}

int32_t ProgramEditor::add_condition() {
  const int32_t id =
      add_tensor(fb::ScalarType::BOOL, {1}, random.one_in(2) ? Memory::Given : Memory::Planned);
  plan.inputs.push_back(id);
  return id;
}

void ProgramEditor::plan_alone(TestTensor& tensor) {
  if (plan.buffer_sizes.empty()) {
    plan.buffer_sizes.push_back(0);
  }
  tensor.data_buffer_idx = 0;
  tensor.memory_id = static_cast<uint32_t>(plan.buffer_sizes.size());
  tensor.offset = 0;
  plan.buffer_sizes.push_back(0);
  fit(tensor);
}

void ProgramEditor::fit(const TestTensor& tensor) {
  const size_t end = tensor.offset + bytes_of(tensor);
  if (tensor.memory_id < plan.buffer_sizes.size() && end < kMaxBytes) {
    int64_t& size = plan.buffer_sizes[tensor.memory_id];
    size = std::max(size, static_cast<int64_t>(end));
  }
}

void ProgramEditor::make_constant(TestTensor& tensor) {
  const size_t bytes = bytes_of(tensor);
  if (bytes > kMaxBytes) {
    return;
  }
  tensor.memory_id = 0;
  tensor.name.clear();
  tensor.location = fb::TensorDataLocation::SEGMENT;
  std::string data(bytes, '\0');
  for (char& byte : data) {
    byte = static_cast<char>(random.one_in(4) ? 1 : 0);
  }
  if (program.segment_data.empty() || program.constants.offsets.empty()) {
    if (program.segment_data.empty() && program.constants.offsets.empty()) {
      program.constant_buffer.resize(std::max<size_t>(program.constant_buffer.size(), 1));
      program.constant_buffer.push_back(data);
      tensor.data_buffer_idx = static_cast<uint32_t>(program.constant_buffer.size() - 1);
      return;
    }
    program.constants = {static_cast<uint32_t>(program.segments.size()), {0}};
    program.segments.emplace_back(program.segment_data.size(), 0);
    program.constant_buffer.clear();
  }
  // Move the constants' segment to the end of the file, where it can grow.
  auto& segment =
      program.segments[std::min<size_t>(program.constants.segment, program.segments.size() - 1)];
  std::string all = segment.first <= program.segment_data.size()
                        ? program.segment_data.substr(segment.first, segment.second)
                        : std::string();
  all.resize((all.size() + 2 * kConstantGap - 1) / kConstantGap * kConstantGap);
  tensor.data_buffer_idx = static_cast<uint32_t>(program.constants.offsets.size());
  program.constants.offsets.push_back(all.size());
  all += data;
  program.segment_data.resize((program.segment_data.size() + 15) / 16 * 16);
  segment = {program.segment_data.size(), all.size()};
  program.segment_data += all;
}

int32_t ProgramEditor::operator_index(const std::string& name, const std::string& overload) {
  const std::pair<std::string, std::string> wanted(name, overload);
  const auto entry = std::find(plan.operators.begin(), plan.operators.end(), wanted);
  const auto index = entry - plan.operators.begin();
  if (entry == plan.operators.end()) {
    plan.operators.push_back(wanted);
  }
  return static_cast<int32_t>(index);
}

std::vector<TestInstruction>& ProgramEditor::chain() {
  if (plan.chains.empty()) {
    plan.chains.emplace_back();
  }
  return plan.chains.front();
}

void ProgramEditor::insert(TestInstruction instruction, size_t at) {
  auto& instructions = chain();
  at = std::min(at, instructions.size());
  for (TestInstruction& other : instructions) {
    if (other.kind == Call::JumpFalseCall && other.second > static_cast<int32_t>(at) &&
        other.second < INT32_MAX) {
      ++other.second;
    }
  }
  instructions.insert(instructions.begin() + static_cast<ptrdiff_t>(at), std::move(instruction));
}

const Signature* ProgramEditor::signature_of(const TestInstruction& instruction) const {
  if (instruction.kind != Call::KernelCall ||
      static_cast<size_t>(instruction.first) >= plan.operators.size()) {
    return nullptr;
  }
  const auto& [name, overload] = plan.operators[static_cast<size_t>(instruction.first)];
  return find_signature(overload.empty() ? name : name + "." + overload);
}

}  // namespace executorch::fuzz
