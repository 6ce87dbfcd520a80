// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include <executorch/backends/xnnpack/runtime/payload/constants.h>
#include <executorch/backends/xnnpack/runtime/payload/payload.h>
#include <executorch/backends/xnnpack/runtime/weights/digest/digest.h>
#include <executorch/backends/xnnpack/runtime/weights/file/mapped_file.h>
#include <executorch/backends/xnnpack/runtime/weights/file/packed_file.h>

namespace executorch::backends::xnnpack {

/// Digests of a payload's constants, computed on demand, just before packing reads the same bytes.
/// A digest is that of the bytes. Without a file of packed weights, the digest of a constant in a
/// mapped file is that of its place in the file, which avoids reading it. Digests of mapped files
/// that the process or a file of packed weights already records are reused.
class ConstantDigests final {
 public:
  /// @param payload, constants Must outlive this object. A constant must not be freed before its
  /// first of().
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
  /// True if the constants are so large that querying the system for mapped files pays off.
  bool looks_up_;
  std::optional<MappedFiles> mapped_;
  std::vector<std::optional<Digest>> known_;
};

}  // namespace executorch::backends::xnnpack
