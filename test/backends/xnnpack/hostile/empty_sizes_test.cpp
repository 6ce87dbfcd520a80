// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// Nodes of every kind and precision on inputs with one size 0 and another one of 2^20, and with
// numbers that are huge: planning or computing that visits each row, window or step would run for
// minutes or without end, though there is nothing to compute.
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <map>
#include <set>
#include <utility>
#include <vector>

#include <backends/xnnpack/hostile/hostile_payloads.h>
#include <backends/xnnpack/payload/shape_rows.h>
#include <executorch/backends/xnnpack/runtime/payload/datatypes.h>
#include <executorch/backends/xnnpack/runtime/payload/node_table.h>

#include "fuzz/program/execute_program.h"
#include "runtime/log_capture.h"

namespace executorch::backends::xnnpack {
namespace {

using testing::Dynamism;
using testing::Sizes;
using testing::Type;

/// A value of the payload with this size and another one of 1 has 4 MB. Loading plans for the
/// payload's sizes and touches that memory.
constexpr uint32_t kMany = 1u << 20;

/// Changes the sizes of one operand.
using Change = std::function<void(Dims&)>;

/// A payload, and the sizes of its inputs while it runs.
struct Case {
  TestPayload payload;
  std::vector<Dims> given;
};

using fb_xnnpack::Datatype;

/// Stands for the id of a second result, of 32-bit integers.
constexpr uint32_t kPositions = kOut + 1;

/// Datatypes of computed values, and of a product's constant weights.
struct Precision {
  Datatype values, weights;
};
constexpr Precision kFloat32 = {Datatype::Float32, Datatype::Float32};

/// Nodes that take any sizes, or whose values have several datatypes.
std::vector<Row> further_rows() {
  const Dims image = {1, 6, 5, 2};
  return {
      {"Maxima",
       Kind::ArgMaxPooling2d,
       {image},
       {0, 0, 0, 0, 2, 2, 0, kOut, kPositions},
       {},
       {1, 3, 2, 2}},
      {"Selection", Kind::Select, {{2, 1}, {2, 3}, {3}}, {0, 1, 2, kOut}, {}, {2, 3}},
      {"LeakyReLUOfAMatrix", Kind::LeakyReLU, {{2, 3}}, {0, 0, kOut}, {}, {2, 3}},
      {"ELUOfAMatrix", Kind::ELU, {{2, 3}}, {0, 0, kOut}, {}, {2, 3}},
      {"PadOfNoWidth", Kind::StaticConstantPad, {{2, 3}}, {0, 0, kOut}, {{0, 0}, {0, 0}}, {2, 3}},
      {"ReshapeToARow", Kind::StaticReshape, {{2, 4}}, {2, 0, kOut}, {{1, 0}}, {1, 8}},
      {"SliceOfAll", Kind::StaticSlice, {{4, 5}}, {2, 0, kOut}, {{0, 0}, {0, 0}}, {4, 5}},
  };
}

std::vector<Row> all_rows() {
  std::vector<Row> rows;
  for (const auto& list : {elementwise_rows(), product_rows(), convolution_rows(), image_rows(),
                           move_rows(), further_rows()}) {
    for (const Row& row : list) {
      if (!row.result.empty()) rows.push_back(row);
    }
  }
  return rows;
}

/// The rows, and for each other kind those of the first kind with the same table.
std::vector<Row> rows_of_every_kind() {
  const std::vector<Row> given = all_rows();
  std::vector<Row> rows = given;
  std::set<Kind> kinds;
  for (const Row& row : given) kinds.insert(row.kind);
  for (const rows::NodeRow& node : rows::kNodes) {
    if (kinds.count(node.kind) != 0) continue;
    Kind like = Kind::NONE;
    for (const Row& row : given) {
      const rows::NodeRow& other = rows::kNodes[static_cast<size_t>(row.kind) - 1];
      if (other.layout != node.layout || (like != Kind::NONE && row.kind != like)) continue;
      like = row.kind;
      rows.push_back(row);
      rows.back().kind = node.kind;
    }
  }
  return rows;
}

Datatypes datatypes_of(Kind kind) { return rows::kNodes[static_cast<size_t>(kind) - 1].datatypes; }

bool is_product(Kind kind) {
  return datatypes_of(kind) == Datatypes::Convolution ||
         datatypes_of(kind) == Datatypes::MatrixProduct;
}

/// The value with this datatype and parameters that fit it.
TestValue typed(TestValue value, Datatype datatype, Kind kind) {
  value.datatype = datatype;
  switch (parameters_of(datatype)) {
    case fb_xnnpack::XNNQuantParams::PerTensorQuant:
      value.quantization = Quantization::Tensor;
      break;
    case fb_xnnpack::XNNQuantParams::PerChannelQuant:
      value.quantization = Quantization::Channels;
      value.quantized_dim = kind == Kind::DepthwiseConv2d ? 3 : 0;
      value.scales.assign(value.dims[static_cast<size_t>(value.quantized_dim)], 0.5f);
      break;
    case fb_xnnpack::XNNQuantParams::PerTokenDynamicQuant:
      value.quantization = Quantization::Tokens;
      value.quantized_dim = kind == Kind::FullyConnected ? 1 : 3;
      break;
    default:
      break;
  }
  return value;
}

/// The datatype of operand `index`, or of the result, which follows the operands.
Datatype datatype_at(const Row& row, size_t index, const Precision& precision) {
  const bool is_result = index == row.operands.size();
  switch (datatypes_of(row.kind)) {
    case Datatypes::Selection:
      return index == 0 ? Datatype::Bool : precision.values;
    case Datatypes::Comparison:
      return is_result ? Datatype::Bool : precision.values;
    case Datatypes::Any:
      return is_result && precision.values == Datatype::Float32 ? Datatype::QInt8
                                                                : precision.values;
    case Datatypes::Convolution:
    case Datatypes::MatrixProduct: {
      const bool is_bias = index == 2 && !is_result;
      if (is_bias) return is_byte(precision.values) ? Datatype::Int32 : Datatype::Float32;
      if (index == 1) return precision.weights;
      return is_result && precision.values == Datatype::QDInt8 ? Datatype::Float32
                                                               : precision.values;
    }
    default:
      return precision.values;
  }
}

/// Quantizes the product's first operand at run time.
void quantize_operand(TestPayload& p, Kind kind) {
  TestNode& product = p.nodes[0];
  product.numbers[kind == Kind::FullyConnected ? 0 : 15] = static_cast<uint32_t>(p.values.size());
  TestValue rows = p.values[0];
  rows.external = kNoId;
  rows.flags = 0;
  p.values[0] = with(input(0, rows.dims), Datatype::Float32);
  p.nodes.insert(p.nodes.begin(), {Kind::Convert, {0, static_cast<uint32_t>(p.values.size())}, {}});
  p.values.push_back(std::move(rows));
}

/// @param has_constants All operands but the first one are constants, which have their own sizes.
/// @param declare, shrink Give the sizes in the payload, and then those of the inputs.
Case case_of(const Row& row, bool has_constants, const Precision& precision, const Change& declare,
             const Change& shrink) {
  Case made;
  TestPayload& p = made.payload;
  p.constant_fill = 0x3f;
  for (const Dims& dims : row.operands) {
    const size_t index = p.values.size();
    const Datatype datatype = datatype_at(row, index, precision);
    if (has_constants && !p.values.empty()) {
      const uint32_t id = hostile_constant(p, dims, datatype);
      p.values[id] = typed(p.values[id], datatype, row.kind);
      continue;
    }
    Dims declared = dims, given = dims;
    declare(declared);
    shrink(given);
    p.values.push_back(typed(input(static_cast<uint32_t>(made.given.size()), std::move(declared)),
                             datatype, row.kind));
    made.given.push_back(given);
  }
  Dims result = row.declared.empty() ? row.result : row.declared;
  declare(result);
  const auto id = static_cast<uint32_t>(p.values.size());
  const auto argument = static_cast<uint32_t>(made.given.size());
  p.values.push_back(typed(output(argument, result), datatype_at(row, id, precision), row.kind));
  if (datatypes_of(row.kind) == Datatypes::MaximaAndPositions) {
    p.values.push_back(with(output(argument + 1, result), Datatype::Int32));
  }
  std::vector<uint32_t> numbers = row.numbers;
  std::replace(numbers.begin(), numbers.end(), kPositions, id + 1);
  p.nodes = {{row.kind, with_result(std::move(numbers), id), row.lists}};
  if (precision.values == Datatype::QDInt8) quantize_operand(p, row.kind);
  return made;
}

/// Returns the number of executions without an error.
size_t execute(const Case& given) {
  MethodWriter w;
  const int32_t delegate = add_delegate(w, given.payload);
  std::vector<int32_t> arguments;
  for (const TestValue& value : given.payload.values) {
    if (value.external == kNoId || value.flags != kInputFlag) continue;
    const Dims& dims = given.given[arguments.size()];
    arguments.push_back(
        w.input(w.planned(dtype_of(value.datatype), Sizes(dims.begin(), dims.end()))));
  }
  for (const TestValue& value : given.payload.values) {
    if (value.external == kNoId || value.flags != kOutputFlag) continue;
    const Sizes empty(value.dims.size(), 0);
    arguments.push_back(
        w.output(w.given(dtype_of(value.datatype), empty, Dynamism::DYNAMIC_UNBOUND)));
  }
  w.run(testing::delegate(delegate, arguments));
  const testing::ProgramFile file(w.finish());
  const std::vector<uint8_t> bytes(file.data(), file.data() + file.size());
  const LogCapture log;
  return fuzz::execute_program({bytes.data(), bytes.size()}).methods_executed;
}

/// Calls `visit` with the changes that make all sizes `many` kMany and all sizes `empty` 0 (1 in
/// the payload), and with those that do the same to dims.
void for_each_change(const Row& row,
                     const std::function<void(const Change&, const Change&)>& visit) {
  std::set<uint32_t> sizes;
  size_t rank = 0;
  for (const Dims& dims : row.operands) {
    sizes.insert(dims.begin(), dims.end());
    rank = std::max(rank, dims.size());
  }
  for (const uint32_t empty : sizes) {
    for (const uint32_t many : sizes) {
      if (empty == many) continue;
      const auto set_sizes = [=](Dims& dims, uint32_t size) {
        for (uint32_t& dim : dims) dim = dim == empty ? size : dim == many ? kMany : dim;
      };
      visit([=](Dims& dims) { set_sizes(dims, 1); }, [=](Dims& dims) { set_sizes(dims, 0); });
    }
  }
  for (size_t empty = 0; empty < rank; ++empty) {
    for (size_t many = 0; many < rank; ++many) {
      if (empty == many) continue;
      const auto set_dims = [=](Dims& dims, uint32_t size) {
        if (empty < dims.size()) dims[empty] = size;
        if (many < dims.size()) dims[many] = kMany;
      };
      visit([=](Dims& dims) { set_dims(dims, 1); }, [=](Dims& dims) { set_dims(dims, 0); });
    }
  }
}

/// The rows' executions in this precision, by kind.
std::map<Kind, size_t> execute_all(const std::vector<Row>& rows, const Precision& precision) {
  std::map<Kind, size_t> executed;
  for (const Row& row : rows) {
    for (const bool has_constants : {false, true}) {
      // Weights of other datatypes than the operand's are constant.
      if (!has_constants && precision.weights != precision.values) continue;
      for_each_change(row, [&](const Change& declare, const Change& shrink) {
        executed[row.kind] += execute(case_of(row, has_constants, precision, declare, shrink));
      });
    }
  }
  return executed;
}

TEST(EmptySizes, OfEveryKindOfNodeAreNotVisitedRowByRow) {
  const std::map<Kind, size_t> executed = execute_all(rows_of_every_kind(), kFloat32);
  for (const rows::NodeRow& node : rows::kNodes) {
    const auto found = executed.find(node.kind);
    EXPECT_TRUE(found != executed.end() && found->second > 0)
        << fb_xnnpack::EnumNameXNodeUnion(node.kind);
  }
}

TEST(EmptySizes, InEveryPrecisionAreNotVisitedRowByRow) {
  std::vector<Row> rows;
  std::set<Kind> kinds_with_a_row;
  for (Row& row : rows_of_every_kind()) {
    if (kinds_with_a_row.insert(row.kind).second) rows.push_back(std::move(row));
  }
  for (const Datatype datatype :
       {Datatype::Float16, Datatype::BFloat16, Datatype::QInt8, Datatype::QUInt8}) {
    size_t kinds = 0;
    for (const auto& [kind, times] : execute_all(rows, {datatype, datatype})) {
      kinds += times > 0 ? 1 : 0;
    }
    EXPECT_GT(kinds, 20u) << fb_xnnpack::EnumNameDatatype(datatype);
  }
}

TEST(EmptySizes, OfProductsWithQuantizedWeightsAreNotVisitedRowByRow) {
  std::vector<Row> products;
  for (const Row& row : all_rows()) {
    if (is_product(row.kind)) products.push_back(row);
  }
  for (const Precision& precision :
       {Precision{Datatype::QInt8, Datatype::QCInt8}, Precision{Datatype::QDInt8, Datatype::QCInt8},
        Precision{Datatype::QDInt8, Datatype::QCInt4},
        Precision{Datatype::Float32, Datatype::QCInt8},
        Precision{Datatype::Float32, Datatype::QCInt4}}) {
    EXPECT_GT(execute_all(products, precision)[Kind::FullyConnected], 0u)
        << fb_xnnpack::EnumNameDatatype(precision.values) << " by "
        << fb_xnnpack::EnumNameDatatype(precision.weights);
  }
}

TEST(EmptySizes, OfEveryKindOfNodeWithHugeNumbersAreNotVisitedStepByStep) {
  size_t executed = 0;
  const Change keep = [](Dims&) {};
  for (const Row& row : rows_of_every_kind()) {
    for (size_t i = 0; i < row.numbers.size(); ++i) {
      for (const uint32_t number : {1u << 28, UINT32_MAX}) {
        Row changed = row;
        changed.numbers[i] = number;
        for (size_t empty = 0; empty < row.operands[0].size(); ++empty) {
          const Change shrink = [=](Dims& dims) {
            if (empty < dims.size()) dims[empty] = 0;
          };
          for (const bool has_constants : {false, true}) {
            executed += execute(case_of(changed, has_constants, kFloat32, keep, shrink));
          }
        }
      }
    }
  }
  EXPECT_GT(executed, 200u);
}

}  // namespace
}  // namespace executorch::backends::xnnpack
