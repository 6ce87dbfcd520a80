// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
#include <algorithm>
#include <cstring>

#include <executorch/kernels/engine/qgemm/tiles.h>

namespace executorch::kernels::engine {
namespace {

/// Writes the weights of a panel, and at `sums` the sum of each column's, which wraps.
void pack_weights(const QGemmTiles& tiles, const QPanelWeights& w, int8_t* to, uint32_t* sums) {
  const size_t group = tiles.interleave;
  std::fill(sums, sums + tiles.panel, 0u);
  std::memset(to, 0, tiles.weights_bytes(w.parts, w.depth));
  for (size_t part = 0; part < w.parts; ++part) {
    const int8_t* const from = w.data + part / w.parts_across * w.part_stride[0] +
                               part % w.parts_across * w.part_stride[1];
    for (size_t d = 0; d < w.depth; ++d) {
      const int8_t* const element = from + d / w.run * w.run_stride + d % w.run * w.depth_stride;
      int8_t* const row = to + d / group * group * tiles.panel + d % group;
      for (size_t c = 0; c < w.columns; ++c) {
        const int8_t weight = element[c * w.column_stride];
        row[c * group] = weight;
        sums[c] += uint32_t(int32_t(weight));
      }
    }
    to += tiles.padded(w.depth) * tiles.panel;
  }
}

void put_floats(const float* from, size_t count, size_t panel, int8_t* to) {
  std::memset(to, 0, panel * sizeof(float));
  if (from != nullptr) std::memcpy(to, from, count * sizeof(float));
}

constexpr size_t kMaxPanel = 32;

}  // namespace

void pack_qpanel(const QGemmTiles& tiles, const QPanelWeights& w, const QColumns& columns,
                 size_t first, int8_t* to) {
  uint32_t sums[kMaxPanel];
  pack_weights(tiles, w, to + tiles.sums_bytes(), sums);
  for (size_t c = 0; c < tiles.panel; ++c) {
    sums[c] = c < w.columns ? columns.first_sum(first + c, sums[c], tiles.offset) : 0;
  }
  std::memcpy(to, sums, tiles.sums_bytes());
  to += tiles.sums_bytes() + tiles.weights_bytes(w.parts, w.depth);
  put_floats(columns.scales + first, w.columns, tiles.panel, to);
  const float* const bias = columns.float_bias;
  put_floats(bias == nullptr ? nullptr : bias + first, w.columns, tiles.panel,
             to + tiles.panel * sizeof(float));
}

}  // namespace executorch::kernels::engine
