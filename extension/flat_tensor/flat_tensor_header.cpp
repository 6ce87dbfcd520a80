// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
#include <executorch/extension/flat_tensor/flat_tensor_header.h>

#include <inttypes.h>
#include <string.h>

#include <executorch/runtime/core/overflow.h>
#include <executorch/runtime/platform/log.h>

namespace executorch::extension::internal {
namespace {

constexpr size_t kIdentifierAt = 4;
constexpr char kIdentifier[] = "FT01";
constexpr size_t kMagicAt = 8;
constexpr char kMagic[] = "FH01";
constexpr size_t kTagSize = 4;
constexpr size_t kLengthAt = 12;
constexpr uint64_t kLength = 40;

template <typename T>
uint64_t read_little_endian(runtime::Span<const uint8_t> bytes, size_t position) {
  uint64_t value = 0;
  for (size_t i = 0; i < sizeof(T); ++i) {
    value |= static_cast<uint64_t>(bytes[position + i]) << (8 * i);
  }
  return value;
}

/// End of `size` bytes at `offset`; an error if it exceeds `limit`.
runtime::Result<size_t> end_of(const char* what, uint64_t offset, uint64_t size, size_t limit) {
  uint64_t end = 0;
  ET_CHECK_OR_RETURN_ERROR(
      !runtime::add_overflows(offset, size, &end) && end <= limit, InvalidExternalData,
      "data file header: %s of %" PRIu64 " bytes at %" PRIu64 " in a file of %zu", what, size,
      offset, limit);
  return static_cast<size_t>(end);
}

}  // namespace

runtime::Result<FlatTensorHeader> FlatTensorHeader::parse(runtime::Span<const uint8_t> head,
                                                          size_t file_size) {
  ET_CHECK_OR_RETURN_ERROR(head.size() >= kSize, InvalidExternalData,
                           "data file header: the file has %zu bytes, expected at least %zu",
                           file_size, kSize);
  ET_CHECK_OR_RETURN_ERROR(memcmp(head.data() + kIdentifierAt, kIdentifier, kTagSize) == 0 &&
                               memcmp(head.data() + kMagicAt, kMagic, kTagSize) == 0,
                           InvalidExternalData,
                           "data file header: expected the identifier %s and the magic %s: not a "
                           "data file, or of another version",
                           kIdentifier, kMagic);
  const uint64_t length = read_little_endian<uint32_t>(head, kLengthAt);
  const uint64_t flatbuffer = read_little_endian<uint64_t>(head, 16);
  const uint64_t segments = read_little_endian<uint64_t>(head, 32);
  ET_CHECK_OR_RETURN_ERROR(length >= kLength && flatbuffer >= kMagicAt + kLength,
                           InvalidExternalData,
                           "data file header: length %" PRIu64 " and flatbuffer at %" PRIu64
                           ", expected at least 40 and 48",
                           length, flatbuffer);
  FlatTensorHeader header;
  header.flatbuffer_end = ET_UNWRAP(
      end_of("a flatbuffer", flatbuffer, read_little_endian<uint64_t>(head, 24), file_size));
  ET_CHECK_OR_RETURN_ERROR(header.flatbuffer_end <= INT32_MAX, InvalidExternalData,
                           "data file header: a flatbuffer that ends at %zu, expected at most %d",
                           header.flatbuffer_end, INT32_MAX);
  header.segment_area_size = static_cast<size_t>(read_little_endian<uint64_t>(head, 40));
  ET_CHECK_OK_OR_RETURN_ERROR(
      end_of("segments", segments, read_little_endian<uint64_t>(head, 40), file_size).error());
  header.segment_base = static_cast<size_t>(segments);
  ET_CHECK_OR_RETURN_ERROR(
      header.segment_area_size == 0 || header.segment_base >= header.flatbuffer_end,
      InvalidExternalData, "data file header: segments at %zu, before the flatbuffer's end at %zu",
      header.segment_base, header.flatbuffer_end);
  return header;
}

}  // namespace executorch::extension::internal
