// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
#include <executorch/kernels/engine/eltwise/rotary.h>

#include <cstring>

namespace executorch::kernels::engine {
namespace {

/// The channels of one position and head. `second` is that of the call.
struct RotaryRow {
  const float *in, *cos, *sin;
  float* out;
  size_t pairs, second;
};
using RotaryFunction = void (*)(const RotaryRow&);

}  // namespace
}  // namespace executorch::kernels::engine

#define ET_SIMD_SOURCE <executorch/kernels/engine/eltwise/rotary.inc>
#include <executorch/kernels/engine/simd/each_set.h>

namespace executorch::kernels::engine {

void rotate_pairs(const RotaryCall& call, Threads& threads, InstructionSet set) {
  const RotaryFunction function = call.is_interleaved ? ET_SIMD_FUNCTION(set, rotate_neighbors)
                                                      : ET_SIMD_FUNCTION(set, rotate_halves);
  size_t rows = 1;
  for (size_t d = 0; d < call.rank; ++d) rows *= call.sizes[d];
  for_each_rows(threads, rows, call.channels, [&](size_t first, size_t count) {
    for (size_t row = first; row < first + count; ++row) {
      size_t index = row, from = 0, cos = 0, sin = 0;
      for (size_t d = call.rank; d-- > 0;) {
        const size_t coordinate = index % call.sizes[d];
        index /= call.sizes[d];
        from += coordinate * call.in_strides[d];
        cos += coordinate * call.cos_strides[d];
        sin += coordinate * call.sin_strides[d];
      }
      const float* const in = call.in + from;
      float* const out = call.out + row * call.channels;
      function({in, call.cos + cos, call.sin + sin, out, call.pairs, call.second});
      const size_t rotated = 2 * call.pairs;
      if (in != out && rotated < call.channels) {
        std::memcpy(out + rotated, in + rotated, (call.channels - rotated) * sizeof(float));
      }
    }
  });
}

}  // namespace executorch::kernels::engine
