// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// Transposed convolution on int8: for each remainder of the result's index modulo the stride, an
// ordinary convolution with the taps that contribute to it.
#include <algorithm>

#include <executorch/kernels/loops/memory/check.h>
#include <executorch/kernels/quantized/NativeFunctions.h>
#include <executorch/kernels/quantized/conv/layer_product.h>
#include <executorch/kernels/quantized/int8/operands.h>

namespace executorch::kernels::quantized {

using namespace portable;

namespace {

// A position has only the taps of its phase, so the zero point is subtracted from each element, not
// from the whole sum beforehand: terms have 9 and 8 bits.
constexpr int64_t kMaxCentredTerms = (1 << 16) - 1;

/// The loops of phase 0, which has the most outputs, with the most taps that any phase has.
WindowLoops largest_phase(const ConvGeometry& g) {
  WindowLoops loops{{g.axis(0, 0), g.axis(1, 0), g.axis(2, 0)}};
  for (int d = 0; d < kSpatial; ++d) {
    for (int64_t phase = 1; phase < g.phases(d); ++phase) {
      loops.axis[d].taps = std::max(loops.axis[d].taps, g.axis(d, phase).taps);
    }
  }
  return loops;
}

/// The weights [inputs, outputs of a group, taps] as a phase needs them.
class PhaseWeights {
 public:
  PhaseWeights(const ConvGeometry& g, const int8_t* weight, int32_t zero_point, int8_t* rows,
               int32_t* excess)
      : g_(g), weight_(weight), zero_(zero_point), rows_(rows), excess_(excess) {}

  // Fills the rows [channels, (input, tap)] and the zero point's contributions to their sums.
  void gather(const WindowLoops& loops) const {
    int8_t* to = rows_;
    for (int64_t channel = 0; channel < g_.groups * g_.out_channels; ++channel) {
      const int64_t group = channel / g_.out_channels, output = channel % g_.out_channels;
      const int64_t first = group * g_.in_channels;
      // There may be as many phases without taps as results: these have nothing to add up.
      const int64_t last = first + (loops.taps() > 0 ? g_.in_channels : 0);
      int32_t sum = 0;
      for (int64_t input = first; input < last; ++input) {
        int8_t* const end = copy_taps(loops, input * g_.out_channels + output, to);
        for (; to < end; ++to) sum += *to;
      }
      excess_[channel] = zero_ * sum;
    }
  }

 private:
  int8_t* copy_taps(const WindowLoops& loops, int64_t row, int8_t* to) const {
    const WindowAxis* const axis = loops.axis;
    const auto place = [&](int d, int64_t tap) {
      return axis[d].tap_first + tap * axis[d].tap_step;
    };
    const int8_t* const from = weight_ + row * g_.kernel[0] * g_.kernel[1] * g_.kernel[2];
    for (int64_t z = 0; z < axis[0].taps; ++z) {
      for (int64_t y = 0; y < axis[1].taps; ++y) {
        const int64_t line = (place(0, z) * g_.kernel[1] + place(1, y)) * g_.kernel[2];
        for (int64_t x = 0; x < axis[2].taps; ++x) *to++ = from[line + place(2, x)];
      }
    }
    return to;
  }

  const ConvGeometry& g_;
  const int8_t* const weight_;
  const int32_t zero_;
  int8_t* const rows_;
  int32_t* const excess_;
};

template <class F>
void for_each_phase(const ConvGeometry& g, F&& f) {
  for (int64_t z = 0; z < g.phases(0); ++z) {
    for (int64_t y = 0; y < g.phases(1); ++y) {
      for (int64_t x = 0; x < g.phases(2); ++x) {
        const WindowLoops loops{{g.axis(0, z), g.axis(1, y), g.axis(2, x)}};
        if (loops.outputs() > 0) f(loops);
      }
    }
  }
}

}  // namespace

/// out = round(acc * scales[channel] + offsets[channel]) + out_zero_point, acc being the exact
/// transposed convolution of integers less input_zero_point; weight: [inputs, outputs / groups, …].
Tensor& transposed_convolution_out(KernelRuntimeContext& ctx, const Tensor& input,
                                   int64_t input_zero, const Tensor& weight, const Tensor& scales,
                                   const Tensor& offsets, ArrayRef<int64_t> stride,
                                   ArrayRef<int64_t> padding, ArrayRef<int64_t> dilation,
                                   ArrayRef<int64_t> output_padding, int64_t groups,
                                   int64_t out_zero, int64_t out_min, int64_t out_max,
                                   Tensor& out) {
  ConvGeometry g;
  const ConvArguments arguments = {stride, padding, dilation, true, output_padding, groups};
  if (!expect_int8(ctx, "input", input) || !expect_int8(ctx, "out", out) ||
      !expect_limits(ctx, out_zero, out_min, out_max) || !expect_input_zero(ctx, input_zero) ||
      !conv_geometry(ctx, input, weight, std::nullopt, arguments, &g) ||
      !expect_channels(ctx, weight, g.groups * g.out_channels, kMaxCentredTerms, scales, offsets) ||
      !resize(ctx, out, g.out_shape()) || out.numel() == 0) {
    return out;
  }
  // Without channels, the taps contribute nothing: none is visited.
  if (g.in_channels == 0) std::fill_n(g.kernel, kSpatial, 0);
  const WindowLoops largest = largest_phase(g);
  const int64_t channels = g.groups * g.out_channels;
  auto* const rows = allocate<int8_t>(ctx, channels * g.in_channels * largest.taps());
  auto* const excess = allocate<int32_t>(ctx, channels);
  if (rows == nullptr || excess == nullptr) return out;
  const auto layer = [&](const WindowLoops& loops) {
    return FusedLayer{g,
                      loops,
                      rows,
                      scales.const_data_ptr<float>(),
                      offsets.const_data_ptr<float>(),
                      Limits(out_zero, out_min, out_max),
                      static_cast<int8_t>(input_zero),
                      excess};
  };
  const LayerProduct product(ctx, layer(largest));
  if (!product.ready()) return out;
  const PhaseWeights weights(g, weight.const_data_ptr<int8_t>(), static_cast<int32_t>(input_zero),
                             rows, excess);
  const Images images(input, g.spatial), results(out, g.spatial);
  for_each_phase(g, [&](const WindowLoops& loops) {
    weights.gather(loops);
    product.run(layer(loops), images, results);
  });
  return out;
}

}  // namespace executorch::kernels::quantized
