// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
#pragma once

#include <stddef.h>
#include <stdint.h>

#include <vector>

#include <executorch/runtime/core/span.h>

namespace executorch::fuzz {

/// A number in a program file: its byte, and how many bytes it has.
struct Slot {
  size_t position;
  size_t width;
};

/// All numbers in the tables and vectors of a valid program, except the data of constants. A
/// change of one of them leaves the file a well-formed flatbuffer: only its meaning can be wrong.
std::vector<Slot> find_scalar_slots(runtime::Span<const uint8_t> program);

}  // namespace executorch::fuzz
