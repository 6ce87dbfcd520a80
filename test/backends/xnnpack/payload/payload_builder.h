// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// XNNPACK payloads for tests, described as data: valid ones, and ones that are wrong in one place.
#pragma once

#include <stdint.h>

#include <string>
#include <vector>

#include <executorch/backends/xnnpack/serialization/xnnpack_graph_generated.h>

namespace executorch::backends::xnnpack {

inline constexpr uint32_t kNoId = UINT32_MAX;
/// XNNPACK's flags of arguments.
inline constexpr uint32_t kInputFlag = 1, kOutputFlag = 2;

enum class Quantization : uint8_t { None, Tensor, Channels, Tokens, Groups };

struct TestValue {
  fb_xnnpack::Datatype datatype = fb_xnnpack::Datatype::Float32;
  std::vector<uint32_t> dims = {2, 4};
  /// The entry of the constant table; 0 for values that are not constant.
  uint32_t constant = 0;
  /// Its number among the arguments.
  uint32_t external = kNoId;
  uint32_t flags = 0;
  Quantization quantization = Quantization::None;
  /// The channels' dimension, or how many dimensions are quantized together.
  int32_t quantized_dim = 0;
  int32_t group = 0;
  std::vector<float> scales = {};
  uint32_t scale_buffer = 0;
  uint32_t scale_count = 0;
  /// Parameters of Quantization::Tensor.
  float scale = 0.5f;
  int32_t zero_point = 1;
  /// Added to the number of dimensions, and to the value's id, which is its index.
  int32_t wrong_rank = 0;
  int32_t wrong_id = 0;
};

/// Values of arguments.
TestValue input(uint32_t number, std::vector<uint32_t> dims);
TestValue output(uint32_t number, std::vector<uint32_t> dims);
TestValue constant(uint32_t entry, std::vector<uint32_t> dims);
TestValue with(TestValue value, fb_xnnpack::Datatype datatype);

struct TestNode {
  fb_xnnpack::XNodeUnion kind;
  /// The numbers in the fields of the node's table, in their order; fields without one are 0.
  std::vector<uint32_t> numbers;
  /// The lists among the fields.
  std::vector<std::vector<uint32_t>> lists = {};
  bool is_limited = false;
  float output_min = 0;
  float output_max = 6;
  bool full_precision = false;
};

struct TestConstant {
  uint64_t offset = 0;
  uint64_t size = 0;
  std::string name = {};
};

struct TestPayload {
  std::vector<TestValue> values;
  std::vector<TestNode> nodes;
  /// Ids of arguments; if both are empty, those of the values that have a number.
  std::vector<uint32_t> inputs = {};
  std::vector<uint32_t> outputs = {};
  int32_t wrong_arguments = 0;
  /// The first entry stands for no constant.
  std::vector<TestConstant> constants = {{}};
  size_t constant_bytes = 0;
  /// Each of these bytes.
  uint8_t constant_fill = 0;
  /// Nodes with equal lists refer to one vector.
  bool shares_lists = false;

  std::vector<uint8_t> bytes() const;
};

}  // namespace executorch::backends::xnnpack
