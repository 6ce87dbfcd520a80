// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// Rotary embeddings, RMS norms and gates, which the runtime fuses, with sizes and types that do not
// fit each other. The arguments' sizes vary between executions.
#include <utility>

#include <backends/xnnpack/hostile/hostile_payloads.h>
#include <backends/xnnpack/payload/shape_rows.h>

namespace executorch::backends::xnnpack {
namespace {

using P = TestPayload;
using fb_xnnpack::Datatype;
using Kind = fb_xnnpack::XNodeUnion;

/// A payload whose values are added in the order of their use.
class Decoder {
 public:
  P payload;

  uint32_t add_input(Dims dims, Datatype datatype = Datatype::Float32) {
    const TestValue value = input(arguments_++, std::move(dims));
    return add(datatype == Datatype::QInt8 ? quantized(value) : with(value, datatype));
  }
  uint32_t add_output(Dims dims) { return add(output(arguments_++, std::move(dims))); }
  uint32_t add_constant(Dims dims) {
    payload.constant_fill = 0x3f;
    return hostile_constant(payload, std::move(dims));
  }
  /// The result of a node with these operands.
  uint32_t node(Kind kind, std::vector<uint32_t> operands, Dims dims) {
    const uint32_t result = inner(std::move(dims));
    node_into(kind, std::move(operands), result);
    return result;
  }
  void node_into(Kind kind, std::vector<uint32_t> operands, uint32_t result) {
    operands.push_back(result);
    payload.nodes.push_back({kind, std::move(operands)});
  }
  uint32_t reshape(uint32_t from, Dims dims, std::vector<uint32_t> sizes) {
    const uint32_t rank = static_cast<uint32_t>(sizes.size()), result = inner(std::move(dims));
    payload.nodes.push_back({Kind::StaticReshape, {rank, from, result}, {std::move(sizes)}});
    return result;
  }
  /// The last dimension's elements from `offset` on; `dims` are the result's.
  uint32_t slice(uint32_t from, const Dims& dims, uint32_t offset) {
    std::vector<uint32_t> offsets(dims.size(), 0);
    offsets.back() = offset;
    const uint32_t rank = static_cast<uint32_t>(dims.size()), result = inner(dims);
    payload.nodes.push_back({Kind::StaticSlice, {rank, from, result}, {offsets, dims}});
    return result;
  }
  void concatenate(uint32_t axis, uint32_t a, uint32_t b, uint32_t result) {
    payload.nodes.push_back({Kind::Concatenate2, {axis, a, b, kNoId, kNoId, result}});
  }
  uint32_t inner(Dims dims) { return add(constant(0, std::move(dims))); }

 private:
  uint32_t add(TestValue value) {
    payload.values.push_back(std::move(value));
    return static_cast<uint32_t>(payload.values.size() - 1);
  }

  uint32_t arguments_ = 0;
};

/// Rotates channels of [2, 3, channels].
struct Rotation {
  uint32_t channels = 8;
  /// Sizes of the halves, and where the second begins.
  uint32_t low = 4, high = 4, second = 4;
  Dims cos = {3, 4}, sin = {3, 4};
  /// Sizes of the sum and the difference, and of the result.
  Dims halves = {2, 3, 4}, out = {2, 3, 8};
  uint32_t axis = 2;
  Datatype table = Datatype::Float32;
};

/// [low * cos - high * sin, high * cos + low * sin]
P rotated_halves(const Rotation& r) {
  Decoder d;
  const uint32_t x = d.add_input({2, 3, r.channels});
  const uint32_t cos = d.add_input(r.cos, r.table), sin = d.add_input(r.sin);
  const uint32_t low = d.slice(x, {2, 3, r.low}, 0), high = d.slice(x, {2, 3, r.high}, r.second);
  const auto product = [&](uint32_t a, uint32_t b) {
    return d.node(Kind::Multiply, {a, b}, r.halves);
  };
  const uint32_t a = product(low, cos), b = product(high, sin);
  const uint32_t first = d.node(Kind::Subtract, {a, b}, r.halves);
  const uint32_t c = product(high, cos), e = product(low, sin);
  const uint32_t second = d.node(Kind::Add, {c, e}, r.halves);
  d.concatenate(r.axis, first, second, d.add_output(r.out));
  return d.payload;
}

/// The same for neighbors: channels are split into pairs of `split` and joined again.
P rotated_neighbors(const Dims& split, uint32_t second, const Dims& joined) {
  Decoder d;
  const uint32_t x = d.add_input({2, 3, 8}), cos = d.add_input({3, 4}), sin = d.add_input({3, 4});
  const Dims half = {2, 3, 4}, column = {2, 3, 4, 1};
  const uint32_t pairs = d.reshape(x, split, split);
  const uint32_t low = d.reshape(d.slice(pairs, column, 0), half, half);
  const uint32_t high = d.reshape(d.slice(pairs, column, second), half, half);
  const auto node = [&](Kind kind, uint32_t a, uint32_t b) { return d.node(kind, {a, b}, half); };
  const uint32_t a = node(Kind::Multiply, low, cos), b = node(Kind::Multiply, high, sin);
  const uint32_t first = d.reshape(node(Kind::Subtract, a, b), column, column);
  const uint32_t c = node(Kind::Multiply, high, cos), e = node(Kind::Multiply, low, sin);
  const uint32_t last = d.reshape(node(Kind::Add, c, e), column, column);
  const uint32_t both = d.inner({2, 3, 4, 2});
  d.concatenate(3, first, last, both);
  const uint32_t out = d.add_output(joined);
  d.payload.nodes.push_back(
      {Kind::StaticReshape, {static_cast<uint32_t>(joined.size()), both, out}, {joined}});
  return d.payload;
}

/// x * cos + [-high, low] * sin with tables of all channels.
P rotated_with_tables_of_channels(const Dims& cos, const Dims& sin) {
  Decoder d;
  const Dims all = {2, 3, 8}, half = {2, 3, 4};
  const uint32_t x = d.add_input(all), cosines = d.add_input(cos), sines = d.add_input(sin);
  const uint32_t low = d.slice(x, half, 0), high = d.slice(x, half, 4);
  const uint32_t turned = d.inner(all);
  d.concatenate(2, d.node(Kind::Negate, {high}, half), low, turned);
  const uint32_t left = d.node(Kind::Multiply, {x, cosines}, all);
  const uint32_t right = d.node(Kind::Multiply, {turned, sines}, all);
  d.node_into(Kind::Add, {left, right}, d.add_output(all));
  return d.payload;
}

std::vector<HostilePayload> rotations() {
  Rotation plain, wide_table, short_table, number, many_dims, batch, quantized, uneven, overlapping,
      beyond, other_axis, small_result;
  wide_table.cos = {3, 8};
  short_table.sin = {2, 4};
  number.cos = {1};
  many_dims.cos = {1, 2, 3, 4};
  batch.cos = batch.sin = {2, 3, 4};
  quantized.table = Datatype::QInt8;
  uneven.channels = 7;
  uneven.low = 3;
  uneven.second = 3;
  overlapping.second = 2;
  beyond.second = 5;
  other_axis.axis = 1;
  other_axis.out = {2, 6, 4};
  small_result.out = {2, 3, 7};
  return {
      row("RotationOfHalves", rotated_halves(plain)),
      row("RotationWithATableForEachChannel", rotated_halves(wide_table), kMisfit),
      row("RotationWithATableOfFewerPositions", rotated_halves(short_table), kMisfit),
      row("RotationWithOneCosine", rotated_halves(number)),
      row("RotationWithATableOfMoreDims", rotated_halves(many_dims), kMisfit),
      row("RotationWithATableForEachRow", rotated_halves(batch)),
      row("RotationWithABytesTable", rotated_halves(quantized), "Multiply"),
      row("RotationOfAnOddNumberOfChannels", rotated_halves(uneven), kMisfit),
      row("RotationOfHalvesThatOverlap", rotated_halves(overlapping)),
      row("RotationOfAHalfBeyondTheChannels", rotated_halves(beyond), kMisfit),
      row("RotationJoinedAlongPositions", rotated_halves(other_axis)),
      row("RotationIntoFewerChannels", rotated_halves(small_result), kMisfit),
      row("RotationOfNeighbors", rotated_neighbors({2, 3, 4, 2}, 1, {2, 3, 8})),
      row("RotationOfOneNeighborTwice", rotated_neighbors({2, 3, 4, 2}, 0, {2, 3, 8})),
      row("RotationOfNeighborsOfThree", rotated_neighbors({2, 3, 4, 3}, 1, {2, 3, 8}), kMisfit),
      row("RotationOfNeighborsJoinedInOtherRows", rotated_neighbors({2, 3, 4, 2}, 1, {3, 2, 8})),
      row("RotationOfNeighborsBeyondThePair", rotated_neighbors({2, 3, 4, 2}, 2, {2, 3, 8}),
          kMisfit),
      row("RotationWithTablesOfChannels", rotated_with_tables_of_channels({3, 8}, {3, 8})),
      row("RotationWithTablesOfChannelsAndOfPairs", rotated_with_tables_of_channels({3, 8}, {3, 4}),
          kMisfit),
      row("RotationWithOneColumnOfCosines", rotated_with_tables_of_channels({3, 1}, {3, 8})),
  };
}

/// x * rsqrt(mean(x², rows of `length` elements) + epsilon) * weight
struct RmsNorm {
  Dims x = {2, 3, 8}, epsilon = {1}, weight = {8}, means = {2, 3, 1};
  uint32_t height = 1, width = 8;
  Datatype datatype = Datatype::Float32;
};

P rms_norm(const RmsNorm& n) {
  Decoder d;
  uint32_t elements = 1;
  for (const uint32_t dim : n.x) elements *= dim;
  const uint32_t rows = elements / (n.height * n.width);
  const uint32_t x = d.add_input(n.x, n.datatype), epsilon = d.add_constant(n.epsilon);
  const uint32_t weight = d.add_constant(n.weight);
  const Dims image = {rows, n.height, n.width, 1};
  const uint32_t square = d.node(Kind::Square, {x}, n.x);
  const uint32_t mean =
      d.node(Kind::GlobalAvgPooling2d, {d.reshape(square, image, image)}, {rows, 1});
  const uint32_t sum = d.node(Kind::Add, {d.reshape(mean, n.means, n.means), epsilon}, n.means);
  const uint32_t scale = d.node(Kind::ReciprocalSquareRoot, {sum}, n.means);
  const uint32_t scaled = d.node(Kind::Multiply, {x, scale}, n.x);
  d.node_into(Kind::Multiply, {scaled, weight}, d.add_output(n.x));
  return d.payload;
}

std::vector<HostilePayload> norms() {
  RmsNorm plain, two_dims, epsilons, long_weight, weight_rows, means, other_rows, bytes, whole;
  two_dims.height = 3;
  two_dims.means = {2, 1, 1};
  two_dims.weight = {3, 8};
  epsilons.epsilon = {8};
  long_weight.weight = {9};
  weight_rows.weight = {3, 8};
  means.means = {3, 2, 1};
  other_rows.width = 4;
  other_rows.means = {2, 3, 2};
  bytes.datatype = Datatype::QInt8;
  whole.width = 48;
  whole.means = {1, 1, 1};
  return {
      row("RmsNorm", rms_norm(plain)),
      row("RmsNormOfTwoDims", rms_norm(two_dims)),
      row("RmsNormWithMoreThanOneEpsilon", rms_norm(epsilons), kMisfit),
      row("RmsNormWithALongerWeight", rms_norm(long_weight), kMisfit),
      row("RmsNormWithAWeightForEachPosition", rms_norm(weight_rows)),
      row("RmsNormWithMeansOfOtherRows", rms_norm(means), kMisfit),
      row("RmsNormOfHalfRows", rms_norm(other_rows), kMisfit),
      row("RmsNormOfBytes", rms_norm(bytes), "Square"),
      row("RmsNormOfAllRowsTogether", rms_norm(whole)),
  };
}

/// x * sigmoid(x) * up
P gate(const Dims& x, const Dims& up, const Dims& out, Datatype datatype = Datatype::Float32) {
  Decoder d;
  const uint32_t gate = d.add_input(x), other = d.add_input(up, datatype);
  const uint32_t sigmoid = d.node(Kind::Sigmoid, {gate}, x);
  const uint32_t silu = d.node(Kind::Multiply, {gate, sigmoid}, x);
  d.node_into(Kind::Multiply, {silu, other}, d.add_output(out));
  return d.payload;
}

std::vector<HostilePayload> gates() {
  return {
      row("Gate", gate({3, 8}, {3, 8}, {3, 8})),
      row("GateOfOneRow", gate({1, 8}, {3, 8}, {3, 8})),
      row("GateThatMultipliesARow", gate({3, 8}, {8}, {3, 8})),
      row("GateThatMultipliesAColumnOfMoreDims", gate({8}, {2, 3, 1}, {2, 3, 8})),
      row("GateOfOtherChannels", gate({3, 8}, {3, 7}, {3, 8}), kMisfit),
      row("GateIntoAWiderResult", gate({3, 8}, {3, 8}, {3, 9})),
      row("GateThatMultipliesBytes", gate({3, 8}, {3, 8}, {3, 8}, Datatype::QInt8), "Multiply"),
  };
}

}  // namespace

std::vector<HostilePayload> hostile_decoders() { return joined({rotations(), norms(), gates()}); }

}  // namespace executorch::backends::xnnpack
