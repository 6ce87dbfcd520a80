// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.

/// Vectors of the instruction set that a source file is compiled for (see tile_product.h).
#pragma once

#include <cstdint>

namespace executorch::kernels {
namespace {

/// kBytes of T, at any address. Of one T, a T: what is left of vectors on processors without any.
template <class T, int kBytes, bool kIsOne = kBytes == sizeof(T)>
struct Vector {
  typedef T type __attribute__((vector_size(kBytes), aligned(alignof(T)), may_alias));
  static constexpr int kLanes = kBytes / sizeof(T);
};
template <class T, int kBytes>
struct Vector<T, kBytes, true> {
  typedef T type;
  static constexpr int kLanes = 1;
};

}  // namespace
}  // namespace executorch::kernels
