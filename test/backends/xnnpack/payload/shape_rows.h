// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// Nodes of every kind, on operands that fit and on those that do not.
#pragma once

#include <stdint.h>

#include <algorithm>
#include <ostream>
#include <string>
#include <vector>

#include <backends/xnnpack/payload/payload_builder.h>

namespace executorch::backends::xnnpack {

using Kind = fb_xnnpack::XNodeUnion;
using Dims = std::vector<uint32_t>;

/// Stands for the result's id.
inline constexpr uint32_t kOut = 90;
// XNNPACK's flags of nodes.
inline constexpr uint32_t kSame = 4, kKeep = 64, kTransposed = 1;

/// A node on operands with the ids 0, 1, ...; the result follows them.
struct Row {
  std::string name;
  Kind kind;
  std::vector<Dims> operands;
  std::vector<uint32_t> numbers;
  std::vector<Dims> lists;
  /// Empty: the node is refused.
  Dims result;
  /// The declared shape; empty: that of the result, or one that fits most nodes.
  Dims declared = {};
};
inline void PrintTo(const Row& row, std::ostream* out) { *out << row.name; }

/// The numbers with `id` in place of kOut.
inline std::vector<uint32_t> with_result(std::vector<uint32_t> numbers, uint32_t id) {
  std::replace(numbers.begin(), numbers.end(), kOut, id);
  return numbers;
}

/// Padding of the four sides, window, strides, dilations, channels and groups, as in the table.
std::vector<uint32_t> window(std::vector<uint32_t> padding, Dims kernel, Dims stride, Dims dilation,
                             std::vector<uint32_t> rest);

std::vector<Row> elementwise_rows();
std::vector<Row> product_rows();
std::vector<Row> convolution_rows();
std::vector<Row> image_rows();
std::vector<Row> move_rows();

}  // namespace executorch::backends::xnnpack
