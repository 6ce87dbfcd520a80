// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// Well-formed programs whose XNNPACK delegates try to reach foreign memory, one row for each
// attack.
#pragma once

#include <functional>
#include <ostream>
#include <string>
#include <vector>

#include <backends/xnnpack/payload/payload_builder.h>

#include "fuzz/hostile/hostile_programs.h"

namespace executorch::backends::xnnpack {

using testing::MethodWriter;
using testing::TestProgram;

struct HostilePayload {
  std::string name;
  std::function<TestProgram()> make;
  /// Part of the message that refuses the program at load; empty: the program loads, and its
  /// executions end with or without an error.
  std::string refused;
};
/// The end of messages about operands of a fused node.
inline constexpr const char* kMisfit = "do not fit each other or its result";
inline void PrintTo(const HostilePayload& row, std::ostream* out) { *out << row.name; }

/// The dtype of an argument.
testing::Type dtype_of(fb_xnnpack::Datatype datatype);
/// The value as int8 with one scale and the zero point 1.
TestValue quantized(TestValue value, float scale = 0.5f);
/// Adds a constant of these sizes and returns its id.
uint32_t hostile_constant(TestPayload& p, std::vector<uint32_t> dims,
                          fb_xnnpack::Datatype datatype = fb_xnnpack::Datatype::Float32);
/// The rows of all lists.
std::vector<HostilePayload> joined(const std::vector<std::vector<HostilePayload>>& lists);
/// Adds the payload as inline data and returns the index of its delegate.
int32_t add_delegate(MethodWriter& w, const TestPayload& payload);
/// Adds a planned tensor for each argument of the payload; returns them in the arguments' order.
std::vector<int32_t> add_arguments(MethodWriter& w, const TestPayload& payload,
                                   testing::Dynamism dynamism);
/// A method that calls the payload once.
TestProgram program_of(const TestPayload& payload);
/// The row of a program that calls the payload once.
HostilePayload row(std::string name, const TestPayload& payload, std::string refused = "");

/// Values without elements, sizes near the limits, windows that wrap around.
std::vector<HostilePayload> hostile_shapes();
/// Constants that overlap, have several roles or sizes, or are found by name.
std::vector<HostilePayload> hostile_constants();
/// Scales, zero points and clamps.
std::vector<HostilePayload> hostile_numbers();
/// Calls of delegates with arguments that do not fit, or that alias.
std::vector<HostilePayload> hostile_arguments();
/// Selections, comparisons, and booleans in other nodes.
std::vector<HostilePayload> hostile_booleans();
/// Nodes that are fused or share memory, with sizes that vary: attention, bytes, moves.
std::vector<HostilePayload> hostile_fusions();
/// Rotary embeddings, RMS norms and gates of decoders.
std::vector<HostilePayload> hostile_decoders();
/// Constants, scales and lists that many tables share.
std::vector<HostilePayload> hostile_repeats();

}  // namespace executorch::backends::xnnpack
