// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
#pragma once

#include <executorch/runtime/platform/platform.h>

namespace executorch::runtime {

/// Converts ticks of the platform's clock to nanoseconds, exactly as long as the result fits.
inline uint64_t ticks_to_ns(et_timestamp_t ticks) {
  const et_tick_ratio_t ratio = pal_ticks_to_ns_multiplier();
  // Whole multiples first: ticks * numerator may not fit where the result does.
  return ticks / ratio.denominator * ratio.numerator +
         ticks % ratio.denominator * ratio.numerator / ratio.denominator;
}

}  // namespace executorch::runtime

// Documented names of the same things.
namespace torch::executor {
using ::executorch::runtime::ticks_to_ns;
}  // namespace torch::executor
