// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// Bundles around test/data/peer/add.pte: two inputs of float32 [2, 3], their sum.
#pragma once

#include <string.h>

#include <algorithm>
#include <array>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include <executorch/devtools/bundled_program/schema/bundled_program_schema_generated.h>
#include <executorch/schema/program_generated.h>

#include "test_paths.h"

namespace executorch::testing {

using Numbers = std::array<float, 6>;
constexpr Numbers kOnes = {1, 1, 1, 1, 1, 1};
constexpr Numbers kUp = {0, 1, 2, 3, 4, 5};
constexpr Numbers kUpAndOne = {1, 2, 3, 4, 5, 6};

/// A tensor of a bundle. It has the bytes of `numbers`, even if they do not fit its sizes.
struct BundledTensor {
  std::vector<float> numbers;
  std::vector<int32_t> sizes = {2, 3};
  std::vector<uint8_t> dim_order = {0, 1};
  int8_t scalar_type = 6;

  BundledTensor(const Numbers& from) : numbers(from.begin(), from.end()) {}  // NOLINT: implicit
};

struct BundledCase {
  std::vector<BundledTensor> inputs;
  std::vector<BundledTensor> expected;
};

/// A bundle in memory that is aligned to 64 bytes, like a file that was mapped or read.
struct AlignedBundle {
  std::vector<uint8_t> memory;
  size_t size;

  explicit AlignedBundle(const std::vector<uint8_t>& bytes)
      : memory(bytes.size() + 64), size(bytes.size()) {
    std::copy(bytes.begin(), bytes.end(), data());
  }
  uint8_t* data() {
    return reinterpret_cast<uint8_t*>((reinterpret_cast<uintptr_t>(memory.data()) + 63) &
                                      ~uintptr_t{63});
  }
};

/// A file of test/data.
inline std::vector<uint8_t> bytes_of(const std::string& name) {
  std::ifstream file(std::string(TEST_DATA_DIR) + "/" + name, std::ios::binary);
  return std::vector<uint8_t>(std::istreambuf_iterator<char>(file),
                              std::istreambuf_iterator<char>());
}

inline std::vector<uint8_t> add_program() { return bytes_of("peer/add.pte"); }

/// The same program, which writes the sum to its second input, without planned memory.
inline std::vector<uint8_t> program_that_writes_to_its_input() {
  std::vector<uint8_t> bytes = bytes_of("peer/add_unplanned.pte");
  const auto& plan = *executorch_flatbuffer::GetProgram(bytes.data())->execution_plan()->Get(0);
  const auto* call = plan.chains()->Get(0)->instructions()->Get(0)->instr_args_as_KernelCall();
  const int32_t input = plan.inputs()->Get(1);
  auto* arguments = const_cast<flatbuffers::Vector<int32_t>*>(call->args());
  for (uint32_t i = arguments->size() - 2; i < arguments->size(); ++i) {
    arguments->Mutate(i, input);
  }
  const_cast<flatbuffers::Vector<int32_t>*>(plan.outputs())->Mutate(0, input);
  return bytes;
}

inline std::vector<uint8_t> bundle_bytes(const std::vector<BundledCase>& cases,
                                         const char* method = "forward", uint32_t version = 2,
                                         const std::vector<uint8_t>& program = add_program()) {
  namespace fb = bundled_program_flatbuffer;
  flatbuffers::FlatBufferBuilder builder;
  const auto values_of = [&](const std::vector<BundledTensor>& tensors) {
    std::vector<flatbuffers::Offset<fb::Value>> values;
    for (const BundledTensor& tensor : tensors) {
      const auto* bytes = reinterpret_cast<const uint8_t*>(tensor.numbers.data());
      builder.ForceVectorAlignment(tensor.numbers.size() * sizeof(float), 1, 16);
      const auto data = builder.CreateVector(bytes, tensor.numbers.size() * sizeof(float));
      const auto sizes = builder.CreateVector(tensor.sizes);
      const auto dim_order = builder.CreateVector(tensor.dim_order);
      const auto value_tensor = fb::CreateTensor(
          builder, static_cast<fb::ScalarType>(tensor.scalar_type), sizes, data, dim_order);
      values.push_back(fb::CreateValue(builder, fb::ValueUnion::Tensor, value_tensor.Union()));
    }
    return builder.CreateVector(values);
  };
  std::vector<flatbuffers::Offset<fb::BundledMethodTestCase>> case_offsets;
  for (const BundledCase& test_case : cases) {
    const auto inputs = values_of(test_case.inputs);
    case_offsets.push_back(
        fb::CreateBundledMethodTestCase(builder, inputs, values_of(test_case.expected)));
  }
  const auto suite = fb::CreateBundledMethodTestSuite(builder, builder.CreateString(method),
                                                      builder.CreateVector(case_offsets));
  builder.ForceVectorAlignment(program.size(), 1, 32);
  const auto program_vector = builder.CreateVector(program);
  const auto suites = builder.CreateVector(&suite, 1);
  fb::FinishBundledProgramBuffer(
      builder, fb::CreateBundledProgram(builder, version, suites, program_vector));
  return std::vector<uint8_t>(builder.GetBufferPointer(),
                              builder.GetBufferPointer() + builder.GetSize());
}

/// The inputs ones and 0 to 5; cases that expect their sum, something else, and nothing.
inline std::vector<uint8_t> three_cases() {
  return bundle_bytes({{{kOnes, kUp}, {kUpAndOne}}, {{kOnes, kUp}, {kUp}}, {{kOnes, kUp}, {}}});
}

}  // namespace executorch::testing
