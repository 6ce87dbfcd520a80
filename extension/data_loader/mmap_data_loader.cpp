// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
#include <errno.h>
#include <executorch/extension/data_loader/mmap_data_loader.h>
#include <stddef.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

namespace executorch::extension {

using executorch::runtime::Error;
using executorch::runtime::FreeableBuffer;
using executorch::runtime::Result;

Result<MmapDataLoader> MmapDataLoader::from(const char* file_name, MlockConfig mlock_config) {
  const long page_size = sysconf(_SC_PAGESIZE);
  ET_CHECK_OR_RETURN_ERROR(page_size > 0, AccessFailed, "the size of a page is unknown: %s",
                           strerror(errno));
  return MmapDataLoader(ET_UNWRAP(internal::FileDescriptor::open(file_name)),
                        static_cast<size_t>(page_size), mlock_config);
}

namespace {

/// `context` is the page size: a mapping begins at a page boundary, the data anywhere in the page.
void unmap(void* context, void* data, size_t size) {
  const uintptr_t address = reinterpret_cast<uintptr_t>(data);
  const size_t before = address % reinterpret_cast<uintptr_t>(context);
  munmap(reinterpret_cast<void*>(address - before), size + before);
}

}  // namespace

Result<FreeableBuffer> MmapDataLoader::load(size_t offset, size_t size,
                                            const SegmentInfo& segment_info) const {
  if (segment_info.segment_type == SegmentInfo::Type::Program) {
    // The runtime verifies these bytes once and relies on them. A mapping would show later writes
    // to the file, and crash the process if the file became shorter.
    return file_.read(offset, size, alignof(max_align_t));
  }
  ET_CHECK_OK_OR_RETURN_ERROR(file_.check_range(offset, size));
  if (size == 0) {  // an empty mapping is an error of mmap's
    return FreeableBuffer(nullptr, 0, nullptr);
  }
  const size_t before = offset % page_size_;
  void* const pages = mmap(nullptr, size + before, PROT_READ, MAP_PRIVATE, file_.fd(),
                           static_cast<off_t>(offset - before));
  ET_CHECK_OR_RETURN_ERROR(pages != MAP_FAILED, AccessFailed,
                           "%s: %zu bytes at offset %zu cannot be mapped: %s", file_.name(), size,
                           offset, strerror(errno));
  FreeableBuffer buffer(static_cast<char*>(pages) + before, size, unmap,
                        reinterpret_cast<void*>(page_size_));
  if (mlock_config_ == MlockConfig::UseMadvise) {
    if (madvise(pages, size + before, MADV_SEQUENTIAL) != 0 ||
        madvise(pages, size + before, MADV_WILLNEED) != 0) {
      ET_LOG(Debug, "%s: %zu bytes at offset %zu cannot be read ahead: %s", file_.name(), size,
             offset, strerror(errno));
    }
  } else if (mlock_config_ != MlockConfig::NoMlock && mlock(pages, size + before) != 0) {
    ET_CHECK_OR_RETURN_ERROR(mlock_config_ == MlockConfig::UseMlockIgnoreErrors, NotSupported,
                             "%s: %zu bytes at offset %zu cannot be locked in memory: %s",
                             file_.name(), size, offset, strerror(errno));
    ET_LOG(Debug, "%s: %zu bytes at offset %zu stay unlocked: %s", file_.name(), size, offset,
           strerror(errno));
  }
  return buffer;
}

Error MmapDataLoader::load_into(size_t offset, size_t size, const SegmentInfo&,
                                void* buffer) const {
  return file_.read(offset, size, buffer);
}

Result<size_t> MmapDataLoader::size() const { return file_.size(); }

}  // namespace executorch::extension
