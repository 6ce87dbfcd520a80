// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// Converts allocation failures of standard containers to errors of the runtime.
#pragma once

#include <new>
#include <stdexcept>
#include <utility>

#include <executorch/runtime/core/error.h>
#include <executorch/runtime/platform/log.h>

namespace executorch::extension {

/// Runs `body` and returns its result, or MemoryAllocationFailed if a container in it cannot
/// allocate, or would exceed its max_size(). Use it only in files compiled with
/// exceptions (executorch_exceptions() in CMake), around code that is also compiled with them: an
/// exception must not pass through the runtime.
template <typename Body>
auto or_no_memory(const char* what, Body&& body) -> decltype(body()) {
#ifdef __cpp_exceptions
  try {
    return body();
  } catch (const std::bad_alloc&) {
    ET_LOG(Error, "no memory for %s", what);
  } catch (const std::length_error&) {
    ET_LOG(Error, "%s: more elements than a container can hold", what);
  }
  return runtime::Error::MemoryAllocationFailed;
#else
  static_cast<void>(what);
  return body();
#endif
}

}  // namespace executorch::extension
