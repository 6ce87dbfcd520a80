// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include <executorch/backends/xnnpack/runtime/payload/constants.h>
#include <executorch/backends/xnnpack/runtime/payload/payload.h>
#include <executorch/backends/xnnpack/runtime/weights/digest.h>
#include <executorch/backends/xnnpack/runtime/weights/mapped_file.h>
#include <executorch/backends/xnnpack/runtime/weights/packed_file.h>

namespace executorch::backends::xnnpack {

/// What tells a payload's constants apart, found when it is asked for: what is packed next is then
/// in the cache. It is the digest of their bytes; without a file of packed weights, of those in a
/// mapped file it is the digest of their place, for which they need not be read. What the process,
/// or a file of packed weights, knows of a file that is mapped is not read again.
class ConstantDigests final {
 public:
  /// @param payload, constants Must outlive this, and the constants must not be freed before they
  /// are asked for.
  /// @param file May be null.
  ConstantDigests(const Payload& payload, const Constants& constants,
                  std::shared_ptr<PackedFile> file);

  /// The digest of constant `index`.
  const Digest& of(size_t index);

 private:
  Digest find(const void* data, size_t size);

  const Payload* payload_;
  const Constants* constants_;
  std::shared_ptr<PackedFile> file_;
  /// Whether there is so much to read that asking the system where it comes from is worth it.
  bool looks_up_;
  std::optional<MappedFiles> mapped_;
  std::vector<std::optional<Digest>> known_;
};

}  // namespace executorch::backends::xnnpack
