// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
#pragma once

#include <new>

namespace executorch::extension::threadpool {

/// The one object of this type. It is made at the first call, without the heap, and never
/// destroyed: destructors of static objects may use it.
template <typename T>
T& lasting() {
  alignas(T) static unsigned char place[sizeof(T)];
  static T* const object = new (place) T();
  return *object;
}

}  // namespace executorch::extension::threadpool
