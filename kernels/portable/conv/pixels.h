// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// Rows of an image in the compute type.
#pragma once

#include <executorch/kernels/portable/loops/convert.h>

#include <algorithm>

namespace executorch::kernels::portable {

/// Reads n pixels `stride` bytes apart; memory that holds T (`stands`) needs no conversion.
template <class T>
void read_pixels(bool stands, Convert load_row, T* to, const char* from, int64_t stride,
                 int64_t n) {
  constexpr int64_t kSize = sizeof(T);
  const T* const pixels = reinterpret_cast<const T*>(from);
  if (stands && stride == kSize) {
    std::copy(pixels, pixels + n, to);
  } else if (stands && stride == 2 * kSize) {
    for (int64_t i = 0; i < n; ++i) to[i] = pixels[2 * i];
  } else {
    load_row(reinterpret_cast<char*>(to), kSize, from, stride, n);
  }
}

}  // namespace executorch::kernels::portable
