// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
#include <executorch/extension/data_loader/file_data_loader.h>

namespace executorch::extension {

using executorch::runtime::Result;

Result<FileDataLoader> FileDataLoader::from(const char* file_name, size_t alignment) {
  ET_CHECK_OK_OR_RETURN_ERROR(internal::check_alignment(alignment));
  return FileDataLoader(ET_UNWRAP(internal::FileDescriptor::open(file_name)), alignment);
}

}  // namespace executorch::extension
