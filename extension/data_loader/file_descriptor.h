// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
#pragma once

#include <stddef.h>

#include <string>

#include <executorch/extension/memory_allocator/byte_budget.h>
#include <executorch/runtime/core/freeable_buffer.h>
#include <executorch/runtime/core/result.h>

namespace executorch::extension::internal {

/// An open file: its descriptor, which is closed with the object, its name for messages, and its
/// size when it was opened.
class FileDescriptor final {
 public:
  /// NotFound if the file does not exist, AccessFailed if it cannot be opened or is not a regular
  /// file, InvalidArgument if `path` is null.
  static executorch::runtime::Result<FileDescriptor> open(const char* path);
  /// Takes ownership of `fd`, also on failure. AccessFailed unless it is an open, regular file.
  static executorch::runtime::Result<FileDescriptor> adopt(int fd, const char* name);

  FileDescriptor(FileDescriptor&& other) noexcept;
  FileDescriptor(const FileDescriptor&) = delete;
  FileDescriptor& operator=(const FileDescriptor&) = delete;
  FileDescriptor& operator=(FileDescriptor&&) = delete;
  ~FileDescriptor();

  int fd() const { return fd_; }
  const char* name() const { return name_.c_str(); }
  /// InvalidState if the object was moved from, as of read().
  executorch::runtime::Result<size_t> size() const;
  /// Ok if the file was `offset + size` bytes long when it was opened, else InvalidArgument.
  executorch::runtime::Error check_range(size_t offset, size_t size) const;

  /// Reads `size` bytes at `offset` into `buffer`; InvalidArgument if `buffer` is null or the file
  /// was not that long when it was opened, AccessFailed if it cannot be read or has become shorter.
  executorch::runtime::Error read(size_t offset, size_t size, void* buffer) const;

  /// Like read(), into new memory at a multiple of `alignment`, a power of two. The buffer may
  /// outlive the file. MemoryAllocationFailed if memory is exhausted, or as take_copy() says.
  executorch::runtime::Result<executorch::runtime::FreeableBuffer> read(size_t offset, size_t size,
                                                                        size_t alignment) const;

 private:
  explicit FileDescriptor(int fd) : fd_(fd) {}
  executorch::runtime::Error check_open() const;

  int fd_;
  std::string name_;
  size_t size_ = 0;
};

/// Takes the bytes of a copy of a part of a file.
/// @retval Error::MemoryAllocationFailed The bytes of all copies would exceed memory_limit() and
/// four times the file's size.
executorch::runtime::Result<TakenBytes> take_copy(const char* name, size_t size, size_t file_size);

/// Returns Ok for a power of two, else InvalidArgument.
executorch::runtime::Error check_alignment(size_t alignment);

}  // namespace executorch::extension::internal
