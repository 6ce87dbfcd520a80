// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
#include <executorch/kernels/portable/resample/plane_resizer.h>

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>

#include <executorch/extension/memory_allocator/malloc_memory_allocator.h>
#include <executorch/runtime/kernel/kernel_runtime_context.h>
#include <executorch/runtime/platform/runtime.h>

namespace executorch::kernels::portable {
namespace {

TEST(Resample, AntialiasedPixelsLieInAnImageWhoseWidthFloatRoundsUp) {
  runtime::runtime_init();
  for (const bool cubic : {false, true}) {
    extension::MallocMemoryAllocator memory;
    runtime::KernelRuntimeContext context(nullptr, &memory);
    ResizeAxis axis;
    axis.in = (1 << 24) + 3;
    axis.set_ratio(/*align_corners=*/false, std::nullopt);
    AxisTaps<float> taps;
    ASSERT_TRUE(taps.prepare(context, axis, {cubic, /*antialias=*/true, /*align_corners=*/false}));
    EXPECT_LE(taps.taps, axis.in);
    const auto [first, last] = std::minmax_element(taps.pixels, taps.pixels + taps.taps);
    EXPECT_GE(*first, 0);
    EXPECT_LT(*last, axis.in);
  }
}

TEST(Resample, WeightsThatNoIntegerHoldsKeepTheCoarsestUnit) {
  float weights[] = {3e9f, -3e9f, 0.75f, 0.25f};
  int64_t pixels[] = {0, 1, 0, 1};
  AxisTaps<float> taps;
  taps.taps = 2;
  taps.weights = weights;
  taps.pixels = pixels;
  taps.quantize(2);
  EXPECT_EQ(taps.unit, 1.0f);
  EXPECT_EQ(weights[2], 1.0f) << "0.75 in units of 1";
}

}  // namespace
}  // namespace executorch::kernels::portable
