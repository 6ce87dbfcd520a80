// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
#pragma once

#include <stddef.h>
#include <stdint.h>

#include <vector>

#include <executorch/runtime/executor/verify/flatbuffer_structure.h>

namespace executorch::fuzz {

/// A number in a flatbuffer.
struct FieldSlot {
  size_t position;
  size_t width;
  /// Numbers of the same field of the same kind of table, or items of it, have the same.
  size_t field;
};

/// All numbers in the tables and vectors of a flatbuffer that verify_flatbuffer_structure() has
/// accepted. Changing one leaves it accepted: only its meaning can be wrong.
std::vector<FieldSlot> find_slots(runtime::Span<const uint8_t> bytes,
                                  const runtime::internal::StructureRules& rules);

}  // namespace executorch::fuzz
