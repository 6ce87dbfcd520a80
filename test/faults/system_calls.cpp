// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// Interposes system calls of this program and its libraries as fault points. The interposed
// functions call the next definition, which may be a sanitizer's.
#include "faults/fault_points.h"

#if defined(__GLIBC__) && !defined(__SANITIZE_THREAD__)

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdarg.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

namespace faults = executorch::testing::faults;

namespace {

template <typename Function>
Function* next(const char* name) {
  return reinterpret_cast<Function*>(dlsym(RTLD_NEXT, name));
}

bool fails(const char* name, int error) {
  if (!faults::fails(faults::Kind::SystemCall, name)) {
    return false;
  }
  errno = error;
  return true;
}

}  // namespace

#define INTERPOSED __attribute__((visibility("default")))

extern "C" {

INTERPOSED int open(const char* path, int flags, ...) {
  mode_t mode = 0;
  if ((flags & O_CREAT) != 0) {
    va_list arguments;
    va_start(arguments, flags);
    mode = va_arg(arguments, mode_t);
    va_end(arguments);
  }
  static auto* const real = next<int(const char*, int, ...)>("open");
  return fails("open", EACCES) ? -1 : real(path, flags, mode);
}

INTERPOSED int fstat(int file, struct stat* status) noexcept {
  static auto* const real = next<int(int, struct stat*)>("fstat");
  return fails("fstat", EIO) ? -1 : real(file, status);
}

INTERPOSED ssize_t pread(int file, void* buffer, size_t size, off_t offset) {
  static auto* const real = next<ssize_t(int, void*, size_t, off_t)>("pread");
  // A read that a signal interrupts has to be repeated.
  return fails("pread", EIO) || fails("pread (interrupted)", EINTR)
             ? -1
             : real(file, buffer, size, offset);
}

INTERPOSED void* mmap(void* address, size_t size, int protection, int flags, int file,
                      off_t offset) noexcept {
  static auto* const real = next<void*(void*, size_t, int, int, int, off_t)>("mmap");
  return fails("mmap", ENOMEM) ? MAP_FAILED : real(address, size, protection, flags, file, offset);
}

INTERPOSED int mlock(const void* address, size_t size) noexcept {
  static auto* const real = next<int(const void*, size_t)>("mlock");
  return fails("mlock", EPERM) ? -1 : real(address, size);
}

INTERPOSED int madvise(void* address, size_t size, int advice) noexcept {
  static auto* const real = next<int(void*, size_t, int)>("madvise");
  return fails("madvise", EINVAL) ? -1 : real(address, size, advice);
}

INTERPOSED int pthread_create(pthread_t* thread, const pthread_attr_t* attributes,
                              void* (*start)(void*), void* argument) noexcept {
  using Start = void* (*)(void*);
  static auto* const real =
      next<int(pthread_t*, const pthread_attr_t*, Start, void*)>("pthread_create");
  return faults::fails(faults::Kind::Thread, "pthread_create")
             ? EAGAIN
             : real(thread, attributes, start, argument);
}

}  // extern "C"

bool executorch::testing::faults::are_system_calls_watched() { return true; }

#else

bool executorch::testing::faults::are_system_calls_watched() { return false; }

#endif
