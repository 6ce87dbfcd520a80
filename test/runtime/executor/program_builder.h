// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// Programs for tests, described as data: valid ones, and ones that are wrong in one place.
#pragma once

#include <stddef.h>
#include <stdint.h>

#include <string>
#include <utility>
#include <vector>

#include <executorch/schema/program_generated.h>

namespace executorch::testing {

namespace fb = executorch_flatbuffer;

struct TestTensor {
  fb::ScalarType type = fb::ScalarType::FLOAT;
  std::vector<int32_t> sizes = {2};
  std::vector<uint8_t> dim_order = {0};
  uint32_t data_buffer_idx = 0;
  /// 0: no planned memory.
  uint32_t memory_id = 0;
  uint64_t offset = 0;
  fb::TensorShapeDynamism dynamism = fb::TensorShapeDynamism::STATIC;
  int32_t storage_offset = 0;
  int8_t layout = 0;
  /// With a name, or any of the others, there is an ExtraTensorInfo.
  std::string name;
  fb::TensorDataLocation location = fb::TensorDataLocation::SEGMENT;
  uint64_t mutable_segment = 0;
  fb::DeviceType device = fb::DeviceType::CPU;
};

struct TestValue {
  fb::KernelTypes kind = fb::KernelTypes::Null;
  int64_t number = 0;
  double real = 0;
  std::string string;
  /// The items of a list.
  std::vector<int64_t> list;
  std::vector<double> reals;
  TestTensor tensor;
};

TestValue none();
TestValue integer(int64_t number);
TestValue boolean(bool value);
TestValue real(double number);
TestValue string(std::string text);
TestValue list(fb::KernelTypes kind, std::vector<int64_t> items);
TestValue tensor(TestTensor tensor);
/// A float tensor of that many elements in planned buffer 1.
TestValue planned(int32_t elements, uint64_t offset);

struct TestInstruction {
  fb::InstructionArguments kind;
  /// Operator, delegate, source, condition or freed value.
  int32_t first;
  /// Destination of a move or jump.
  int32_t second = 0;
  std::vector<int32_t> arguments;
};

TestInstruction kernel(int32_t op, std::vector<int32_t> arguments);
TestInstruction delegate(int32_t index, std::vector<int32_t> arguments);
TestInstruction move(int32_t from, int32_t to);
TestInstruction jump_false(int32_t condition, int32_t destination);
TestInstruction free_value(int32_t value);

struct TestDelegate {
  std::string id;
  fb::DataLocation location = fb::DataLocation::INLINE;
  uint32_t index = 0;
  std::vector<std::pair<std::string, std::string>> compile_specs = {};
};

struct TestPlan {
  std::string name = "forward";
  std::vector<TestValue> values;
  std::vector<int32_t> inputs;
  std::vector<int32_t> outputs;
  /// Name and overload.
  std::vector<std::pair<std::string, std::string>> operators;
  /// One list a chain.
  std::vector<std::vector<TestInstruction>> chains;
  std::vector<TestDelegate> delegates;
  std::vector<int64_t> buffer_sizes = {0, 64};
  std::vector<std::pair<int32_t, fb::DeviceType>> devices;
};

struct TestSegments {
  uint32_t segment = 0;
  std::vector<uint64_t> offsets;
};

struct TestProgram {
  uint32_t version = 0;
  std::vector<TestPlan> plans;
  std::vector<std::string> constant_buffer;
  std::vector<std::string> inline_data;
  /// Offset and size.
  std::vector<std::pair<uint64_t, uint64_t>> segments;
  TestSegments constants;
  std::vector<TestSegments> mutable_data;
  std::vector<std::pair<std::string, uint32_t>> named_data;
  /// Contents of the segments; if not empty, the file has an extended header.
  std::string segment_data;
  /// Bytes of that header: 32 or, as in older files, 24.
  uint32_t header_length = 32;
};

/// The file, aligned to 16 bytes.
class ProgramFile final {
 public:
  explicit ProgramFile(const TestProgram& program);
  /// A copy of these bytes.
  explicit ProgramFile(const std::string& bytes);

  uint8_t* data() { return reinterpret_cast<uint8_t*>(memory_.data()); }
  const uint8_t* data() const { return reinterpret_cast<const uint8_t*>(memory_.data()); }
  size_t size() const { return size_; }

 private:
  struct alignas(16) Block {
    uint8_t bytes[16];
  };
  std::vector<Block> memory_;
  size_t size_;
};

/// Parts of the first method.
inline TestPlan& plan(TestProgram& program) { return program.plans[0]; }
inline std::vector<TestInstruction>& code(TestProgram& program) { return plan(program).chains[0]; }
inline TestTensor& tensor_of(TestProgram& program, int32_t value) {
  return plan(program).values[static_cast<size_t>(value)].tensor;
}

/// "forward": two inputs of 2 floats, planned; test::add.out adds them to an output at its own
/// place.
TestProgram add_program();

}  // namespace executorch::testing
