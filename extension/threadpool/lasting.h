// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
#pragma once

#include <new>

namespace executorch::extension::threadpool {

/// Returns the only object of this type. The first call constructs it, without the heap; it is
/// never destroyed, so destructors of static objects may use it.
template <typename T>
T& lasting() {
  alignas(T) static unsigned char place[sizeof(T)];
  static T* const object = new (place) T();
  return *object;
}

}  // namespace executorch::extension::threadpool
