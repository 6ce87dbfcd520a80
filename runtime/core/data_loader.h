// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
#pragma once

#include <stddef.h>

#include <executorch/runtime/core/freeable_buffer.h>
#include <executorch/runtime/core/result.h>

namespace executorch::runtime {

/// Source of a program's bytes. Implementations must be thread-safe.
class DataLoader {
 public:
  /// Purpose of a piece of data, with which a loader can choose its memory.
  struct SegmentInfo {
    enum class Type {
      /// The program itself.
      Program,
      /// Constant tensors.
      Constant,
      /// Payload of a backend, written at export.
      Backend,
      /// Initial values of tensors that the program changes.
      Mutable,
      /// Data kept outside of the program.
      External,
    };

    SegmentInfo() = default;
    explicit SegmentInfo(Type type, size_t index = 0, const char* text = nullptr)
        : segment_type(type), segment_index(index), descriptor(text) {}

    Type segment_type = Type::Program;
    /// The index in the program's list of segments; unused for the program and external data.
    size_t segment_index = 0;
    /// For Backend, the backend's name; else null. Valid during the call only.
    const char* descriptor = nullptr;
  };

  virtual ~DataLoader() = default;

  /// Loads `size` bytes from `offset`. The loader must outlive the buffer. InvalidArgument if the
  /// range exceeds the data, AccessFailed if reading fails, MemoryAllocationFailed if memory is
  /// exhausted.
  [[nodiscard]] virtual Result<FreeableBuffer> load(size_t offset, size_t size,
                                                    const SegmentInfo& segment_info) const = 0;

  /// The same into the caller's memory: `buffer` has room for `size` bytes.
  [[nodiscard]] virtual Error load_into(size_t offset, size_t size, const SegmentInfo& segment_info,
                                        void* buffer) const {
    return copy_loaded(offset, size, segment_info, buffer);
  }

  /// The size of the data in bytes.
  [[nodiscard]] virtual Result<size_t> size() const = 0;

 private:
  // Every virtual function is inline: an out-of-line one would tie the type information to this
  // library, and code with RTTI could not derive from this class where the library is built
  // without RTTI (for size).
  Error copy_loaded(size_t offset, size_t size, const SegmentInfo& segment_info,
                    void* buffer) const;
};

}  // namespace executorch::runtime

// Documented names of the same things.
namespace torch::executor {
using ::executorch::runtime::DataLoader;
}  // namespace torch::executor
