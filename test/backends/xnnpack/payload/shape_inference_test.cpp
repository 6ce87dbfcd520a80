// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// Shape inference of every kind of node: operands that fit give the result's shape; others are
// refused.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include <backends/xnnpack/payload/payload_builder.h>
#include <backends/xnnpack/payload/shape_rows.h>
#include <executorch/backends/xnnpack/runtime/payload/payload.h>
#include <executorch/backends/xnnpack/runtime/payload/shape_inference.h>
#include <executorch/runtime/platform/runtime.h>

#include "runtime/log_capture.h"
#include "utils/name_of_row.h"

namespace executorch::backends::xnnpack {
namespace {

using runtime::Error;
using runtime::Result;
using runtime::Span;

TestPayload payload_of(const Row& row) {
  TestPayload payload;
  for (const Dims& dims : row.operands) {
    payload.values.push_back(input(static_cast<uint32_t>(payload.values.size()), dims));
  }
  const auto result = static_cast<uint32_t>(payload.values.size());
  const Dims dims = !row.declared.empty() ? row.declared
                    : !row.result.empty() ? row.result
                                          : row.operands[0];
  payload.values.push_back(output(result, dims));
  payload.nodes = {{row.kind, with_result(row.numbers, result), row.lists}};
  return payload;
}

Shape shape_of(const Dims& dims) {
  Shape shape;
  shape.rank = dims.size();
  std::copy(dims.begin(), dims.end(), shape.dims);
  return shape;
}

Result<std::vector<Shape>> infer(const TestPayload& source, const std::vector<Dims>& inputs,
                                 Emptiness emptiness = Emptiness::Refused) {
  runtime::runtime_init();
  const std::vector<uint8_t> bytes = source.bytes();
  const Payload payload = ET_UNWRAP(Payload::parse({bytes.data(), bytes.size()}));
  std::vector<Shape> shapes;
  for (const Dims& dims : inputs) {
    shapes.push_back(shape_of(dims));
  }
  return infer_shapes(payload, {shapes.data(), shapes.size()}, emptiness);
}

class ShapeTest : public ::testing::TestWithParam<Row> {};

TEST_P(ShapeTest, IsInferredOrRefused) {
  const Row& row = GetParam();
  const LogCapture log;
  const auto shapes = infer(payload_of(row), row.operands);
  if (row.result.empty()) {
    EXPECT_EQ(shapes.error(), Error::InvalidProgram) << log.text();
    EXPECT_TRUE(log.contains("do not fit each other or its result")) << log.text();
    return;
  }
  ASSERT_TRUE(shapes.ok()) << log.text();
  const Shape& shape = shapes->front();
  EXPECT_EQ(Dims(shape.dims, shape.dims + shape.rank), row.result);
}

INSTANTIATE_TEST_SUITE_P(Elementwise, ShapeTest, ::testing::ValuesIn(elementwise_rows()),
                         executorch::testing::NameOfRow());
INSTANTIATE_TEST_SUITE_P(Products, ShapeTest, ::testing::ValuesIn(product_rows()),
                         executorch::testing::NameOfRow());
INSTANTIATE_TEST_SUITE_P(Convolutions, ShapeTest, ::testing::ValuesIn(convolution_rows()),
                         executorch::testing::NameOfRow());
INSTANTIATE_TEST_SUITE_P(Images, ShapeTest, ::testing::ValuesIn(image_rows()),
                         executorch::testing::NameOfRow());
INSTANTIATE_TEST_SUITE_P(Moves, ShapeTest, ::testing::ValuesIn(move_rows()),
                         executorch::testing::NameOfRow());

TEST(ShapeInference, GivesBothResultsOfAnArgMax) {
  TestPayload payload;
  payload.values = {input(0, {1, 4, 4, 2}), output(1, {1, 2, 2, 2}), output(2, {1, 2, 2, 2})};
  payload.nodes = {{Kind::ArgMaxPooling2d, {0, 0, 0, 0, 2, 2, 0, 1, 2}}};
  const auto shapes = infer(payload, {{1, 4, 4, 2}});
  ASSERT_TRUE(shapes.ok());
  EXPECT_EQ((*shapes)[1].dims[1], 2u);
}

TEST(ShapeInference, GivesEveryElementwiseNodeTheShapeOfItsOperands) {
  for (const Kind kind : {Kind::Floor, Kind::Ceiling, Kind::SquareRoot, Kind::Hardswish,
                          Kind::Negate, Kind::Square, Kind::ReciprocalSquareRoot, Kind::Log,
                          Kind::Gelu, Kind::Sin, Kind::Cos, Kind::BankersRounding, Kind::Sign}) {
    const auto shapes = infer(payload_of({"", kind, {{2, 3}}, {0, kOut}, {}, {2, 3}}), {{2, 3}});
    ASSERT_TRUE(shapes.ok()) << fb_xnnpack::EnumNameXNodeUnion(kind);
    EXPECT_EQ(Dims(shapes->front().dims, shapes->front().dims + 2), (Dims{2, 3}));
  }
  for (const Kind kind : {Kind::Div, Kind::Minimum, Kind::Subtract, Kind::PReLU, Kind::CopySign}) {
    const Row row{"", kind, {{2, 1}, {3}}, {0, 1, kOut}, {}, {2, 3}};
    const auto shapes = infer(payload_of(row), row.operands);
    ASSERT_TRUE(shapes.ok()) << fb_xnnpack::EnumNameXNodeUnion(kind);
    EXPECT_EQ(Dims(shapes->front().dims, shapes->front().dims + 2), (Dims{2, 3}));
  }
}

TEST(ShapeInference, BroadcastsAllOperandsOfASelection) {
  TestPayload payload;
  payload.values = {with(input(0, {4, 1, 1}), fb_xnnpack::Datatype::Bool), input(1, {3, 1}),
                    input(2, {5}), output(3, {4, 3, 5})};
  payload.nodes = {{Kind::Select, {0, 1, 2, 3}}};
  const auto shapes = infer(payload, {{4, 1, 1}, {3, 1}, {5}});
  ASSERT_TRUE(shapes.ok());
  EXPECT_EQ(Dims(shapes->front().dims, shapes->front().dims + 3), (Dims{4, 3, 5}));
}

TEST(ShapeInference, RefusesInputsThatWereNotDeclared) {
  const TestPayload payload = payload_of({"", Kind::Tanh, {{2, 3}}, {0, kOut}, {}, {2, 3}});
  for (const auto& [dims, message] : std::vector<std::pair<Dims, std::string>>{
           {{2}, "input 0 has 1 dimensions, expected 2"},
           {{3, 3}, "input 0 has size 3 in dimension 0 in memory order, expected 1 to 2"},
           {{2, 0}, "input 0 has size 0 in dimension 1"}}) {
    const LogCapture log;
    EXPECT_EQ(infer(payload, {dims}).error(), Error::InvalidArgument);
    EXPECT_TRUE(log.contains(message)) << log.text();
  }
}

TEST(ShapeInference, RefusesAnOutputThatNoNodeMakes) {
  TestPayload payload = payload_of({"", Kind::Tanh, {{2, 3}}, {0, kOut}, {}, {2, 3}});
  payload.nodes.clear();
  const LogCapture log;
  EXPECT_EQ(infer(payload, {{2, 3}}).error(), Error::InvalidProgram);
  EXPECT_TRUE(log.contains("output 0 is never computed"));
}

TEST(ShapeInference, InfersASizeBesideAKeptOneThatIsEmpty) {
  const TestPayload payload = payload_of(
      {"", Kind::StaticReshape, {{3, 7, 10}}, {4, 0, kOut}, {{0, 0, 2, 5}}, {3, 7, 2, 5}});
  const auto shapes = infer(payload, {{0, 6, 10}}, Emptiness::Allowed);
  ASSERT_TRUE(shapes.ok());
  EXPECT_EQ(Dims(shapes->front().dims, shapes->front().dims + 4), (Dims{0, 6, 2, 5}));
}

TEST(ShapeInference, AllowsEmptySizesIfTheCallerDoes) {
  const TestPayload payload =
      payload_of({"", Kind::StaticReshape, {{2, 3}}, {2, 0, kOut}, {{3, 0}}, {3, 2}});
  EXPECT_EQ(infer(payload, {{0, 3}}).error(), Error::InvalidArgument);
  const auto shapes = infer(payload, {{0, 3}}, Emptiness::Allowed);
  ASSERT_TRUE(shapes.ok());
  EXPECT_EQ(shapes->front().dims[1], 0u);
}

}  // namespace
}  // namespace executorch::backends::xnnpack
