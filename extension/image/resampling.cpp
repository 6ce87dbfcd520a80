// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
#include <executorch/extension/image/resampling.h>

#include <algorithm>
#include <cmath>
#include <cstddef>

namespace executorch::extension::image::internal {

void compute_taps(int32_t size, int32_t result_size, Taps& taps) {
  taps.ranges.clear();
  taps.weights.clear();
  taps.ranges.reserve(static_cast<size_t>(result_size));
  const double scale = static_cast<double>(size) / result_size;
  const double support = std::max(1.0, scale);
  for (int32_t i = 0; i < result_size; ++i) {
    const double center = (i + 0.5) * scale;
    const auto first = static_cast<int32_t>(std::max(0.0, std::floor(center - support + 0.5)));
    const auto end = static_cast<int32_t>(
        std::min(static_cast<double>(size), std::floor(center + support + 0.5)));
    const auto begin = static_cast<int64_t>(taps.weights.size());
    double sum = 0;
    for (int32_t x = first; x < end; ++x) {
      sum += std::max(0.0, 1.0 - std::abs(x + 0.5 - center) / support);
    }
    for (int32_t x = first; x < end; ++x) {
      const double weight = std::max(0.0, 1.0 - std::abs(x + 0.5 - center) / support);
      taps.weights.push_back(static_cast<float>(weight / sum));
    }
    taps.ranges.push_back({first, end - first, begin});
  }
}

}  // namespace executorch::extension::image::internal
