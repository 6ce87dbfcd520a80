// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// Checks that bytes are a well-formed flatbuffer of known tables: every offset, vtable, string and
// vector lies inside the bytes and is aligned for its items, required fields are present, unions
// have a known type.
//
// The tables are data (rows), not generated functions, which takes a third of the code.
// program_verifier.h checks the meaning of the values.
#pragma once

#include <stddef.h>
#include <stdint.h>

#include <executorch/runtime/core/error.h>
#include <executorch/runtime/core/span.h>

namespace executorch::runtime::internal {

/// How a field is stored. The numbers name the width of a scalar or of a vector's items, in bytes:
/// two to the power of the lowest two bits.
enum class FieldKind : uint8_t {
  Scalar1,
  Scalar2,
  Scalar4,
  Scalar8,
  Vector1,
  Vector2,
  Vector4,
  Vector8,
  String,
  Table,
  TableVector,
  Union,
};

enum class Presence : uint8_t { Optional, Required };

/// One field of a table.
struct FieldRule {
  /// The index of the table that has the field.
  uint8_t owner;
  /// The field's slot in the vtable. A union's type is in the slot before.
  uint8_t vtable_slot;
  FieldKind kind;
  Presence presence = Presence::Optional;
  /// Table, TableVector: the index of the table's rule. Union: that of its first member; the others
  /// follow it.
  uint8_t table = 0;
  /// Union: the number of members.
  uint8_t members = 0;
};

/// The rows of one table, at most 32: fields[first], fields[first + 1], ...
struct TableRule {
  uint8_t first = 0;
  uint8_t count = 0;
};

/// All tables. They must not refer to each other in a cycle, which bounds the depth of the walk by
/// their number. It owns nothing: the arrays must outlive it.
struct StructureRules {
  Span<const FieldRule> fields;
  Span<const TableRule> tables;
  /// Names of the tables for messages; null in a build without messages.
  const char* const* names;
  /// The index of the root table.
  uint8_t root;
};

/// Walks `bytes` (at most 2 GB, aligned to 8; a 4-byte root offset first) from its root. The walk
/// visits at most one table or vector for each byte, so that a small file with tables shared a
/// thousandfold is not slow to check. 16 characters of a string count as a visit: strings may
/// overlap, and reading every one takes time.
/// @retval Error::InvalidProgram After a log message with the table, the field's slot and the byte.
Error verify_flatbuffer_structure(Span<const uint8_t> bytes, const StructureRules& rules);

}  // namespace executorch::runtime::internal
