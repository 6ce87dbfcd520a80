// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// Passes on graphs with quantized values, and their clamps.
#include <gtest/gtest.h>

#include <backends/xnnpack/graph_builder.h>
#include <executorch/backends/xnnpack/runtime/graph/passes.h>
#include <executorch/backends/xnnpack/runtime/operators/operator.h>

#include <limits>

namespace executorch::backends::xnnpack {
namespace {

using Builder = GraphBuilder;

/// A value of int8, with a scale.
uint32_t bytes(Builder& b, float scale) {
  const uint32_t id = b.value(Datatype::QInt8);
  b.graph.values[id].scale = scale;
  return id;
}

uint32_t scalar(Builder& b) {
  const uint32_t id = b.constant();
  b.graph.values[id].declared = {0, {}};
  return id;
}

TEST(GraphPasses, AFunctionOfOneByteBecomesALookup) {
  Builder b;
  const uint32_t x = bytes(b, 0.1f), y = bytes(b, 0.2f), wide = b.value(), gate = b.value(),
                 sum = b.value(), product = b.value();
  b.node(NodeKind::Convert, {x}, wide);
  b.node(NodeKind::Sigmoid, {wide}, gate);
  b.node(NodeKind::Add, {gate, scalar(b)}, sum);
  b.node(NodeKind::Multiply, {wide, sum}, product);
  b.node(NodeKind::Convert, {product}, y);
  fuse_lookups(&b.graph);
  ASSERT_EQ(b.graph.nodes.size(), 1u);
  const Node& lookup = b.graph.nodes[0];
  EXPECT_EQ(lookup.fused, Fused::Lookup);
  EXPECT_EQ(lookup.operand(0), x);
  EXPECT_EQ(lookup.result(), y);
  EXPECT_EQ(b.graph.lookups[lookup.lookup].size(), 5u);
}

TEST(GraphPasses, AFunctionWithFurtherReadersOrOperandsIsNoLookup) {
  Builder b;
  const uint32_t x = bytes(b, 0.1f), other = bytes(b, 0.1f), wide = b.value(), tall = b.value(),
                 read = b.value(), sum = b.value();
  b.node(NodeKind::Convert, {x}, wide);
  b.node(NodeKind::Convert, {other}, tall);
  b.node(NodeKind::Exp, {wide}, read);
  b.node(NodeKind::Convert, {read}, bytes(b, 0.2f));
  b.node(NodeKind::Abs, {read}, b.output());
  b.node(NodeKind::Add, {wide, tall}, sum);
  b.node(NodeKind::Convert, {sum}, bytes(b, 0.2f));
  fuse_lookups(&b.graph);
  EXPECT_EQ(b.graph.nodes.size(), 7u);
  EXPECT_TRUE(b.graph.lookups.empty());
}

TEST(GraphPasses, QuantizingDequantizedValuesWithEqualParametersIsACopy) {
  Builder b;
  const uint32_t x = bytes(b, 0.1f), y = bytes(b, 0.1f), wide = b.value();
  b.node(NodeKind::Convert, {x}, wide);
  b.node(NodeKind::Abs, {wide}, b.output());
  b.node(NodeKind::Convert, {wide}, y);
  fuse_lookups(&b.graph);
  EXPECT_EQ(b.kinds(), (std::vector<NodeKind>{NodeKind::Convert, NodeKind::Abs, NodeKind::Copy}));
  EXPECT_EQ(b.graph.nodes.back().operand(0), x);
}

TEST(GraphPasses, AClampThatChangesTheScaleStays) {
  for (const float scale : {0.1f, 0.2f}) {
    Builder b;
    const uint32_t product = bytes(b, 0.1f);
    b.product(bytes(b, 0.1f), product);
    b.node(NodeKind::Clamp, {product}, bytes(b, scale)).clamp = {0, 6};
    fuse_clamps(&b.graph);
    EXPECT_EQ(b.graph.nodes.size(), scale == 0.1f ? 1u : 2u);
  }
}

TEST(GraphPasses, ALongChainOfFunctionsIsNoLookup) {
  Builder b;
  uint32_t at = b.value();
  b.node(NodeKind::Convert, {bytes(b, 0.1f)}, at);
  for (int i = 0; i < 100; ++i) {
    const uint32_t next = b.value();
    b.node(NodeKind::Abs, {at}, next);
    at = next;
  }
  b.node(NodeKind::Convert, {at}, bytes(b, 0.1f));
  fuse_lookups(&b.graph);
  EXPECT_EQ(b.graph.nodes.size(), 102u);
}

TEST(GraphPasses, SlicesReadBytesBeforeTheirDequantization) {
  Builder b;
  const uint32_t x = bytes(b, 0.1f), wide = b.value(), shaped = b.value(), part = b.value();
  b.graph.values[x].zero_point = 3;
  b.node(NodeKind::Convert, {x}, wide);
  b.node(NodeKind::StaticReshape, {wide}, shaped);
  b.node(NodeKind::StaticSlice, {shaped}, part);
  b.node(NodeKind::StaticSlice, {shaped}, b.output());
  b.node(NodeKind::Abs, {part}, b.output());
  sink_conversions(&b.graph);
  EXPECT_EQ(b.kinds(), (std::vector<NodeKind>{NodeKind::StaticReshape, NodeKind::StaticSlice,
                                              NodeKind::Convert, NodeKind::StaticSlice,
                                              NodeKind::Convert, NodeKind::Abs}));
  EXPECT_EQ(b.graph.nodes[0].operand(0), x);
  const Value& narrow = b.graph.values[b.graph.nodes[1].result()];
  EXPECT_EQ(narrow.datatype, Datatype::QInt8);
  EXPECT_EQ(narrow.scale, 0.1f);
  EXPECT_EQ(narrow.zero_point, 3);
  EXPECT_EQ(b.graph.nodes[2].result(), part);
}

TEST(GraphPasses, ADequantizationThatOtherNodesReadStaysBeforeSlices) {
  Builder b;
  const uint32_t wide = b.value();
  b.node(NodeKind::Convert, {bytes(b, 0.1f)}, wide);
  b.node(NodeKind::StaticSlice, {wide}, b.output());
  b.node(NodeKind::Abs, {wide}, b.output());
  sink_conversions(&b.graph);
  EXPECT_EQ(b.kinds(),
            (std::vector<NodeKind>{NodeKind::Convert, NodeKind::StaticSlice, NodeKind::Abs}));
}

template <typename T>
void expect_clamp(float min, float max, int expected_min, int expected_max) {
  Value result;
  result.scale = 0.5f;
  result.zero_point = 3;
  const IntegerClamp<T> clamp = quantized_clamp<T>({min, max}, result);
  EXPECT_EQ(int{clamp.min}, expected_min) << min << " to " << max;
  EXPECT_EQ(int{clamp.max}, expected_max) << min << " to " << max;
}

TEST(QuantizedClamp, OfABoundThatIsNotANumberIsTheSmallestInteger) {
  constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();
  expect_clamp<int8_t>(kNaN, kNaN, -128, -128);
  expect_clamp<int8_t>(-1, kNaN, 1, -128);
  expect_clamp<uint8_t>(kNaN, 2, 0, 7);
}

TEST(QuantizedClamp, OfInfiniteBoundsHasAllIntegers) {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  expect_clamp<int8_t>(-kInfinity, kInfinity, -128, 127);
  expect_clamp<uint8_t>(-kInfinity, kInfinity, 0, 255);
}

}  // namespace
}  // namespace executorch::backends::xnnpack
