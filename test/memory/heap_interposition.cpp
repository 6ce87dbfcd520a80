// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
#include "memory/heap_interposition.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <atomic>
#include <initializer_list>
#include <new>

namespace executorch::testing::heap {
namespace {

// Constant-initialized: the heap is used before static objects are constructed.
// An int, as GCC exchanges single bytes on riscv64 by a library.
std::atomic<int> forbidden{0};
std::atomic<bool> failing{false};
std::atomic<int64_t> until_failure{0};
std::atomic<int64_t> live{0};

}  // namespace

Forbidden::Forbidden() { forbidden = 1; }
Forbidden::~Forbidden() { forbidden = 0; }

FailingAt::FailingAt(int64_t index) {
  until_failure = index;
  failing = true;
}
FailingAt::~FailingAt() { failing = false; }
bool FailingAt::has_failed() const { return until_failure < 0; }

int64_t live_blocks() { return live; }

}  // namespace executorch::testing::heap

#if defined(__GLIBC__) && !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)

extern "C" {
void* __libc_malloc(size_t size);
void* __libc_calloc(size_t count, size_t size);
void* __libc_realloc(void* pointer, size_t size);
void* __libc_memalign(size_t alignment, size_t size);
void __libc_free(void* pointer);
}

namespace executorch::testing::heap {

bool is_watched() { return true; }

namespace {

void check_allowed(const char* function) {
  if (forbidden.exchange(0) != 0) {
    for (const char* text : {function, " while the heap is forbidden\n"}) {
      [[maybe_unused]] const ssize_t written = write(STDERR_FILENO, text, strlen(text));
    }
    abort();
  }
}

/// Serves a request, or returns null if it is the one to fail.
template <typename Request>
void* answer(const char* function, const Request& request) {
  check_allowed(function);
  if (failing && until_failure-- == 0) {
    errno = ENOMEM;
    return nullptr;
  }
  void* const memory = request();
  live += memory != nullptr ? 1 : 0;
  return memory;
}

void* nothrow_block(size_t size, size_t alignment) {
  return answer("operator new", [&] { return __libc_memalign(alignment, size); });
}

void* new_block(size_t size, size_t alignment) {
  void* const memory = nothrow_block(size, alignment);
  if (memory == nullptr) {
    throw std::bad_alloc();
  }
  return memory;
}

}  // namespace
}  // namespace executorch::testing::heap

namespace heap = executorch::testing::heap;
#define INTERPOSED __attribute__((visibility("default")))

extern "C" {

INTERPOSED void* malloc(size_t size) noexcept {
  return heap::answer("malloc", [&] { return __libc_malloc(size); });
}
INTERPOSED void* calloc(size_t count, size_t size) noexcept {
  return heap::answer("calloc", [&] { return __libc_calloc(count, size); });
}
INTERPOSED void* memalign(size_t alignment, size_t size) noexcept {
  return heap::answer("memalign", [&] { return __libc_memalign(alignment, size); });
}
INTERPOSED void* aligned_alloc(size_t alignment, size_t size) noexcept {
  return heap::answer("aligned_alloc", [&] { return __libc_memalign(alignment, size); });
}
INTERPOSED int posix_memalign(void** pointer, size_t alignment, size_t size) noexcept {
  *pointer = heap::answer("posix_memalign", [&] { return __libc_memalign(alignment, size); });
  return *pointer == nullptr ? ENOMEM : 0;
}
INTERPOSED void free(void* pointer) noexcept {
  if (pointer != nullptr) {
    heap::check_allowed("free");
    --heap::live;
    __libc_free(pointer);
  }
}
INTERPOSED void* realloc(void* pointer, size_t size) noexcept {
  if (pointer == nullptr) {
    return malloc(size);
  }
  // If it succeeds, the old block is no longer counted and the new one is; if it fails, the old
  // block stays.
  void* const memory = heap::answer("realloc", [&] { return __libc_realloc(pointer, size); });
  heap::live -= memory != nullptr ? 1 : 0;
  return memory;
}

}  // extern "C"

constexpr size_t kNewAlignment = __STDCPP_DEFAULT_NEW_ALIGNMENT__;
INTERPOSED void* operator new(size_t size) { return heap::new_block(size, kNewAlignment); }
INTERPOSED void* operator new[](size_t size) { return heap::new_block(size, kNewAlignment); }
INTERPOSED void* operator new(size_t size, std::align_val_t alignment) {
  return heap::new_block(size, static_cast<size_t>(alignment));
}
INTERPOSED void* operator new(size_t size, const std::nothrow_t&) noexcept {
  return heap::nothrow_block(size, kNewAlignment);
}
INTERPOSED void* operator new[](size_t size, const std::nothrow_t&) noexcept {
  return heap::nothrow_block(size, kNewAlignment);
}
INTERPOSED void* operator new(size_t size, std::align_val_t alignment,
                              const std::nothrow_t&) noexcept {
  return heap::nothrow_block(size, static_cast<size_t>(alignment));
}
INTERPOSED void operator delete(void* pointer) noexcept { free(pointer); }
INTERPOSED void operator delete[](void* pointer) noexcept { free(pointer); }
INTERPOSED void operator delete(void* pointer, size_t) noexcept { free(pointer); }
INTERPOSED void operator delete[](void* pointer, size_t) noexcept { free(pointer); }
INTERPOSED void operator delete(void* pointer, std::align_val_t) noexcept { free(pointer); }
INTERPOSED void operator delete(void* pointer, size_t, std::align_val_t) noexcept { free(pointer); }

#else

bool executorch::testing::heap::is_watched() { return false; }

#endif
