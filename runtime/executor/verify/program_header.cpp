// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
#include <executorch/runtime/executor/verify/program_header.h>

#include <string.h>

#include <executorch/runtime/core/overflow.h>
#include <executorch/runtime/platform/log.h>

namespace executorch::runtime::internal {
namespace {

constexpr size_t kIdentifierAt = 4;
constexpr char kIdentifier[] = "ET12";
// Common start of the identifiers of all versions.
constexpr size_t kIdentifierFamilySize = 2;
constexpr size_t kIdentifierSize = 4;
constexpr size_t kMagicAt = 8;
constexpr char kMagic[] = "eh00";
constexpr size_t kMagicSize = 4;
constexpr size_t kLengthAt = 12;
constexpr size_t kFlatbufferSizeAt = 16;
constexpr size_t kSegmentBaseAt = 24;
constexpr size_t kSegmentAreaAt = 32;
// Lengths of the extended header, which starts at kMagicAt.
constexpr size_t kLengthWithoutArea = 24;
constexpr size_t kLengthWithArea = 32;

uint64_t read_little_endian(Span<const uint8_t> bytes, size_t position, size_t width) {
  uint64_t value = 0;
  for (size_t i = 0; i < width; ++i) {
    value |= static_cast<uint64_t>(bytes[position + i]) << (8 * i);
  }
  return value;
}

bool has_extended_header(Span<const uint8_t> head) {
  return head.size() >= kMagicAt + kLengthWithoutArea &&
         memcmp(head.data() + kMagicAt, kMagic, kMagicSize) == 0;
}

/// The extended header's fields as they stand in the file.
struct Fields {
  uint64_t length = 0;
  uint64_t flatbuffer_size = 0;
  uint64_t segment_base = 0;
  uint64_t segment_area = 0;
  uint64_t segment_end = 0;
};

Error read_fields(Span<const uint8_t> head, size_t file_size, Fields* out) {
  out->length = read_little_endian(head, kLengthAt, sizeof(uint32_t));
  out->flatbuffer_size = read_little_endian(head, kFlatbufferSizeAt, sizeof(uint64_t));
  out->segment_base = read_little_endian(head, kSegmentBaseAt, sizeof(uint64_t));
  ET_CHECK_OR_RETURN_ERROR(out->length >= kLengthWithoutArea, InvalidProgram,
                           "program header: length %" PRIu64 ", expected 24 or at least 32",
                           out->length);
  const bool has_area =
      out->length >= kLengthWithArea && head.size() >= kSegmentAreaAt + sizeof(uint64_t);
  ET_CHECK_OR_RETURN_ERROR(has_area || out->length < kLengthWithArea, InvalidProgram,
                           "program header: the file ends after %zu bytes, within the header",
                           file_size);
  if (has_area) {
    out->segment_area = read_little_endian(head, kSegmentAreaAt, sizeof(uint64_t));
  } else if (out->segment_base != 0 && out->segment_base <= file_size) {
    out->segment_area = file_size - out->segment_base;
  }
  ET_CHECK_OR_RETURN_ERROR(
      !add_overflows(out->segment_base, out->segment_area, &out->segment_end), InvalidProgram,
      "program header: segments at %" PRIu64 " with %" PRIu64 " bytes do not fit 64 bits",
      out->segment_base, out->segment_area);
  return Error::Ok;
}

}  // namespace

HeaderKind classify_program_header(Span<const uint8_t> head) {
  if (head.size() < kIdentifierAt + kIdentifierSize) {
    return HeaderKind::TooShort;
  }
  const uint8_t* identifier = head.data() + kIdentifierAt;
  if (memcmp(identifier, kIdentifier, kIdentifierSize) == 0) {
    return HeaderKind::Program;
  }
  return memcmp(identifier, kIdentifier, kIdentifierFamilySize) == 0 ? HeaderKind::OtherVersion
                                                                     : HeaderKind::Foreign;
}

Result<ProgramHeader> parse_program_header(Span<const uint8_t> head, size_t file_size) {
  const HeaderKind kind = classify_program_header(head);
  ET_CHECK_OR_RETURN_ERROR(kind != HeaderKind::TooShort, InvalidProgram,
                           "program header: the file has %zu bytes, too few for a program",
                           file_size);
  ET_CHECK_OR_RETURN_ERROR(
      kind == HeaderKind::Program, InvalidProgram,
      "program header: identifier %02x%02x%02x%02x, expected %s (%s)", head[kIdentifierAt],
      head[kIdentifierAt + 1], head[kIdentifierAt + 2], head[kIdentifierAt + 3], kIdentifier,
      kind == HeaderKind::OtherVersion ? "another version of the format" : "not a program file");
  if (!has_extended_header(head)) {
    return ProgramHeader{file_size, 0, 0};
  }
  Fields fields;
  ET_CHECK_OK_OR_RETURN_ERROR(read_fields(head, file_size, &fields));
  ET_CHECK_OR_RETURN_ERROR(
      fields.flatbuffer_size >= kMagicAt + fields.length && fields.flatbuffer_size <= file_size,
      InvalidProgram, "program header: flatbuffer of %" PRIu64 " bytes in a file of %zu",
      fields.flatbuffer_size, file_size);
  if (fields.segment_base == 0) {
    return ProgramHeader{static_cast<size_t>(fields.flatbuffer_size), 0, 0};
  }
  ET_CHECK_OR_RETURN_ERROR(
      fields.segment_base >= fields.flatbuffer_size && fields.segment_end <= file_size,
      InvalidProgram,
      "program header: segments in bytes [%" PRIu64 ", %" PRIu64
      "), expected between the flatbuffer's end, %" PRIu64 ", and the file's, %zu",
      fields.segment_base, fields.segment_end, fields.flatbuffer_size, file_size);
  return ProgramHeader{static_cast<size_t>(fields.flatbuffer_size),
                       static_cast<size_t>(fields.segment_base),
                       static_cast<size_t>(fields.segment_area)};
}

}  // namespace executorch::runtime::internal
