// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
#include <utility>

#include <executorch/backends/xnnpack/runtime/payload/payload.h>

#include <backends/xnnpack/hostile/hostile_payloads.h>

namespace executorch::backends::xnnpack {
namespace {

using fb_xnnpack::Datatype;
using Kind = fb_xnnpack::XNodeUnion;
using P = TestPayload;

constexpr uint32_t kSide = 64;
constexpr uint64_t kBytes = uint64_t{kSide} * kSide * sizeof(float);

/// `steps` products of x [1, 64] with one matrix, each on the result of the one before.
P recurrence(uint32_t steps) {
  P p;
  p.values = {input(0, {1, kSide}), output(1, {1, kSide}), constant(1, {kSide, kSide})};
  p.constants = {{}, {0, kBytes, ""}};
  p.constant_bytes = kBytes;
  for (uint32_t i = 0; i < steps; ++i) {
    const bool is_last = i + 1 == steps;
    const uint32_t from = i == 0 ? 0 : 2 + i;
    p.nodes.push_back({Kind::FullyConnected, {from, 2, kNoId, is_last ? 1 : 3 + i}});
    if (!is_last) {
      p.values.push_back(constant(0, {1, kSide}));
    }
  }
  return p;
}

/// One product whose matrix is the last of `count` constants, each made by `entry`.
P with_entries(size_t count, const TestConstant& entry) {
  P p = recurrence(1);
  for (size_t i = 1; i < count; ++i) {
    p.constants.push_back(entry);
  }
  p.constants[1] = entry;
  p.values[2].constant = static_cast<uint32_t>(count);
  return p;
}

/// One product, and `count` values that are its matrix as bytes, with a scale for each row.
P with_values(size_t count, const TestConstant& entry) {
  P p = recurrence(1);
  p.constants[1] = entry;
  for (size_t i = 0; i < count; ++i) {
    p.values.push_back(constant(1, {kSide, kSide}));
  }
  return p;
}

/// One product, and `count` values that are a constant of 2^40 bytes.
P with_large_values(size_t count) {
  constexpr uint32_t kRows = 1u << 20, kColumns = 1u << 18;
  P p = recurrence(1);
  p.constants.push_back({kInNamedData, uint64_t{kRows} * kColumns * sizeof(float), "weights"});
  for (size_t i = 0; i < count; ++i) {
    p.values.push_back(constant(2, {kRows, kColumns}));
  }
  return p;
}

/// x [2, 4] gathered by `nodes` nodes that share one list of places.
P with_gathers(size_t nodes) {
  constexpr uint32_t kPlaces = 20'000;
  P p;
  p.values = {input(0, {2, 4}), output(1, {2, kPlaces})};
  p.shares_lists = true;
  const std::vector<uint32_t> places(kPlaces, 3);
  p.nodes.push_back({Kind::StaticGather, {1, 0, 1}, {places}});
  for (uint32_t i = 1; i < nodes; ++i) {
    p.values.push_back(constant(0, {2, kPlaces}));
    p.nodes.push_back({Kind::StaticGather, {1, 0, 1 + i}, {places}});
  }
  return p;
}

/// A product with `count` matrices of bytes whose scales are one constant.
P with_scales(size_t count) {
  constexpr uint32_t kRows = 4096;
  P p = recurrence(1);
  p.constants = {{}, {0, kBytes, ""}, {0, kRows * sizeof(float), ""}};
  p.constant_fill = 0x3f;
  for (size_t i = 0; i < count; ++i) {
    TestValue bytes = with(constant(0, {kRows, 2}), Datatype::QCInt8);
    bytes.quantization = Quantization::Channels;
    bytes.scale_buffer = 2;
    bytes.scale_count = kRows;
    p.values.push_back(bytes);
  }
  return p;
}

HostilePayload row(std::string name, const std::function<P()>& payload, std::string refused = "") {
  return {std::move(name), [payload] { return program_of(payload()); }, std::move(refused)};
}

/// The same with the constants in the program's named data.
HostilePayload named(std::string name, const std::function<P()>& payload,
                     std::string refused = "") {
  const auto make = [payload] {
    TestProgram program = program_of(payload());
    program.segment_data = std::string(kBytes, '\x3f');
    program.segments = {{0, kBytes}};
    program.named_data = {{"weights", 0}};
    return program;
  };
  return {std::move(name), make, std::move(refused)};
}

}  // namespace

std::vector<HostilePayload> hostile_repeats() {
  const TestConstant aligned = {0, kBytes, ""}, shifted = {1, kBytes, ""};
  const TestConstant by_name = {kInNamedData, kBytes, "weights"};
  const auto shifted_entries = [=](size_t count, uint64_t step) {
    P p = with_entries(count, shifted);
    for (size_t i = 0; i < count; ++i) {
      p.constants[i + 1].offset += step * i;
    }
    p.constant_bytes += 1 + step * count;
    return p;
  };
  return {
      row("AThousandProductsHaveOneMatrix", [] { return recurrence(1000); }),
      row("AThousandEntriesAreOneConstant", [=] { return with_entries(1000, aligned); }),
      row("AThousandEntriesShareACopy", [=] { return shifted_entries(1000, 0); }),
      row("ThreeEntriesOverlap", [=] { return shifted_entries(3, 4); }),
      row(
          "AThousandEntriesOverlap", [=] { return shifted_entries(1000, 4); },
          "overlap; together they have more than"),
      row("AThousandValuesAreOneConstant", [=] { return with_values(1000, aligned); }),
      named("AThousandEntriesHaveOneName", [=] { return with_entries(1000, by_name); }),
      named("AThousandValuesHaveOneName", [=] { return with_values(1000, by_name); }),
      named(
          "FortyValuesAreOneConstantOfATerabyte", [] { return with_large_values(40); },
          "share constants; together they have more than"),
      row("AThousandMatricesHaveOneConstantOfScales", [] { return with_scales(1000); }),
      row("TwentyGathersHaveOneList", [] { return with_gathers(20); }),
      row(
          "AThousandGathersHaveOneList", [] { return with_gathers(1000); },
          "share lists; together they have more than"),
  };
}

}  // namespace executorch::backends::xnnpack
