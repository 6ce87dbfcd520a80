// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// Passes on small graphs.
#include <gtest/gtest.h>

#include <ctime>
#include <vector>

#include <backends/xnnpack/graph_builder.h>
#include <executorch/backends/xnnpack/runtime/graph/passes.h>
#include <executorch/backends/xnnpack/runtime/operators/families.h>
#include <executorch/backends/xnnpack/runtime/operators/operator_table.h>
#include <executorch/backends/xnnpack/runtime/payload/node_table.h>
#include <executorch/runtime/platform/runtime.h>

namespace executorch::backends::xnnpack {
namespace {

using Builder = GraphBuilder;
using kernels::engine::Activation;
using kernels::engine::Precision;
using runtime::Error;

bool is_product(const Node& node) { return node.kind == NodeKind::FullyConnected; }

TEST(GraphPasses, AnAdditionAndItsClampBecomePartOfTheProductBeforeThem) {
  Builder b;
  const uint32_t x = b.input(), y = b.output(), product = b.value();
  b.product(x, product);
  b.node(NodeKind::Add, {x, product}, y).clamp = {0, 6};
  fuse_epilogues(&b.graph, is_product);
  ASSERT_EQ(b.kinds(), std::vector<NodeKind>{NodeKind::FullyConnected});
  const Node& fused = b.graph.nodes[0];
  EXPECT_EQ(fused.residual, x);
  EXPECT_EQ(fused.unfused, product);
  EXPECT_EQ(fused.result(), y);
  EXPECT_EQ(fused.clamp.max, 6);
}

TEST(GraphPasses, AnAdditionBehindAClampStays) {
  Builder b;
  const uint32_t x = b.input(), y = b.output(), product = b.value();
  b.product(x, product).clamp = {0, 6};
  b.node(NodeKind::Add, {x, product}, y);
  fuse_epilogues(&b.graph, is_product);
  EXPECT_EQ(b.graph.nodes.size(), 2u);
}

TEST(GraphPasses, AnActivationBecomesPartOfTheProductThatNothingElseReads) {
  Builder b;
  const uint32_t x = b.input(), y = b.output(), other = b.output(), first = b.value(),
                 second = b.value();
  b.product(x, first);
  b.node(NodeKind::Gelu, {first}, y);
  b.product(x, second);
  b.node(NodeKind::Tanh, {second}, b.value());
  b.node(NodeKind::Abs, {second}, other);
  fuse_epilogues(&b.graph, is_product);
  EXPECT_EQ(b.kinds(), (std::vector<NodeKind>{NodeKind::FullyConnected, NodeKind::FullyConnected,
                                              NodeKind::Tanh, NodeKind::Abs}));
  EXPECT_EQ(b.graph.nodes[0].activation, Activation::Gelu);
  EXPECT_EQ(b.graph.nodes[0].result(), y);
  EXPECT_EQ(b.graph.nodes[1].activation, Activation::None);
}

TEST(GraphPasses, TheSumOfTwoProductsIsComputedByTheSecond) {
  Builder b;
  const uint32_t x = b.input(), y = b.output(), first = b.value(), second = b.value();
  b.product(x, first);
  b.product(x, second);
  b.node(NodeKind::Add, {first, second}, y);
  fuse_epilogues(&b.graph, is_product);
  ASSERT_EQ(b.graph.nodes.size(), 2u);
  EXPECT_EQ(b.graph.nodes[0].result(), first);
  EXPECT_EQ(b.graph.nodes[1].residual, first);
}

TEST(GraphPasses, AValueTimesItsSigmoidIsOneNode) {
  Builder b;
  const uint32_t x = b.input(), y = b.output(), other = b.output(), gate = b.value(),
                 second = b.value();
  b.node(NodeKind::Sigmoid, {x}, gate);
  b.node(NodeKind::Multiply, {gate, x}, y);
  b.node(NodeKind::Sigmoid, {x}, second);
  b.node(NodeKind::Multiply, {second, second}, other);
  fuse_silu(&b.graph);
  ASSERT_EQ(b.graph.nodes.size(), 3u);
  EXPECT_EQ(b.graph.nodes[0].fused, Fused::Silu);
  EXPECT_EQ(b.graph.nodes[0].operand(0), x);
}

TEST(GraphPasses, AClampBecomesPartOfTheProductBeforeIt) {
  Builder b;
  const uint32_t x = b.input(), y = b.output(), product = b.value();
  b.product(x, product).clamp = {-1, 5};
  b.node(NodeKind::Clamp, {product}, y).clamp = {0, 6};
  fuse_clamps(&b.graph);
  ASSERT_EQ(b.graph.nodes.size(), 1u);
  EXPECT_EQ(b.graph.nodes[0].clamp.min, 0);
  EXPECT_EQ(b.graph.nodes[0].clamp.max, 5);
}

TEST(GraphPasses, TheClampOfAnAdditionOfIntegersIsANodeOfItsOwn) {
  Builder b;
  const uint32_t a = b.value(Datatype::QInt8), x = b.value(Datatype::QInt8);
  b.node(NodeKind::Add, {a, x}, b.value(Datatype::QInt8)).clamp = {0, 6};
  separate_clamps(&b.graph);
  ASSERT_EQ(b.kinds(), (std::vector<NodeKind>{NodeKind::Add, NodeKind::Clamp}));
  EXPECT_TRUE(b.graph.nodes[0].clamp.is_none());
  EXPECT_EQ(b.graph.nodes[1].clamp.max, 6);
}

TEST(GraphPasses, AClampBecomesPartOfTheFloat32AdditionBeforeIt) {
  Builder b;
  const uint32_t x = b.input(), y = b.output(), sum = b.value();
  b.node(NodeKind::Add, {x, x}, sum);
  b.node(NodeKind::Clamp, {sum}, y).clamp = {0, 6};
  separate_clamps(&b.graph);
  fuse_clamps(&b.graph);
  ASSERT_EQ(b.kinds(), std::vector<NodeKind>{NodeKind::Add});
  EXPECT_EQ(b.graph.nodes[0].result(), y);
  EXPECT_EQ(b.graph.nodes[0].clamp.max, 6);
}

TEST(GraphPasses, CopiesInsideTheGraphBecomeTheirOperand) {
  Builder b;
  const uint32_t x = b.input(), y = b.output(), absolute = b.value(), copy = b.value();
  b.node(NodeKind::Abs, {x}, absolute);
  b.node(NodeKind::Copy, {absolute}, copy);
  b.node(NodeKind::Negate, {copy}, y);
  const std::vector<uint32_t> roots = alias_values(&b.graph);
  EXPECT_EQ(b.kinds(), (std::vector<NodeKind>{NodeKind::Abs, NodeKind::Negate}));
  EXPECT_EQ(roots[copy], absolute);
}

TEST(GraphPasses, AValueThatIsCopiedToAnOutputIsComputedThere) {
  Builder b;
  const uint32_t x = b.input(), y = b.output(), z = b.output(), absolute = b.value();
  b.node(NodeKind::Abs, {x}, absolute);
  b.node(NodeKind::Copy, {absolute}, y);
  b.node(NodeKind::Copy, {absolute}, z);
  const std::vector<uint32_t> roots = alias_values(&b.graph);
  EXPECT_EQ(b.kinds(), (std::vector<NodeKind>{NodeKind::Abs, NodeKind::Copy}));
  EXPECT_EQ(roots[absolute], y);
}

TEST(GraphPasses, AnInputThatIsAnOutputIsCopied) {
  Builder b;
  const uint32_t x = b.input(), y = b.output();
  b.node(NodeKind::Copy, {x}, y);
  alias_values(&b.graph);
  EXPECT_EQ(b.graph.nodes.size(), 1u);
}

TEST(GraphPasses, HalvesBetweenNodesBecomeFloat32AndArgumentsAreConvertedOnce) {
  for (const Datatype half : {Datatype::Float16, Datatype::BFloat16}) {
    Builder b;
    const uint32_t x = b.input(), between = b.value(half), y = b.output(), z = b.output();
    for (const uint32_t id : {x, y, z}) {
      b.graph.values[id].datatype = half;
    }
    b.node(NodeKind::Exp, {x}, between);
    b.node(NodeKind::Add, {between, x}, y);
    b.node(NodeKind::Abs, {y}, z);
    ASSERT_EQ(widen_halves(&b.graph), Error::Ok);
    EXPECT_EQ(b.kinds(),
              (std::vector<NodeKind>{NodeKind::Convert, NodeKind::Exp, NodeKind::Add,
                                     NodeKind::Convert, NodeKind::Abs, NodeKind::Convert}));
    EXPECT_EQ(b.graph.values[between].datatype, Datatype::Float32);
    EXPECT_EQ(b.graph.values[x].datatype, half);
    EXPECT_EQ(b.graph.nodes[1].operand(0), b.graph.nodes[0].result());
    EXPECT_EQ(b.graph.nodes[3].result(), y);
    EXPECT_EQ(b.graph.values[b.graph.nodes[2].result()].shape_source, y);
    EXPECT_EQ(b.graph.nodes[4].operand(0), b.graph.nodes[2].result());
  }
}

TEST(GraphPasses, AConversionOfTheProgramRoundsAndOneThatEndsAnOperatorDoesNot) {
  for (const bool ends_operator : {false, true}) {
    Builder b;
    const uint32_t x = b.input(), exp = b.value(), half = b.value(Datatype::BFloat16);
    const uint32_t back = b.value(), y = b.output();
    b.node(NodeKind::Exp, {x}, exp).debug_handle = 3;
    b.node(NodeKind::Convert, {exp}, half).debug_handle = ends_operator ? 3 : 4;
    b.node(NodeKind::Convert, {half}, back).debug_handle = 5;
    b.node(NodeKind::Abs, {back}, y).debug_handle = 6;
    ASSERT_EQ(widen_halves(&b.graph), Error::Ok);
    alias_values(&b.graph);
    if (ends_operator) {
      EXPECT_EQ(b.kinds(), (std::vector<NodeKind>{NodeKind::Exp, NodeKind::Abs}));
    } else {
      EXPECT_EQ(b.kinds(), (std::vector<NodeKind>{NodeKind::Exp, NodeKind::Convert,
                                                  NodeKind::Convert, NodeKind::Abs}));
    }
  }
}

TEST(GraphPasses, ProductsOfBfloat16MayRoundTheirFactorsAndOthersOnlyIfPermitted) {
  for (const Datatype datatype : {Datatype::Float32, Datatype::Float16, Datatype::BFloat16}) {
    Builder b;
    const uint32_t x = b.input(), y = b.output();
    b.graph.values[x].datatype = b.graph.values[y].datatype = datatype;
    b.product(x, y);
    ASSERT_EQ(widen_halves(&b.graph), Error::Ok);
    const auto precision = [&] {
      for (const Node& node : b.graph.nodes) {
        if (node.kind == NodeKind::FullyConnected) {
          return node.precision;
        }
      }
      return Precision::Float32;
    };
    EXPECT_EQ(precision(),
              datatype == Datatype::BFloat16 ? Precision::BFloat16 : Precision::Float32);
    permit_precision(&b.graph, Precision::BFloat16);
    EXPECT_EQ(precision(), Precision::BFloat16);
  }
}

TEST(GraphPasses, HalvesThatAreOnlyPackedAreConvertedWhenTheyArePacked) {
  struct Case {
    NodeKind kind;
    uint32_t flags;
    bool is_read;
  };
  for (const Case& c : {Case{NodeKind::FullyConnected, 0, false},
                        {NodeKind::FullyConnected, 0, true},
                        {NodeKind::Conv2d, 0, false},
                        {NodeKind::Conv2d, 0, true},
                        {NodeKind::Conv2d, kSamePadding, false},
                        {NodeKind::DepthwiseConv2d, 0, false},
                        {NodeKind::ConvTranspose2d, 0, false}}) {
    Builder b;
    const std::vector<executorch::aten::BFloat16> numbers(16, executorch::aten::BFloat16(0.5f));
    const uint32_t x = b.input(), between = b.value(), y = b.output();
    const uint32_t weight = b.product(x, between).operand(1);
    b.graph.nodes[0].kind = c.kind;
    b.graph.nodes[0].flags = c.flags;
    b.node(NodeKind::Add, {between, c.is_read ? weight : x}, y);
    b.graph.values[weight].datatype = Datatype::BFloat16;
    b.graph.values[weight].data = b.graph.values[weight].source_data = numbers.data();
    ASSERT_EQ(widen_halves(&b.graph), Error::Ok);
    const uint32_t wide = b.graph.nodes[0].operand(1);
    EXPECT_EQ(b.graph.values[wide].datatype, Datatype::Float32);
    EXPECT_EQ(b.graph.values[wide].source_data, numbers.data());
    // XNNPACK computes TensorFlow's padding and packs float32.
    const bool is_converted = c.is_read || c.flags == kSamePadding;
    EXPECT_EQ(b.graph.converted.count(wide), is_converted ? 1u : 0u);
    DelegateBlock storage;
    const float* const contents = float_contents(b.graph, wide, &storage);
    EXPECT_EQ(std::vector<float>(contents, contents + 16), std::vector<float>(16, 0.5f));
    EXPECT_EQ(contents == b.graph.values[wide].data, is_converted);
  }
}

TEST(GraphPasses, AnRmsNormTakesItsMeansFromAColumnOfReciprocalsInAnyFloatingDatatype) {
  using executorch::aten::Half;
  // Each pair of halves has the bits of the float 1 / 8, but the values 0 and 1.5.
  std::vector<Half> bits(16, Half(0.0f));
  for (size_t i = 1; i < bits.size(); i += 2) {
    bits[i] = Half(1.5f);
  }
  const std::vector<Half> eighths(8, Half(0.125f));
  const std::vector<float> floats(8, 0.125f);
  struct Case {
    Datatype datatype;
    const void* column;
    bool is_norm;
  };
  for (const Case& c : {Case{Datatype::Float32, floats.data(), true},
                        {Datatype::Float16, eighths.data(), true},
                        {Datatype::Float16, bits.data(), false}}) {
    Builder b;
    const uint32_t x = b.input(), y = b.output(), squares = b.value(), means = b.value(),
                   sums = b.value(), scales = b.value(), epsilon = b.constant();
    b.graph.values[epsilon].declared = {1, {1}};
    b.node(NodeKind::Square, {x}, squares);
    Value& column = b.graph.values[b.product(squares, means).operand(1)];
    column.declared = {2, {1, 8}};
    column.datatype = c.datatype;
    column.data = column.source_data = c.column;
    b.node(NodeKind::Add, {means, epsilon}, sums);
    b.node(NodeKind::ReciprocalSquareRoot, {sums}, scales);
    b.node(NodeKind::Multiply, {x, scales}, y);
    ASSERT_EQ(widen_halves(&b.graph), Error::Ok);
    fuse_norms(&b.graph);
    EXPECT_EQ(b.graph.nodes.size(), c.is_norm ? 1u : 5u);
    EXPECT_EQ(b.graph.nodes.back().fused == Fused::RmsNorm, c.is_norm);
  }
}

TEST(GraphPasses, ColumnsOfIntegersTakeNoPartInNorms) {
  // The first column is 1 / 8, and the second one has the same integers.
  const std::vector<int8_t> ones(8, 1);
  Builder b;
  const uint32_t x = b.input(), epsilon = b.constant();
  b.graph.values[epsilon].declared = {1, {1}};
  for (const float scale : {0.125f, 0.5f}) {
    const uint32_t squares = b.value(), means = b.value(), sums = b.value(), scales = b.value();
    b.node(NodeKind::Square, {x}, squares);
    Value& column = b.graph.values[b.product(squares, means).operand(1)];
    column.declared = {2, {1, 8}};
    column.datatype = Datatype::QInt8;
    column.scale = scale;
    column.data = column.source_data = ones.data();
    b.node(NodeKind::Add, {means, epsilon}, sums);
    b.node(NodeKind::ReciprocalSquareRoot, {sums}, scales);
    b.node(NodeKind::Multiply, {x, scales}, b.output());
  }
  ASSERT_EQ(widen_quantized(&b.graph, [](const Node&) { return false; }), Error::Ok);
  fuse_norms(&b.graph);
  EXPECT_EQ(b.graph.nodes.size(), 10u);
}

TEST(GraphPasses, NormsReadAColumnOnceHoweverManyShareIt) {
  constexpr uint32_t kLength = 1 << 20;
  const std::vector<executorch::aten::Half> reciprocals(kLength,
                                                        executorch::aten::Half(1.0f / kLength));
  const auto ticks_of = [&](size_t norms) {
    Builder b;
    const uint32_t x = b.input(), epsilon = b.constant();
    b.graph.values[x].declared = {2, {1, kLength}};
    b.graph.values[epsilon].declared = {1, {1}};
    for (size_t i = 0; i < norms; ++i) {
      const uint32_t squares = b.value(), means = b.value(), sums = b.value(), scales = b.value();
      b.node(NodeKind::Square, {x}, squares);
      Value& column = b.graph.values[b.product(squares, means).operand(1)];
      column.declared = {2, {1, kLength}};
      column.datatype = Datatype::Float16;
      column.data = column.source_data = reciprocals.data();
      b.node(NodeKind::Add, {means, epsilon}, sums);
      b.node(NodeKind::ReciprocalSquareRoot, {sums}, scales);
      b.node(NodeKind::Multiply, {x, scales}, b.output());
    }
    EXPECT_EQ(widen_halves(&b.graph), Error::Ok);
    const std::clock_t begin = std::clock();
    fuse_norms(&b.graph);
    const std::clock_t ticks = std::clock() - begin;
    EXPECT_EQ(b.graph.nodes.size(), norms);
    return ticks;
  };
  ticks_of(1);
  EXPECT_LT(ticks_of(200), 20 * ticks_of(1));
}

TEST(GraphPasses, ANormWhoseResultHasOtherRowsThanItsOperandIsRefused) {
  runtime::runtime_init();
  Builder b;
  Node& node = b.node(NodeKind::Multiply, {b.input(), kNoValue, kNoValue}, b.output());
  node.fused = Fused::RmsNorm;
  node.norm_length = 8;
  const auto norm = create_operator(node, {b.graph, nullptr, nullptr});
  ASSERT_TRUE(norm.ok());
  Tensors tensors;
  tensors.operands[0] = tensor_ref(b.graph, node.operand(0));
  tensors.results[0] = tensor_ref(b.graph, node.result());
  EXPECT_EQ((*norm)->reshape(tensors), runtime::Error::Ok);
  const Shape broadcast = {3, {2, 2, 8}}, part = {2, {2, 7}};
  tensors.results[0].shape = &broadcast;
  EXPECT_EQ((*norm)->reshape(tensors), runtime::Error::InvalidArgument);
  tensors.operands[0].shape = tensors.results[0].shape = &part;
  EXPECT_EQ((*norm)->reshape(tensors), runtime::Error::InvalidArgument);
}

TEST(GraphPasses, ProductsOfFullPrecisionKeepTheirFactors) {
  Builder b;
  const uint32_t x = b.input(), between = b.value(), y = b.output();
  b.product(x, between).has_full_precision = true;
  b.product(between, y);
  permit_precision(&b.graph, Precision::BFloat16);
  EXPECT_EQ(b.graph.nodes[0].precision, Precision::Float32);
  EXPECT_EQ(b.graph.nodes[1].precision, Precision::BFloat16);
}

TEST(GraphPasses, OnlyAValueThatOneConvolutionReadsIsWrittenInPairs) {
  Builder b;
  const auto is_writer = [](const Node& node) { return node.kind == NodeKind::DepthwiseConv2d; };
  const auto is_reader = [](const Node& node) { return node.kind == NodeKind::Conv2d; };
  const uint32_t x = b.input(), first = b.value(), second = b.value(), third = b.value(),
                 fourth = b.output();
  const auto depthwise = [&](uint32_t to) { b.node(NodeKind::DepthwiseConv2d, {x}, to); };
  const auto convolve = [&](uint32_t from) { b.node(NodeKind::Conv2d, {from}, b.output()); };
  depthwise(first);
  convolve(first);
  depthwise(second);
  convolve(second);
  b.node(NodeKind::Abs, {second}, b.output());
  depthwise(third);
  b.graph.nodes.back().residual = x;
  convolve(third);
  depthwise(fourth);
  convolve(fourth);
  convolve(x);
  fuse_roundings(&b.graph, is_writer, is_reader);
  const std::vector<Node>& nodes = b.graph.nodes;
  EXPECT_TRUE(nodes[0].writes_pairs && nodes[1].reads_pairs);
  for (size_t i = 2; i < nodes.size(); ++i) {
    EXPECT_FALSE(nodes[i].writes_pairs || nodes[i].reads_pairs) << i;
  }
}

TEST(GraphPasses, AConvolutionMayReadAndWritePairs) {
  Builder b;
  const auto is_convolution = [](const Node&) { return true; };
  const uint32_t x = b.input(), first = b.value(), second = b.value();
  b.node(NodeKind::Conv2d, {x}, first);
  b.node(NodeKind::Conv2d, {first}, second);
  b.node(NodeKind::Conv2d, {second}, b.output());
  fuse_roundings(&b.graph, is_convolution, is_convolution);
  const std::vector<Node>& nodes = b.graph.nodes;
  EXPECT_TRUE(nodes[0].writes_pairs && nodes[1].reads_pairs);
  EXPECT_TRUE(nodes[1].writes_pairs && nodes[2].reads_pairs);
  EXPECT_FALSE(nodes[0].reads_pairs || nodes[2].writes_pairs);
}

TEST(GraphPasses, AttentionBecomesOneNode) {
  Builder b;
  const uint32_t q = b.input(), k = b.input(), v = b.input(), mask = b.input(), y = b.output();
  const uint32_t scores = b.value(), sums = b.value(), weights = b.value();
  b.graph.values[k].declared = b.graph.values[v].declared = {2, {8, 8}};
  b.node(NodeKind::BatchMatrixMultiply, {q, k}, scores).flags = 1;
  b.node(NodeKind::Add, {mask, scores}, sums);
  b.node(NodeKind::Softmax, {sums}, weights);
  b.node(NodeKind::BatchMatrixMultiply, {weights, v}, y);
  fuse_attention(&b.graph, takes_attention);
  ASSERT_EQ(b.graph.nodes.size(), 1u);
  const Node& fused = b.graph.nodes[0];
  EXPECT_EQ(fused.fused, Fused::Attention);
  EXPECT_EQ(fused.operand(FusedAttention::kQuery), q);
  EXPECT_EQ(fused.operand(FusedAttention::kKey), k);
  EXPECT_EQ(fused.operand(FusedAttention::kValue), v);
  EXPECT_EQ(fused.operand(FusedAttention::kMask), mask);
  EXPECT_TRUE(fused.attention.keys_are_rows);
  EXPECT_FALSE(fused.attention.values_are_columns);
  EXPECT_EQ(fused.unfused, weights);
}

TEST(GraphPasses, AttentionWhoseScoresAreReplacedBecomesOneNode) {
  for (const bool replaces_true : {true, false}) {
    Builder b;
    const uint32_t q = b.input(), k = b.input(), v = b.input(), hidden = b.value(Datatype::Bool);
    const uint32_t y = b.output(), number = b.constant(), scores = b.value(), chosen = b.value();
    const uint32_t weights = b.value();
    b.graph.values[k].declared = b.graph.values[v].declared = {2, {8, 8}};
    b.graph.values[number].declared = {};
    b.node(NodeKind::BatchMatrixMultiply, {q, k}, scores);
    const std::vector<uint32_t> select = replaces_true
                                             ? std::vector<uint32_t>{hidden, number, scores}
                                             : std::vector<uint32_t>{hidden, scores, number};
    b.node(NodeKind::Select, select, chosen);
    b.node(NodeKind::Softmax, {chosen}, weights);
    b.node(NodeKind::BatchMatrixMultiply, {weights, v}, y);
    fuse_attention(&b.graph, takes_attention);
    ASSERT_EQ(b.graph.nodes.size(), 1u);
    const Node& fused = b.graph.nodes[0];
    EXPECT_EQ(fused.fused, Fused::Attention);
    EXPECT_EQ(fused.operand(FusedAttention::kReplaced), hidden);
    EXPECT_EQ(fused.attention.replaces_true, replaces_true);
    EXPECT_EQ(fused.attention.replacement, 1.0f);
  }
}

TEST(GraphPasses, AttentionOfSizesThatDoNotFitStays) {
  Builder b;
  const uint32_t q = b.input(), k = b.input(), v = b.input(), y = b.output();
  const uint32_t scores = b.value(), weights = b.value();
  b.graph.values[k].declared = {2, {8, 8}};
  b.graph.values[v].declared = {2, {7, 8}};
  b.node(NodeKind::BatchMatrixMultiply, {q, k}, scores);
  b.node(NodeKind::Softmax, {scores}, weights);
  b.node(NodeKind::BatchMatrixMultiply, {weights, v}, y);
  fuse_attention(&b.graph, takes_attention);
  EXPECT_EQ(b.graph.nodes.size(), 3u);
  b.graph.values[v].declared = {2, {8, 8}};
  fuse_attention(&b.graph, takes_attention);
  EXPECT_EQ(b.graph.nodes.size(), 1u);
}

TEST(GraphPasses, AttentionWhoseWeightsAreReadElsewhereStays) {
  Builder b;
  const uint32_t q = b.input(), k = b.input(), v = b.input(), y = b.output(), z = b.output();
  const uint32_t scores = b.value(), weights = b.value();
  b.node(NodeKind::BatchMatrixMultiply, {q, k}, scores);
  b.node(NodeKind::Softmax, {scores}, weights);
  b.node(NodeKind::BatchMatrixMultiply, {weights, v}, y);
  b.node(NodeKind::Abs, {weights}, z);
  fuse_attention(&b.graph, takes_attention);
  EXPECT_EQ(b.graph.nodes.size(), 4u);
}

}  // namespace
}  // namespace executorch::backends::xnnpack
