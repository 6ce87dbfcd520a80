// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
#include <algorithm>

#include "packing.h"
#include "winograd.h"
#include "xnnpack/common.h"

#if XNN_ARCH_X86_64
#include <executorch/kernels/loops/wide.h>

#include "float_lanes.h"

namespace {

using executorch_lanes::at;
using executorch_lanes::Of;

constexpr size_t kFrequencies = EXECUTORCH_FREQUENCIES;
// Channels and outputs of a block that is transformed and then packed, while it is in the first
// cache.
constexpr size_t kSide = 16;

// The next larger number.
template <class Ints, class V>
INLINE void raise(V& of) {
  const Ints bits = (Ints)of;
  const Ints larger = bits < 0 ? bits - 1 : bits + 1;
  of = (V)(of == 0 ? (Ints{} + 1) : larger);
}

// Half of a sum and of a difference differ where what was added is not zero, though rounded: its
// sign decides what becomes of an infinite number.
template <class Ints, class V>
INLINE void keep_apart(V& of_sum, V& of_difference, const V& between) {
  V raised = of_sum;
  raise<Ints>(raised);
  const auto is_equal = of_sum == of_difference;
  of_sum = is_equal & (between > 0) ? raised : of_sum;
  of_difference = is_equal & (between < 0) ? raised : of_difference;
}

// G g G^T of some channels; points of g are `stride` apart, what comes of it `apart`.
template <size_t kLanes>
INLINE void transform_kernels(const float* g, size_t stride, float* to, size_t apart) {
  using V = typename Of<kLanes>::Vector;
  using D = typename Of<kLanes>::Doubles;
  using Ints = typename Of<kLanes>::Ints;
  D rows[4][3];
  for (size_t x = 0; x < 3; ++x) {
    const V above = at<kLanes>(g + x * stride), middle = at<kLanes>(g + (3 + x) * stride);
    const V below = at<kLanes>(g + (6 + x) * stride);
    const D a = __builtin_convertvector(above, D), b = __builtin_convertvector(middle, D);
    const D c = __builtin_convertvector(below, D);
    rows[0][x] = a;
    rows[1][x] = (a + b + c) * 0.5;
    rows[2][x] = (a - b + c) * 0.5;
    rows[3][x] = c;
  }
  V u[kFrequencies];
  for (size_t y = 0; y < 4; ++y) {
    const D a = rows[y][0], b = rows[y][1], c = rows[y][2];
    u[4 * y] = __builtin_convertvector(a, V);
    u[4 * y + 1] = __builtin_convertvector((a + b + c) * 0.5, V);
    u[4 * y + 2] = __builtin_convertvector((a - b + c) * 0.5, V);
    u[4 * y + 3] = __builtin_convertvector(c, V);
  }
  const V top = at<kLanes>(g + stride), left = at<kLanes>(g + 3 * stride);
  const V right = at<kLanes>(g + 5 * stride), bottom = at<kLanes>(g + 7 * stride);
  keep_apart<Ints>(u[1], u[2], top);
  keep_apart<Ints>(u[4], u[8], left);
  keep_apart<Ints>(u[7], u[11], right);
  keep_apart<Ints>(u[13], u[14], bottom);
  for (size_t i = 0; i < kFrequencies; ++i) at<kLanes>(to + i * apart) = u[i];
}

// kernel: of an output and kSide channels. to: [frequency and the middle point, output, channel]
template <size_t kLanes>
INLINE void transform_side(const float* kernel, size_t channels, float* to) {
  constexpr size_t kApart = kSide * kSide;
  for (size_t i = 0; i < kSide; i += kLanes) {
    transform_kernels<kLanes>(kernel + i, channels, to + i, kApart);
    at<kLanes>(to + kFrequencies * kApart + i) = at<kLanes>(kernel + 4 * channels + i);
  }
}

AVX2 void transform_avx2(const float* kernel, size_t channels, float* to) {
  transform_side<8>(kernel, channels, to);
}
AVX512 void transform_avx512(const float* kernel, size_t channels, float* to) {
  transform_side<16>(kernel, channels, to);
}

struct Weights {
  const float *kernel, *bias;
  size_t channels, outputs, panel;
  float *packed, *centres;
};

// Some outputs from `output` on and kSide channels from `channel` on.
void pack_block(const Weights& all, size_t output, size_t rows, size_t channel) {
  alignas(64) float block[kFrequencies + 1][kSide][kSide];
  const auto transform =
      executorch::kernels::has_fused_widest() ? transform_avx512 : transform_avx2;
  for (size_t row = 0; row < rows; ++row) {
    const float* const kernel = all.kernel + (output + row) * 9 * all.channels + channel;
    transform(kernel, all.channels, block[0][row]);
  }
  const size_t number = output / all.panel, column = output % all.panel;
  const size_t apart = executorch_floats_of_frequency(all.channels, all.panel);
  float* const to = all.packed + number * kFrequencies * apart + (1 + channel) * all.panel + column;
  for (size_t i = 0; i < kFrequencies; ++i) {
    executorch_pack_columns(block[i][0], rows, kSide, to + i * apart, all.panel);
  }
  executorch_pack_columns(block[kFrequencies][0], rows, kSide,
                          all.centres + (number * all.channels + channel) * all.panel + column,
                          all.panel);
}

void pack_panel(void* context, size_t number) {
  const Weights& all = *static_cast<const Weights*>(context);
  const size_t first = number * all.panel, end = std::min(all.outputs, first + all.panel);
  if (all.bias != nullptr) {
    float* const to = all.packed + number * executorch_floats_of_panel(all.channels, all.panel);
    std::copy(all.bias + first, all.bias + end,
              to + EXECUTORCH_CONSTANT * executorch_floats_of_frequency(all.channels, all.panel));
  }
  for (size_t output = first; output < end; output += kSide) {
    for (size_t channel = 0; channel < all.channels; channel += kSide) {
      // At the end some again: there are more than a block has.
      pack_block(all, output, std::min(end - output, kSide),
                 std::min(channel, all.channels - kSide));
    }
  }
}

}  // namespace

void executorch_pack_winograd(const float* kernel, const float* bias, size_t channels,
                              size_t outputs, size_t panel, float* packed) {
  const size_t panels = (outputs + panel - 1) / panel;
  const size_t floats = panels * executorch_floats_of_panel(channels, panel);
  Weights all = {kernel, bias, channels, outputs, panel, packed, packed + floats};
  executorch_pack_parts(pack_panel, &all, panels, floats * sizeof(float));
}
#endif
