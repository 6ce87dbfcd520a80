// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// Convolutions of int8 images, static and dynamic.
#include <executorch/kernels/engine/qwinograd/qwinograd.h>

#include "quantized.h"
#include "random_window.h"

namespace {

using namespace engine_test;  // NOLINT: the tests' vocabulary

/// Compares a convolution of random images, static and dynamic, with sums in its definition's
/// order.
void check_convolution(const Conv2dParams& p, const ImageSize& input, Random& random) {
  const ImageSize output = output_size(p, input);
  const size_t batch = 2, inputs = p.groups * p.group_inputs;
  const size_t outputs = p.groups * p.group_outputs;
  const size_t taps = p.kernel_height * p.kernel_width;
  const size_t pixel_stride = inputs + random.size(0, 1);
  const Bytes in(batch * input.height * input.width * pixel_stride, random);
  const Bytes weights(outputs * taps * p.group_inputs, random);
  const Quantized q(outputs, random);
  const std::vector<int32_t> zeros = {q.input_zero, 5};
  std::vector<RowQuantization> parameters;
  for (float scale : random.floats(batch, 1e-3f, 1e-2f)) {
    parameters.push_back({zeros[parameters.size()], scale});
  }
  const QConvWeights w = {weights.data(), taps * p.group_inputs, p.kernel_width * p.group_inputs,
                          p.group_inputs, 1};
  const auto sum_at = [&](size_t at, const int32_t* zero_of_image) {
    const size_t o = at % outputs, x = at / outputs % output.width;
    const size_t y = at / outputs / output.width % output.height;
    const size_t n = at / outputs / output.width / output.height;
    int32_t sum = 0;
    for (size_t tap = 0; tap < taps; ++tap) {
      const size_t in_y =
          y * p.stride_height + tap / p.kernel_width * p.dilation_height - p.pad_top;
      const size_t in_x = x * p.stride_width + tap % p.kernel_width * p.dilation_width - p.pad_left;
      if (in_y >= input.height || in_x >= input.width) continue;
      for (size_t k = 0; k < p.group_inputs; ++k) {
        const size_t pixel = ((n * input.height + in_y) * input.width + in_x) * pixel_stride;
        sum += (in[pixel + o / p.group_outputs * p.group_inputs + k] - zero_of_image[n]) *
               weights[(o * taps + tap) * p.group_inputs + k];
      }
    }
    return sum;
  };
  for (InstructionSet set : instruction_sets()) {
    ManyThreads threads(random.size(1, 3));
    const QConv2d conv = QConv2d::plan(p, set);
    Aligned packed(conv.packed_bytes());
    Aligned scratch(conv.scratch_bytes(batch, input, threads.count()));
    conv.pack(w, q.columns(true), packed.data());
    Bytes out(batch * output.height * output.width * outputs);
    const Bytes residual(out.size(), random);
    const bool adds = conv.adds() && random.size(0, 1) == 0;
    const QSum total = any_sum(random);
    conv.run({batch, input, in.data(), pixel_stride, packed.data(), q.input_zero, out.data(),
              outputs, q.to, adds ? residual.data() : nullptr, total, scratch.data()},
             threads);
    const int32_t same_zeros[] = {q.input_zero, q.input_zero};
    for (size_t at = 0; at < out.size(); ++at) {
      const int32_t sum = q.bias_sums[at % outputs] + sum_at(at, same_zeros);
      const int product = requantized(sum, q.scales[at % outputs], q.to);
      ASSERT_EQ(adds ? total(int8_t(product), residual[at]) : product, int(out[at]))
          << name_of(set);
    }
    conv.pack(w, q.dynamic_columns(), packed.data());
    Floats floats(out.size());
    conv.run_dynamic({batch, input, in.data(), pixel_stride, parameters.data(), packed.data(),
                      floats.data(), outputs, -kInfinity, kInfinity, scratch.data()},
                     threads);
    for (size_t at = 0; at < out.size(); ++at) {
      const size_t o = at % outputs, image = at / (out.size() / batch);
      const double expected =
          double(sum_at(at, zeros.data())) * parameters[image].scale * q.scales[o] + q.bias[o];
      ASSERT_TRUE(
          is_near(expected, floats[at], tolerance::kElementwise * (1 + std::fabs(expected))));
    }
  }
}

TEST(QConv2d, GivesTheSameIntegersOnEveryInstructionSet) {
  Random random(53);
  for (int i = 0; i < 80; ++i) {
    Conv2dParams p;
    p.groups = random.one_of<size_t>({1, 1, 2, 5});
    p.group_inputs = random.size(1, 20);
    p.group_outputs = random.size(1, 40);
    p.kernel_height = random.size(1, 4);
    p.kernel_width = random.one_of<size_t>({random.size(1, 4), 7, 11});
    draw_steps(random, 2, p);
    draw_padding(random, 2, p);
    check_convolution(p, {random.size(1, 10), random.size(1, 10)}, random);
  }
}

/// Images with enough points for Winograd's algorithm.
TEST(QConv2d, LargeWindowsOfThreeByThreeGiveTheSameIntegersOnEveryInstructionSet) {
  Random random(58);
  for (int i = 0; i < 8; ++i) {
    Conv2dParams p;
    p.group_inputs = random.one_of<size_t>({48, 64, 144});
    p.group_outputs = random.one_of<size_t>({32, 40, random.size(32, 70)});
    p.kernel_height = p.kernel_width = 3;
    draw_padding(random, 2, p);
    check_convolution(p, {random.size(8, 15), random.size(8, 15)}, random);
  }
}

/// All points and weights are extremes; the sum of a window is known.
TEST(QConv2d, ExtremesGiveExactSums) {
  Random random(59);
  const ImageSize size = {13, 13};
  Conv2dParams p;
  p.group_inputs = 2048;
  p.group_outputs = 32;
  p.kernel_height = p.kernel_width = 3;
#if defined(__x86_64__)
  ASSERT_TRUE(qwinograd_gains(qgemm_tiles_avx2(), p, 1, size));
#endif
  for (int value : {-128, 127}) {
    for (int weight : {-128, 127}) {
      for (int zero : {-128, 127}) {
        const Bytes in(size.height * size.width * p.group_inputs, int8_t(value));
        const Bytes weights(p.group_outputs * 9 * p.group_inputs, int8_t(weight));
        const Floats scales(p.group_outputs, 1.0f);
        const QColumns columns = {scales.data(), 0, nullptr, true, nullptr};
        const RowQuantization parameters = {zero, 1.0f};
        const auto expected = float((value - zero) * weight * 9 * int(p.group_inputs));
        for (InstructionSet set : instruction_sets()) {
          if (set == InstructionSet::Scalar) continue;  // slow
          ManyThreads threads(random.size(1, 3));
          const QConv2d conv = QConv2d::plan(p, set);
          Aligned packed(conv.packed_bytes());
          Aligned scratch(conv.scratch_bytes(1, size, threads.count()));
          conv.pack({weights.data(), 9 * p.group_inputs, 3 * p.group_inputs, p.group_inputs, 1},
                    columns, packed.data());
          Floats out((size.height - 2) * (size.width - 2) * p.group_outputs);
          conv.run_dynamic({1, size, in.data(), p.group_inputs, &parameters, packed.data(),
                            out.data(), p.group_outputs, -kInfinity, kInfinity, scratch.data()},
                           threads);
          for (float sum : out) ASSERT_EQ(expected, sum) << name_of(set);
        }
      }
    }
  }
}

TEST(QConv2d, DepthwiseGivesTheSameIntegersOnEveryInstructionSet) {
  Random random(54);
  for (int i = 0; i < 150; ++i) {
    Conv2dParams p;
    p.groups = random.one_of<size_t>({2, 8, 16, 24, 32, 64, 80, 96, random.size(2, 140)});
    const size_t window = random.one_of<size_t>({3, random.size(1, 5)});
    p.kernel_height = window;
    p.kernel_width = random.one_of<size_t>({window, random.size(1, 5)});
    draw_steps(random, 3, p);
    draw_padding(random, 2, p);
    check_convolution(p, {random.size(1, 10), random.size(1, 10)}, random);
  }
}

TEST(QConv2d, GroupsOfFewChannelsGiveTheSameIntegersOnEveryInstructionSet) {
  Random random(61);
  for (int i = 0; i < 80; ++i) {
    Conv2dParams p;
    p.group_inputs = p.group_outputs = random.one_of<size_t>({2, 4, 8, 16});
    p.groups = random.size(2, 40 / p.group_inputs + 5);
    p.kernel_height = random.size(1, 4);
    p.kernel_width = random.size(1, 4);
    draw_steps(random, 3, p);
    draw_padding(random, 2, p);
    check_convolution(p, {random.size(1, 10), random.size(1, 20)}, random);
  }
}

}  // namespace
