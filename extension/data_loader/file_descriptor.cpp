// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
#include <errno.h>
#include <executorch/extension/data_loader/data_range.h>
#include <executorch/extension/data_loader/file_descriptor.h>
#include <executorch/extension/memory_allocator/no_memory.h>
#include <executorch/extension/memory_allocator/physical_memory.h>
#include <executorch/runtime/core/overflow.h>
#include <fcntl.h>
#include <stdint.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <new>

namespace executorch::extension::internal {

using executorch::runtime::Error;
using executorch::runtime::FreeableBuffer;
using executorch::runtime::Result;

Result<FileDescriptor> FileDescriptor::open(const char* path) {
  ET_CHECK_OR_RETURN_ERROR(path != nullptr, InvalidArgument,
                           "cannot open a file: the path is null");
  // Without O_NONBLOCK, opening a FIFO waits for a writer; adopt() refuses it. Regular files ignore
  // the flag.
  const int fd = ::open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (fd < 0) {
    ET_LOG(Error, "%s: cannot be opened: %s", path, strerror(errno));
    return errno == ENOENT || errno == ENOTDIR ? Error::NotFound : Error::AccessFailed;
  }
  return adopt(fd, path);
}

Result<FileDescriptor> FileDescriptor::adopt(int fd, const char* name) {
  FileDescriptor file(fd);
  ET_CHECK_OK_OR_RETURN_ERROR(or_no_memory("a file's name", [&] {
    file.name_ = name;
    return Error::Ok;
  }));
  struct stat status;
  ET_CHECK_OR_RETURN_ERROR(fstat(fd, &status) == 0, AccessFailed, "%s: no open file: %s", name,
                           strerror(errno));
  ET_CHECK_OR_RETURN_ERROR(S_ISREG(status.st_mode), AccessFailed, "%s: not a regular file", name);
  file.size_ = static_cast<size_t>(status.st_size);
  return file;
}

FileDescriptor::FileDescriptor(FileDescriptor&& other) noexcept
    : fd_(std::exchange(other.fd_, -1)), name_(std::move(other.name_)), size_(other.size_) {}

FileDescriptor::~FileDescriptor() {
  if (fd_ >= 0) {
    close(fd_);
  }
}

Error FileDescriptor::check_open() const {
  ET_CHECK_OR_RETURN_ERROR(fd_ >= 0, InvalidState, "the loader of a file was moved from");
  return Error::Ok;
}

Result<size_t> FileDescriptor::size() const {
  ET_CHECK_OK_OR_RETURN_ERROR(check_open());
  return size_;
}

Error FileDescriptor::check_range(size_t offset, size_t size) const {
  ET_CHECK_OK_OR_RETURN_ERROR(check_open());
  return check_data_range(name(), offset, size, size_);
}

Error FileDescriptor::read(size_t offset, size_t size, void* buffer) const {
  ET_CHECK_OK_OR_RETURN_ERROR(check_open());
  ET_CHECK_OK_OR_RETURN_ERROR(check_data_copy(name(), offset, size, size_, buffer));
  size_t done = 0;
  while (done < size) {
    const ssize_t count = pread(fd_, static_cast<char*>(buffer) + done, size - done,
                                static_cast<off_t>(offset + done));
    if (count < 0 && errno == EINTR) {
      continue;
    }
    ET_CHECK_OR_RETURN_ERROR(count > 0, AccessFailed, "%s: reading at %zu: %s", name(),
                             offset + done,
                             count == 0 ? "the file has become shorter" : strerror(errno));
    done += static_cast<size_t>(count);
  }
  return Error::Ok;
}

namespace {

/// A program may use every part of its file so often, even if that takes more than
/// memory_limit().
constexpr size_t kMaxCopies = 4;

/// Bytes of all copies that exist.
ByteBudget copied_bytes;

/// Maximum number of bytes in copies that may exist while a file of `size` bytes is read.
size_t max_copied_bytes(size_t size) {
  size_t copies = 0;
  return runtime::mul_overflows(size, kMaxCopies, &copies) ? SIZE_MAX
                                                           : std::max(copies, memory_limit());
}

/// `context` is the alignment: so that the memory can be freed without the file.
void free_aligned(void* context, void* data, size_t size) {
  copied_bytes.give_back(size);
  ::operator delete(data, std::align_val_t(reinterpret_cast<uintptr_t>(context)));
}

}  // namespace

Result<TakenBytes> take_copy(const char* name, size_t size, size_t file_size) {
  TakenBytes copy(copied_bytes);
  ET_CHECK_OR_RETURN_ERROR(copy.take(size, max_copied_bytes(file_size)), MemoryAllocationFailed,
                           "%s: copies of files have %zu bytes, expected at most %zu with %zu more",
                           name, copied_bytes.taken(), max_copied_bytes(file_size), size);
  return copy;
}

Result<FreeableBuffer> FileDescriptor::read(size_t offset, size_t size, size_t alignment) const {
  // Check the range before allocating, so that an invalid size allocates nothing.
  ET_CHECK_OK_OR_RETURN_ERROR(check_range(offset, size));
  if (size == 0) {
    return FreeableBuffer(nullptr, 0, nullptr);
  }
  TakenBytes copy = ET_UNWRAP(take_copy(name(), size, size_));
  void* const memory = ::operator new(size, std::align_val_t(alignment), std::nothrow);
  ET_CHECK_OR_RETURN_ERROR(memory != nullptr, MemoryAllocationFailed,
                           "%s: no memory for %zu bytes at offset %zu", name(), size, offset);
  copy.release();  // free_aligned() gives them back
  FreeableBuffer buffer(memory, size, free_aligned, reinterpret_cast<void*>(alignment));
  ET_CHECK_OK_OR_RETURN_ERROR(read(offset, size, memory));
  return buffer;
}

Error check_alignment(size_t alignment) {
  ET_CHECK_OR_RETURN_ERROR(alignment != 0 && (alignment & (alignment - 1)) == 0, InvalidArgument,
                           "alignment is %zu, expected a power of two", alignment);
  return Error::Ok;
}

}  // namespace executorch::extension::internal
