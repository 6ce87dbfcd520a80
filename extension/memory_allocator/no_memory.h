// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// Where containers of the standard library meet a runtime that reports errors by value.
#pragma once

#include <new>
#include <utility>

#include <executorch/runtime/core/error.h>
#include <executorch/runtime/platform/log.h>

namespace executorch::extension {

/// What `body` returns; where the heap has nothing left for a container in it, the error that says
/// so. For files that are compiled with exceptions (executorch_exceptions() in CMake), around code
/// of which all is: an exception must not pass through the runtime, which is compiled without.
template <typename Body>
auto or_no_memory(const char* what, Body&& body) -> decltype(body()) {
#ifdef __cpp_exceptions
  try {
    return body();
  } catch (const std::bad_alloc&) {
    ET_LOG(Error, "no memory for %s", what);
    return runtime::Error::MemoryAllocationFailed;
  }
#else
  static_cast<void>(what);
  return body();
#endif
}

}  // namespace executorch::extension
