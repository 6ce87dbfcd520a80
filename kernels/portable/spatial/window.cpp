// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
#include <executorch/kernels/portable/spatial/window.h>

#include <algorithm>

namespace executorch::kernels::portable {

void WindowAxis::outputs_inside(int64_t tap, int64_t* first, int64_t* last) const {
  const int64_t at = origin + tap * tap_shift;
  *first = at >= 0 ? 0 : std::min(outputs, (-at + step - 1) / step);
  *last = at >= in ? *first : std::max(*first, std::min(outputs, (in - 1 - at) / step + 1));
}

bool WindowLoops::fit() const {
  constexpr int64_t kLimit = int64_t(1) << 31;
  int64_t outputs = 1, taps = 1;
  for (const WindowAxis& a : axis) {
    outputs *= a.outputs;
    taps *= a.taps;
    if (outputs >= kLimit || taps >= kLimit) return false;
  }
  return true;
}

}  // namespace executorch::kernels::portable
