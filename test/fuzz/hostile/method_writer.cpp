// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
#include <algorithm>

#include <executorch/runtime/core/exec_aten/util/dtype_info.h>

#include "fuzz/hostile/hostile_programs.h"

namespace executorch::testing {

uint64_t planned_bytes(Type type, const Sizes& sizes) {
  uint64_t bytes = runtime::elementSize(static_cast<runtime::etensor::ScalarType>(type));
  for (const int32_t size : sizes) {
    bytes = size < 0 || bytes > (1u << 20) ? 0 : bytes * static_cast<uint64_t>(size);
  }
  return bytes;
}

int32_t MethodWriter::given(Type type, Sizes sizes, Dynamism dynamism) {
  TestTensor test_tensor;
  test_tensor.type = type;
  test_tensor.dim_order.clear();
  for (size_t i = 0; i < sizes.size(); ++i) {
    test_tensor.dim_order.push_back(static_cast<uint8_t>(i));
  }
  test_tensor.sizes = std::move(sizes);
  test_tensor.dynamism = dynamism;
  return value(tensor(test_tensor));
}

int32_t MethodWriter::at(uint64_t offset, Type type, Sizes sizes, Dynamism dynamism) {
  const uint64_t bytes = planned_bytes(type, sizes);
  const int32_t id = given(type, std::move(sizes), dynamism);
  tensor_at(id).memory_id = 1;
  tensor_at(id).offset = offset;
  end_ = std::max(end_, offset + bytes);
  return id;
}

int32_t MethodWriter::planned(Type type, Sizes sizes, Dynamism dynamism) {
  return at((end_ + 15) / 16 * 16, type, std::move(sizes), dynamism);
}

int32_t MethodWriter::constant(Type type, Sizes sizes) {
  const int32_t id = given(type, std::move(sizes));
  tensor_at(id).data_buffer_idx = 1;
  return id;
}

int32_t MethodWriter::ints(const std::vector<int64_t>& numbers) {
  std::vector<int64_t> items;
  for (const int64_t number : numbers) {
    items.push_back(value(integer(number)));
  }
  return value(list(Kind::IntList, std::move(items)));
}

void MethodWriter::call(const std::string& op, std::vector<int32_t> arguments) {
  const size_t dot = op.find('.');
  const std::pair<std::string, std::string> name(
      op.substr(0, dot), dot == std::string::npos ? "" : op.substr(dot + 1));
  auto& operators = plan().operators;
  auto entry = std::find(operators.begin(), operators.end(), name);
  if (entry == operators.end()) {
    entry = operators.insert(entry, name);
  }
  code().push_back(kernel(static_cast<int32_t>(entry - operators.begin()), std::move(arguments)));
}

TestProgram MethodWriter::finish() {
  plan().buffer_sizes = {0, static_cast<int64_t>(end_)};
  return program_;
}

}  // namespace executorch::testing
