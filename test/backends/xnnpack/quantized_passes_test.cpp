// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// Passes on graphs with quantized values.
#include <gtest/gtest.h>

#include <backends/xnnpack/graph_builder.h>
#include <executorch/backends/xnnpack/runtime/graph/passes.h>

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

}  // namespace
}  // namespace executorch::backends::xnnpack
