// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
#pragma once

#include <memory>
#include <vector>

#include <executorch/backends/xnnpack/runtime/payload/payload.h>
#include <executorch/runtime/core/freeable_buffer.h>
#include <executorch/runtime/core/named_data_map.h>

namespace executorch::backends::xnnpack {

/// The bytes of a payload's constants, in the payload or loaded from named data. Constants that are
/// not aligned for their elements, or that kernels would read beyond the end of, are copied.
/// Entries of the same bytes share one load and one copy.
class Constants final {
 public:
  /// @param names May be null when no constant is named.
  /// @param packed By constant: true if only the creation of operators reads it.
  /// @retval Error::NotFound No data of that name.
  /// @retval Error::InvalidExternalData Data of another size.
  /// @retval Error::MemoryAllocationFailed The memory of all delegates does not suffice for a copy.
  static runtime::Result<Constants> load(const Payload& payload,
                                         const ET_RUNTIME_NAMESPACE::NamedDataMap* names,
                                         const std::vector<bool>& packed);

  /// The bytes of constant `index`; null for index 0, which means no constant.
  const void* data(size_t index) const { return pointers_[index]; }

  /// Frees those of `constants` that were loaded or copied, and whose memory no other constant
  /// shares, which invalidates pointers to them.
  void free(const std::vector<bool>& constants) {
    for (size_t i = 0; i < loaded_.size(); ++i) {
      if (constants[i]) {
        loaded_[i].reset();
      }
    }
  }

 private:
  class Loader;

  std::vector<const void*> pointers_;
  /// By index; null where the payload's own bytes are used.
  std::vector<std::shared_ptr<const runtime::FreeableBuffer>> loaded_;
};

}  // namespace executorch::backends::xnnpack
