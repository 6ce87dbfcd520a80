// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
#include <executorch/extension/data_loader/file_descriptor_data_loader.h>
#include <limits.h>
#include <string.h>

namespace executorch::extension {

using executorch::runtime::Result;

namespace {

constexpr char kScheme[] = "fd:///";

Result<int> parse_descriptor(const char* uri) {
  ET_CHECK_OR_RETURN_ERROR(uri != nullptr, InvalidArgument, "no URI of a file descriptor");
  constexpr size_t kSchemeLength = sizeof(kScheme) - 1;
  long long number =
      strncmp(uri, kScheme, kSchemeLength) == 0 && uri[kSchemeLength] != '\0' ? 0 : -1;
  for (const char* c = uri + kSchemeLength; number >= 0 && *c != '\0'; ++c) {
    number = *c >= '0' && *c <= '9' && number <= INT_MAX ? number * 10 + (*c - '0') : -1;
  }
  ET_CHECK_OR_RETURN_ERROR(number >= 0 && number <= INT_MAX, InvalidArgument,
                           "expected a URI as fd:///3, found %s", uri);
  return static_cast<int>(number);
}

}  // namespace

Result<FileDescriptorDataLoader> FileDescriptorDataLoader::fromFileDescriptorUri(
    const char* file_descriptor_uri, size_t alignment) {
  ET_CHECK_OK_OR_RETURN_ERROR(internal::check_alignment(alignment));
  const int fd = ET_UNWRAP(parse_descriptor(file_descriptor_uri));
  return FileDescriptorDataLoader(
      ET_UNWRAP(internal::FileDescriptor::adopt(fd, file_descriptor_uri)), alignment);
}

}  // namespace executorch::extension
