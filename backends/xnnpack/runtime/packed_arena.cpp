// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
#include <executorch/backends/xnnpack/runtime/packed_arena.h>

#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <executorch/backends/xnnpack/runtime/large_pages.h>

namespace executorch::backends::xnnpack {
namespace {

constexpr size_t kAlignment = 64;
// Kernels read a little beyond what they need.
constexpr size_t kReadBeyond = 128;

/// Lets the system give the large pages of a range now. Of two threads that packed into the same
/// one, each would get a page of zeros for it, and one of them in vain.
void touch(char* begin, const char* end) {
  for (char* at = begin; at < end; at += kLargePage) {
    *static_cast<volatile char*>(at) = 0;
  }
  if (begin < end) {
    *static_cast<volatile char*>(begin + (end - begin - 1)) = 0;
  }
}

uintptr_t rounded(uintptr_t value, size_t unit) { return (value + unit - 1) / unit * unit; }

}  // namespace

std::shared_ptr<PackedArena> PackedArena::create(size_t capacity) {
  if (capacity > SIZE_MAX / 2) {
    return nullptr;
  }
  const size_t size = rounded(capacity + kReadBeyond, kLargePage);
  void* const pages = mmap(nullptr, size + kLargePage, PROT_READ | PROT_WRITE,
                           MAP_PRIVATE | MAP_ANONYMOUS, /*fd=*/-1, /*offset=*/0);
  if (pages == MAP_FAILED) {
    return nullptr;
  }
  auto* const begin = static_cast<char*>(pages);
  const size_t before =
      rounded(reinterpret_cast<uintptr_t>(pages), kLargePage) - reinterpret_cast<uintptr_t>(pages);
  if (before > 0) {
    munmap(begin, before);
  }
  if (before < kLargePage) {
    munmap(begin + before + size, kLargePage - before);
  }
  prefer_large_pages(begin + before, size);
  return std::shared_ptr<PackedArena>(new PackedArena(begin + before, size));
}

PackedArena::~PackedArena() { munmap(data_, capacity_); }

void* PackedArena::take(size_t size) {
  if (capacity_ - used_ < kReadBeyond || size > capacity_ - used_ - kReadBeyond) {
    return nullptr;
  }
  last_ = used_;
  used_ = rounded(used_ + size, kAlignment);
  used_ = used_ < capacity_ ? used_ : capacity_;
  touch(data_ + last_, data_ + used_);
  return data_ + last_;
}

void PackedArena::give_back(void* piece) {
  if (piece == data_ + last_) {
    memset(piece, 0, used_ - last_);
    used_ = last_;
  }
}

void PackedArena::close() {
  const size_t page = static_cast<size_t>(sysconf(_SC_PAGESIZE));
  const size_t kept = rounded(used_ + kReadBeyond, page);
  if (kept < capacity_) {
    munmap(data_ + kept, capacity_ - kept);
    capacity_ = kept;
  }
  used_ = capacity_;
}

}  // namespace executorch::backends::xnnpack
