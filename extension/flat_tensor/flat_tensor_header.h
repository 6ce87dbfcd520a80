// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// The first bytes of a .ptd file. Little-endian, offsets count from byte 0:
//
//   0  u32  offset of the flatbuffer's root table
//   4  4    file identifier "FT01"
//   8  4    "FH01"
//  12  u32  bytes of the extended header: at least 40
//  16  u64  offset of the flatbuffer's rest
//  24  u64  bytes of it
//  32  u64  offset of the first segment
//  40  u64  bytes of all segments
#pragma once

#include <stddef.h>
#include <stdint.h>

#include <executorch/runtime/core/result.h>
#include <executorch/runtime/core/span.h>

namespace executorch::extension::internal {

/// Locations of the parts of a file. They are within the file and do not overlap.
struct FlatTensorHeader {
  /// Bytes up to the flatbuffer's end, from byte 0.
  size_t flatbuffer_end;
  size_t segment_base;
  /// Bytes from there that segments may use.
  size_t segment_area_size;

  /// The bytes that parse() needs.
  static constexpr size_t kSize = 48;

  /// @param head The first kSize bytes of the file, or all of a smaller one.
  /// @param file_size Bytes of the whole file.
  /// @retval Error::InvalidExternalData The header is invalid; the log names expected and found.
  static runtime::Result<FlatTensorHeader> parse(runtime::Span<const uint8_t> head,
                                                 size_t file_size);
};

}  // namespace executorch::extension::internal
