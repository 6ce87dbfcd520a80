// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// Rows of int8 depthwise convolutions in plain C++, a block of channels at a time.
#include <algorithm>
#include <cstring>

#include <executorch/kernels/engine/qdepthwise/row.h>
#include <executorch/kernels/engine/qgemm/requantize.h>

namespace executorch::kernels::engine {
namespace {

using Sums = uint32_t[kQDepthwiseBlock];  // unsigned, so that they wrap; in the packed order

/// Two taps of a block's channels in the packed order, extended.
struct Taps {
  int16_t first[kQDepthwiseBlock], second[kQDepthwiseBlock];
};

/// Adds the products of `count` channels from `channel` on.
void add_taps(const QDepthwiseRow& row, const int8_t* const* table, size_t channel, size_t count,
              const int8_t* packed, Sums& sums) {
  const size_t taps_of_window = row.taps();
  const int8_t* weights = packed + kQDepthwiseBlock * sizeof(int32_t);
  for (size_t tap = 0; tap < taps_of_window; tap += 2, weights += 4 * kQDepthwiseBlock) {
    const int8_t *const a = table[tap] + channel, *const b =
                                                      table[std::min(tap + 1, taps_of_window - 1)] +
                                                      channel;
    Taps taps = {};
    for (size_t i = 0; i < kQDepthwiseBlock; ++i) {
      const size_t c = kQDepthwisePairs.channel_at(i);
      if (count < kQDepthwiseBlock && c >= count) continue;
      taps.first[i] = a[c];
      taps.second[i] = b[c];
    }
    int16_t w[kQDepthwiseBlock][2];
    std::memcpy(w, weights, sizeof(w));
    for (size_t i = 0; i < kQDepthwiseBlock; ++i) {
      sums[i] += uint32_t(taps.first[i] * w[i][0] + taps.second[i] * w[i][1]);
    }
  }
}

/// Calls begin(sums) with the first sums of each point and block, and finish(x, channel, sum,
/// scale, bias) for each of its channels.
template <class Begin, class Finish>
void for_each_result(const QDepthwiseRow& row, Begin&& begin, Finish&& finish) {
  for (size_t x = 0; x < row.width; ++x) {
    const int8_t* packed = row.packed;
    for (size_t c = 0; c < row.channels; c += kQDepthwiseBlock, packed += row.block_bytes()) {
      const size_t count = std::min(kQDepthwiseBlock, row.channels - c);
      Sums sums;
      std::memcpy(sums, packed, sizeof(sums));
      begin(sums);
      add_taps(row, row.table + x * row.step, c, count, packed, sums);
      float floats[2][kQDepthwiseBlock];
      std::memcpy(floats, packed + row.scales_at(), sizeof(floats));
      for (size_t i = 0; i < kQDepthwiseBlock; ++i) {
        const size_t channel = kQDepthwisePairs.channel_at(i);
        if (channel < count) finish(x, c + channel, int32_t(sums[i]), floats[0][i], floats[1][i]);
      }
    }
  }
}

void to_bytes(const QDepthwiseRow& row, int8_t* out, size_t out_pixel_stride,
              const Requantization& to) {
  for_each_result(
      row, [](Sums&) {},
      [&](size_t x, size_t channel, int32_t sum, float scale, float) {
        out[x * out_pixel_stride + channel] = requantized(sum, scale, to);
      });
}

void to_floats(const QDepthwiseRow& row, float* out, size_t out_pixel_stride, const QDynamic& how) {
  for_each_result(
      row,
      [&](Sums& sums) {
        for (uint32_t& sum : sums) sum *= uint32_t(how.row(0).zero_point);
      },
      [&](size_t x, size_t channel, int32_t sum, float scale, float bias) {
        out[x * out_pixel_stride + channel] = dequantized(sum, how.row(0).scale, scale, bias, how);
      });
}

}  // namespace

const QDepthwiseKernel& qdepthwise_portable() {
  static constexpr QDepthwiseKernel kKernel = {InstructionSet::Scalar, "qdepthwise_portable",
                                               kQDepthwisePairs, to_bytes, to_floats};
  return kKernel;
}

}  // namespace executorch::kernels::engine
