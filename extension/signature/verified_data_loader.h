// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
#pragma once

#include <stddef.h>

#include <utility>

#include <executorch/extension/data_loader/buffer_data_loader.h>
#include <executorch/extension/signature/sha256.h>
#include <executorch/runtime/core/data_loader.h>

namespace executorch::extension::signature {

/// A DataLoader of a file with a known SHA-256, from SignedFiles for instance. The whole file is in
/// memory: later changes of the file have no effect. The loader must outlive all that is loaded.
class VerifiedDataLoader final : public runtime::DataLoader {
 public:
  /// InvalidExternalData if the file has another digest; errors as FileDataLoader.
  static runtime::Result<VerifiedDataLoader> from(const char* path, const Sha256& digest);

  VerifiedDataLoader(VerifiedDataLoader&& other) noexcept
      : bytes_(std::move(other.bytes_)), view_(other.view_) {
    other.view_ = BufferDataLoader(nullptr, 0);
  }

  runtime::Result<runtime::FreeableBuffer> load(size_t offset, size_t size,
                                                const SegmentInfo& segment_info) const override {
    return view_.load(offset, size, segment_info);
  }
  runtime::Error load_into(size_t offset, size_t size, const SegmentInfo& segment_info,
                           void* buffer) const override {
    return view_.load_into(offset, size, segment_info, buffer);
  }
  runtime::Result<size_t> size() const override { return view_.size(); }

 private:
  explicit VerifiedDataLoader(runtime::FreeableBuffer bytes)
      : bytes_(std::move(bytes)), view_(bytes_.data(), bytes_.size()) {}

  runtime::FreeableBuffer bytes_;
  BufferDataLoader view_;
};

}  // namespace executorch::extension::signature
