// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
#pragma once

#include <stddef.h>
#include <stdint.h>

#include <executorch/runtime/core/result.h>
#include <executorch/runtime/platform/assert.h>

namespace executorch::runtime {

/// Memory, or a 64-bit handle of memory elsewhere, with the function that frees it: once, in Free()
/// or in the destructor.
class FreeableBuffer final {
 public:
  using FreeFn = void (*)(void* context, void* data, size_t size);
  using FreeUInt64Fn = void (*)(void* context, uint64_t data_uint64, size_t size);

  FreeableBuffer() = default;
  /// `free_fn` releases the memory; null: the buffer does not own it. `free_fn_context` is passed
  /// to it and must outlive the buffer.
  FreeableBuffer(const void* data, size_t size, FreeFn free_fn, void* free_fn_context = nullptr)
      : free_fn_(free_fn), context_(free_fn_context), size_(size) {
    value_.data = data;
  }
  explicit FreeableBuffer(uint64_t data_uint64, size_t size, FreeUInt64Fn free_fn,
                          void* free_fn_context = nullptr)
      : free_uint64_fn_(free_fn), context_(free_fn_context), size_(size), is_handle_(true) {
    value_.handle = data_uint64;
  }
  FreeableBuffer(FreeableBuffer&& other) noexcept { take(other); }
  FreeableBuffer& operator=(FreeableBuffer&& other) noexcept {
    if (this != &other) {
      Free();
      take(other);
    }
    return *this;
  }
  FreeableBuffer(const FreeableBuffer&) = delete;
  FreeableBuffer& operator=(const FreeableBuffer&) = delete;
  ~FreeableBuffer() { Free(); }

  /// Frees the memory now; data() is null and size() 0 from then on.
  void Free() {
    if (is_handle_) {
      if (value_.handle != 0 && free_uint64_fn_ != nullptr) {
        free_uint64_fn_(context_, value_.handle, size_);
      }
      value_.handle = 0;
    } else {
      if (value_.data != nullptr && free_fn_ != nullptr) {
        free_fn_(context_, const_cast<void*>(value_.data), size_);
      }
      value_.data = nullptr;
    }
    size_ = 0;
  }

  size_t size() const { return size_; }
  /// The memory; ends the program if the buffer is a handle (see data_safe()).
  const void* data() const {
    ET_CHECK_MSG(!is_handle_, "data() of a buffer that is a 64-bit handle");
    return value_.data;
  }
  /// The memory; InvalidType if the buffer is a handle.
  Result<const void*> data_safe() const {
    ET_CHECK_OR_RETURN_ERROR(!is_handle_, InvalidType, "the buffer is a 64-bit handle, not memory");
    return value_.data;
  }
  /// The handle; InvalidType if the buffer is memory.
  Result<uint64_t> data_uint64_type() const {
    ET_CHECK_OR_RETURN_ERROR(is_handle_, InvalidType, "the buffer is memory, not a 64-bit handle");
    return value_.handle;
  }

 private:
  void take(FreeableBuffer& other) {
    value_ = other.value_;
    free_fn_ = other.free_fn_;
    free_uint64_fn_ = other.free_uint64_fn_;
    context_ = other.context_;
    size_ = other.size_;
    is_handle_ = other.is_handle_;
    other.free_fn_ = nullptr;
    other.free_uint64_fn_ = nullptr;
    other.Free();
  }

  union {
    const void* data;
    uint64_t handle;
  } value_ = {nullptr};
  FreeFn free_fn_ = nullptr;
  FreeUInt64Fn free_uint64_fn_ = nullptr;
  void* context_ = nullptr;
  size_t size_ = 0;
  bool is_handle_ = false;
};

}  // namespace executorch::runtime

// Documented names of the same things.
namespace torch::executor {
using ::executorch::runtime::FreeableBuffer;
}  // namespace torch::executor
