// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// The first bytes of a program file. Little-endian, offsets count from byte 0:
//
//   0  u32  offset of the flatbuffer's root table
//   4  4    file identifier "ET12"
//   8  4    "eh00", if there is an extended header (files without segments may lack it)
//  12  u32  bytes of the extended header: 24 (without the last field), 32 or more
//  16  u64  bytes of the flatbuffer, headers included
//  24  u64  offset of the first segment; 0: no segments
//  32  u64  bytes of all segments
#pragma once

#include <stddef.h>
#include <stdint.h>

#include <executorch/runtime/core/error.h>
#include <executorch/runtime/core/result.h>
#include <executorch/runtime/core/span.h>

namespace executorch::runtime::internal {

/// Where the parts of a file lie. They are inside of the file and do not overlap.
struct ProgramHeader {
  /// Bytes of the flatbuffer, from byte 0.
  size_t flatbuffer_size;
  /// Where segments start; 0 if there are none.
  size_t segment_base;
  /// Bytes from there that segments may use.
  size_t segment_area_size;
};

/// The bytes that parse_program_header() needs, or all of a file that is smaller.
constexpr size_t kProgramHeaderSize = 40;

enum class HeaderKind : uint8_t {
  /// Too few bytes to decide.
  TooShort,
  /// Not a program file.
  Foreign,
  /// A program file of another version.
  OtherVersion,
  Program,
};

HeaderKind classify_program_header(Span<const uint8_t> head);

/// @param head The first min(kProgramHeaderSize, file_size) bytes of the file, or more.
/// @param file_size Bytes of the whole file.
/// @retval Error::InvalidProgram After a log message with what was expected and found.
Result<ProgramHeader> parse_program_header(Span<const uint8_t> head, size_t file_size);

}  // namespace executorch::runtime::internal
