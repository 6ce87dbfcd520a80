// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
#include <executorch/runtime/core/data_loader.h>
#include <string.h>

namespace executorch::runtime {

/// Default for loaders without a faster copy.
Error DataLoader::copy_loaded(size_t offset, size_t size, const SegmentInfo& segment_info,
                              void* buffer) const {
  ET_CHECK_OR_RETURN_ERROR(buffer != nullptr || size == 0, InvalidArgument,
                           "no buffer to load %zu bytes into", size);
  const FreeableBuffer data = ET_UNWRAP(load(offset, size, segment_info));
  ET_CHECK_OR_RETURN_ERROR(data.size() == size, AccessFailed, "%zu bytes at %zu loaded, not %zu",
                           data.size(), offset, size);
  if (size > 0) {
    memcpy(buffer, data.data(), size);
  }
  return Error::Ok;
}

}  // namespace executorch::runtime
