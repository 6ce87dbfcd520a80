// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
#pragma once

#include <stddef.h>

#include <utility>

#include <executorch/extension/data_loader/file_descriptor.h>
#include <executorch/runtime/core/data_loader.h>

namespace executorch::extension {

/// A DataLoader that maps pieces of a file into memory. Pages take memory when they are read, and
/// the system may evict them. Pieces are read-only, and may outlive the loader. The file must not
/// become shorter while a piece is in use.
class MmapDataLoader final : public executorch::runtime::DataLoader {
 public:
  /// Locking of pieces in memory.
  enum class MlockConfig {
    /// Not locked: the system may evict pages.
    NoMlock,
    /// All locked when loaded; loading fails if the system does not allow it.
    UseMlock,
    /// Locked if the system allows it.
    UseMlockIgnoreErrors,
    /// Not locked; the system is advised to read pieces ahead, in order, which it may ignore.
    UseMadvise,
  };

  /// Opens the file. NotFound if the file does not exist, AccessFailed if it cannot be read.
  static executorch::runtime::Result<MmapDataLoader> from(
      const char* file_name, MlockConfig mlock_config = MlockConfig::UseMlock);

  /// Deprecated names of from().
  static executorch::runtime::Result<MmapDataLoader> From(
      const char* file_name, MlockConfig mlock_config = MlockConfig::UseMlock) {
    return from(file_name, mlock_config);
  }
  static executorch::runtime::Result<MmapDataLoader> From(const char* file_name, bool use_mlock) {
    return from(file_name, use_mlock ? MlockConfig::UseMlock : MlockConfig::NoMlock);
  }

  MmapDataLoader(MmapDataLoader&&) noexcept = default;

  executorch::runtime::Result<executorch::runtime::FreeableBuffer> load(
      size_t offset, size_t size, const SegmentInfo& segment_info) const override;
  executorch::runtime::Error load_into(size_t offset, size_t size, const SegmentInfo& segment_info,
                                       void* buffer) const override;
  executorch::runtime::Result<size_t> size() const override;

 private:
  MmapDataLoader(internal::FileDescriptor file, size_t page_size, MlockConfig mlock_config)
      : file_(std::move(file)), page_size_(page_size), mlock_config_(mlock_config) {}

  internal::FileDescriptor file_;
  size_t page_size_;
  MlockConfig mlock_config_;
};

}  // namespace executorch::extension

// Documented names of the same things.
namespace torch::executor::util {
using ::executorch::extension::MmapDataLoader;
}  // namespace torch::executor::util
