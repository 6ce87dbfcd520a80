// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
#include <executorch/kernels/engine/conv/conv.h>

#include <string>

#include "random_window.h"
#include "support.h"

namespace {

using namespace engine_test;  // NOLINT: the tests' vocabulary

struct Case {
  Conv2dParams params;
  size_t batch = 1;
  ImageSize input;
  size_t input_gap = 0, output_gap = 0;
  bool has_bias = true, has_residual = false, is_clamped = false;
  Activation activation = Activation::None;
  bool is_oihw = false;

  size_t channels() const { return params.groups * params.group_inputs; }
  size_t outputs() const { return params.groups * params.group_outputs; }
  ImageSize output() const { return output_size(params, input); }
  size_t input_pixel() const { return channels() + input_gap; }
  size_t output_pixel() const { return outputs() + output_gap; }
  size_t weight_count() const {
    return outputs() * params.kernel_height * params.kernel_width * params.group_inputs;
  }

  std::string text() const {
    const Conv2dParams& p = params;
    const auto pair = [](const char* name, size_t a, size_t b) {
      return std::string(" ") + name + " " + std::to_string(a) + "x" + std::to_string(b);
    };
    return std::to_string(batch) + "x" + std::to_string(input.height) + "x" +
           std::to_string(input.width) + pair("groups", p.groups, p.group_inputs) + " -> " +
           std::to_string(p.group_outputs) + pair("kernel", p.kernel_height, p.kernel_width) +
           pair("stride", p.stride_height, p.stride_width) +
           pair("dilation", p.dilation_height, p.dilation_width) +
           pair("padding", p.pad_top, p.pad_left) + (p.transposed ? " transposed" : "");
  }
};

struct Operands {
  Floats input, weights, bias, residual;

  Operands(const Case& c, Random& random)
      : input(random.floats(pixels(c.batch, c.input, c.channels(), c.input_gap))),
        weights(random.floats(c.weight_count())),
        bias(random.floats(c.outputs())),
        residual(random.floats(pixels(c.batch, c.output(), c.outputs(), c.output_gap))) {}

  /// The last pixel has no gap after it.
  static size_t pixels(size_t batch, ImageSize size, size_t channels, size_t gap) {
    const size_t count = batch * size.height * size.width;
    return count == 0 ? 0 : (count - 1) * (channels + gap) + channels;
  }
};

ConvWeights weights_of(const Case& c, const Operands& o) {
  const float* const bias = c.has_bias ? o.bias.data() : nullptr;
  if (!c.is_oihw) return ConvWeights::ohwi(c.params, o.weights.data(), bias);
  const size_t plane = c.params.kernel_height * c.params.kernel_width;
  return {o.weights.data(), c.params.group_inputs * plane, c.params.kernel_width, 1, plane, bias};
}

/// Numbers of a pair of bfloat16, or of a float.
struct NumbersOf {
  size_t input = 1, output = 1;
};

Floats run(const Case& c, const Operands& o, const Conv2d& conv, Threads& threads,
           NumbersOf numbers = {}) {
  Aligned packed(conv.packed_bytes());
  conv.pack(weights_of(c, o), packed.floats(), threads);
  Aligned scratch(conv.scratch_bytes(c.batch, c.input, threads.count()));
  Floats output(o.residual.size(), 77);
  Conv2dCall call;
  call.batch = c.batch;
  call.input_size = c.input;
  call.input = o.input.data();
  call.input_pixel_stride = c.input_pixel() / numbers.input;
  call.packed = packed.floats();
  call.output = output.data();
  call.output_pixel_stride = c.output_pixel() / numbers.output;
  if (c.has_residual) call.epilogue.residual = o.residual.data();
  if (c.is_clamped) {
    call.epilogue.clamp_min = -0.5f;
    call.epilogue.clamp_max = 0.75f;
  }
  call.epilogue.activation = c.activation;
  call.scratch = scratch.data();
  conv.run(call, threads);
  return output;
}

/// The source coordinate of an output coordinate and a tap, or -1.
int64_t source(const Case& c, bool is_down, size_t out, size_t tap) {
  const Conv2dParams& p = c.params;
  const auto stride = int64_t(is_down ? p.stride_height : p.stride_width);
  const auto dilation = int64_t(is_down ? p.dilation_height : p.dilation_width);
  const auto padding = int64_t(is_down ? p.pad_top : p.pad_left);
  const auto size = int64_t(is_down ? c.input.height : c.input.width);
  int64_t at = 0;
  if (p.transposed) {
    at = int64_t(out) + padding - int64_t(tap) * dilation;
    if (at < 0 || at % stride != 0) return -1;
    at /= stride;
  } else {
    at = int64_t(out) * stride + int64_t(tap) * dilation - padding;
  }
  return at >= 0 && at < size ? at : -1;
}

double expected_at(const Case& c, const Operands& o, size_t n, size_t y, size_t x, size_t output,
                   double* magnitude) {
  const Conv2dParams& p = c.params;
  const ConvWeights w = weights_of(c, o);
  double sum = c.has_bias ? o.bias[output] : 0;
  *magnitude = std::fabs(sum) + 1;
  for (size_t ky = 0; ky < p.kernel_height; ++ky) {
    for (size_t kx = 0; kx < p.kernel_width; ++kx) {
      const int64_t in_y = source(c, true, y, ky), in_x = source(c, false, x, kx);
      if (in_y < 0 || in_x < 0) continue;
      const size_t pixel =
          ((n * c.input.height + size_t(in_y)) * c.input.width + size_t(in_x)) * c.input_pixel();
      for (size_t i = 0; i < p.group_inputs; ++i) {
        const double number = o.input[pixel + output / p.group_outputs * p.group_inputs + i];
        sum += number * w.data[output * w.output_stride + ky * w.y_stride + kx * w.x_stride +
                               i * w.input_stride];
        *magnitude += std::fabs(number);  // weights are within one
      }
    }
  }
  const ImageSize size = c.output();
  if (c.has_residual) {
    sum += o.residual[((n * size.height + y) * size.width + x) * c.output_pixel() + output];
  }
  if (c.is_clamped && !std::isnan(sum)) sum = std::min(std::max(sum, -0.5), 0.75);
  if (c.activation == Activation::Silu) sum = sum / (1 + std::exp(-sum));
  return sum;
}

void expect_convolution(const Case& c, const Operands& o, const Floats& output, double bound) {
  const ImageSize size = c.output();
  for (size_t at = 0; at < output.size(); ++at) {
    const size_t pixel = at / c.output_pixel(), channel = at % c.output_pixel();
    if (channel >= c.outputs()) {
      ASSERT_EQ(77, output[at]) << "a gap was written: " << c.text();
      continue;
    }
    const size_t x = pixel % size.width, y = pixel / size.width % size.height;
    double magnitude = 0;
    const double expected =
        expected_at(c, o, pixel / size.width / size.height, y, x, channel, &magnitude);
    const double allowed = std::isfinite(magnitude) ? bound * magnitude : 1e30;
    ASSERT_TRUE(is_near(expected, output[at], allowed))
        << c.text() << " at " << y << ", " << x << ", " << channel << ": " << output[at]
        << ", expected " << expected;
  }
}

void expect_everywhere(const Case& c, Random& random, double bound = tolerance::kConvolution,
                       Precision precision = Precision::Float32) {
  CallingThread alone;
  ManyThreads many(3);
  Operands operands(c, random);
  const Operands given = operands;
  if (precision == Precision::BFloat16) {
    round_to_bf16(operands.input);
    round_to_bf16(operands.weights);
  }
  for (InstructionSet set : instruction_sets()) {
    SCOPED_TRACE(name_of(set));
    const Conv2d conv = Conv2d::plan(c.params, c.batch, c.input, set, precision);
    ASSERT_TRUE(conv.accepts(weights_of(c, operands)));
    const Floats output = run(c, operands, conv, alone);
    expect_convolution(c, operands, output, bound);
    if (testing::Test::HasFatalFailure()) return;
    ASSERT_TRUE(same_bits(output, run(c, operands, conv, many))) << c.text();
    if (conv.precision() == Precision::BFloat16) {
      ASSERT_TRUE(same_bits(output, run(c, given, conv, alone))) << c.text() << ": not rounded";
    }
  }
}

Case random_case(Random& random, size_t groups, size_t inputs, size_t outputs) {
  Case c;
  c.params.groups = groups;
  c.params.group_inputs = inputs;
  c.params.group_outputs = outputs;
  c.params.kernel_height = random.size(1, 5);
  c.params.kernel_width = random.size(1, 5);
  draw_steps(random, 3, c.params);
  draw_padding(random, 3, c.params);
  c.batch = random.size(1, 2);
  c.input = {random.size(1, 12), random.size(1, 12)};
  c.input_gap = random.size(0, 2) == 0 ? 3 : 0;
  c.output_gap = random.size(0, 2) == 0 ? 2 : 0;
  c.has_bias = random.size(0, 3) != 0;
  c.has_residual = random.size(0, 2) == 0;
  c.is_clamped = random.size(0, 1) == 0;
  c.activation = random.size(0, 3) == 0 ? Activation::Silu : Activation::None;
  c.is_oihw = random.size(0, 2) == 0;
  return c;
}

TEST(Conv2d, ProductsOfWindowsMatchDoublePrecision) {
  Random random(11);
  for (int i = 0; i < 50; ++i) {
    const size_t groups = random.one_of<size_t>({1, 1, 2, 3});
    expect_everywhere(random_case(random, groups, random.size(2, 20), random.size(1, 70)), random);
    if (HasFatalFailure()) return;
  }
}

TEST(Conv2d, WindowsOfManyTapsAndPanelsOfAnyWidthMatchDoublePrecision) {
  Random random(31);
  for (size_t outputs = 1; outputs <= 41; ++outputs) {
    Case c = random_case(random, 1, 17, outputs);
    c.params.kernel_height = 3;
    c.params.kernel_width = 4;
    c.has_residual = outputs % 2 == 0;
    expect_everywhere(c, random);
    if (HasFatalFailure()) return;
  }
}

TEST(Conv2d, FirstLayersOfFewChannelsMatchDoublePrecision) {
  Random random(12);
  for (int i = 0; i < 30; ++i) {
    Case c = random_case(random, 1, random.size(1, 4), random.size(1, 40));
    c.params.dilation_width = 1;
    c.params.kernel_width = random.size(1, 7);
    c.input_gap = 0;
    c.input = {random.size(1, 20), random.size(1, 90)};
    expect_everywhere(c, random);
    if (HasFatalFailure()) return;
  }
}

/// Groups of few channels, with as many outputs as inputs.
Case grouped_case(Random& random) {
  const size_t channels = random.one_of<size_t>({2, 4, 8, 16});
  return random_case(random, random.size(2, 40 / channels + 5), channels, channels);
}

TEST(Conv2d, GroupsOfFewChannelsMatchDoublePrecision) {
  Random random(37);
  for (int i = 0; i < 60; ++i) {
    Case c = grouped_case(random);
    c.input = {random.size(1, 9), random.size(1, 20)};
    expect_everywhere(c, random);
    if (HasFatalFailure()) return;
  }
}

TEST(Conv2d, TransposedConvolutionsMatchDoublePrecision) {
  Random random(13);
  for (int i = 0; i < 40; ++i) {
    Case c = random_case(random, random.size(1, 2), random.size(1, 9), random.size(1, 40));
    c.params.transposed = true;
    c.params.output_pad_height = random.size(0, c.params.stride_height - 1);
    c.params.output_pad_width = random.size(0, c.params.stride_width - 1);
    expect_everywhere(c, random);
    if (HasFatalFailure()) return;
  }
}

TEST(Conv2d, TransposedConvolutionsOfWideStridesMatchDoublePrecision) {
  Random random(18);
  for (int i = 0; i < 40; ++i) {
    Case c = random_case(random, random.size(1, 2), random.size(1, 3), random.size(1, 20));
    c.params.transposed = true;
    c.params.stride_height = random.size(1, 9);
    c.params.stride_width = random.size(1, 9);
    c.params.dilation_height = random.size(1, 12);
    c.params.dilation_width = random.size(1, 12);
    c.params.kernel_width = random.size(1, 12);
    c.input = {random.size(1, 3), random.size(1, 5)};
    expect_everywhere(c, random);
    if (HasFatalFailure()) return;
  }
}

TEST(Conv2d, DepthwiseConvolutionsMatchDoublePrecision) {
  Random random(14);
  for (int i = 0; i < 50; ++i) {
    const size_t multiplier = random.one_of<size_t>({1, 1, 1, 2, 3});
    Case c = random_case(random, random.size(2, 70), 1, multiplier);
    if (random.size(0, 1) == 0) c.params.kernel_width = c.params.kernel_height;
    expect_everywhere(c, random);
    if (HasFatalFailure()) return;
  }
}

TEST(Conv2d, DepthwiseKernelsOfSquareWindowsMatchDoublePrecision) {
  Random random(15);
  for (size_t window : {3, 5, 7}) {
    for (size_t stride : {1, 2}) {
      for (size_t channels : {8, 24, 37, 48}) {
        for (size_t width : {1, 4, 9, 17}) {
          Case c;
          c.params.groups = channels;
          c.params.kernel_height = c.params.kernel_width = window;
          c.params.stride_height = c.params.stride_width = stride;
          c.params.pad_top = c.params.pad_left = window / 2;
          c.params.pad_bottom = c.params.pad_right = window / 2;
          c.input = {random.size(1, 14), width};
          c.is_clamped = true;
          expect_everywhere(c, random);
          if (HasFatalFailure()) return;
        }
      }
    }
  }
}

Case winograd_case(Random& random) {
  Case c;
  c.params.group_inputs = random.size(48, 70);
  c.params.group_outputs = random.size(32, 90);
  c.params.kernel_height = c.params.kernel_width = 3;
  draw_padding(random, 2, c.params);
  c.batch = random.size(1, 2);
  c.input = {random.size(12, 18), random.size(12, 18)};
  c.output_gap = random.size(0, 1);
  c.has_residual = random.size(0, 1) == 0;
  c.is_clamped = random.size(0, 1) == 0;
  c.activation = random.size(0, 1) == 0 ? Activation::Silu : Activation::None;
  c.is_oihw = random.size(0, 1) == 0;
  return c;
}

TEST(Conv2d, WinogradMatchesDoublePrecision) {
  Random random(16);
  for (int i = 0; i < 12; ++i) {
    const Case c = winograd_case(random);
    if (detected_instruction_set() >= InstructionSet::Avx2) {
      ASSERT_EQ(ConvAlgorithm::Winograd, Conv2d::plan(c.params, c.batch, c.input).algorithm());
    }
    expect_everywhere(c, random);
    if (HasFatalFailure()) return;
  }
}

TEST(Conv2d, MayRoundFactorsToBfloat16) {
  Random random(20);
  bool is_rounded = false;
  for (int i = 0; i < 90; ++i) {
    const size_t groups = random.one_of<size_t>({1, 1, 2, 3});
    Case c = random_case(random, groups, random.size(1, 21), random.size(1, 70));
    if (i % 3 == 0) {
      c = random_case(random, 1, random.size(8, 40), random.size(16, 70));
      c.params.kernel_height = c.params.kernel_width = 1;
      if (i % 2 == 0) c.params.stride_height = c.params.stride_width = 1;
      c.params.pad_top = c.params.pad_left = c.params.pad_bottom = c.params.pad_right = 0;
    }
    if (i % 10 == 0) c = winograd_case(random);
    is_rounded = is_rounded ||
                 Conv2d::plan(c.params, c.batch, c.input, instruction_set(), Precision::BFloat16)
                         .precision() == Precision::BFloat16;
    expect_everywhere(c, random, tolerance::kConvolution, Precision::BFloat16);
    if (HasFatalFailure()) return;
  }
  EXPECT_EQ(instruction_set() >= InstructionSet::Avx512Bf16, is_rounded);
}

TEST(Conv2d, MayRoundPixelsOfThreeChannelsToBfloat16) {
  Random random(21);
  for (int i = 0; i < 30; ++i) {
    Case c = random_case(random, 1, 3, random.size(16, 70));
    c.params.kernel_height = random.size(4, 7);
    c.params.kernel_width = random.size(4, 7);
    c.input = {random.size(13, 24), random.size(13, 24)};
    if (instruction_set() >= InstructionSet::Avx512Bf16) {
      const InstructionSet set = instruction_set();
      const Conv2d conv = Conv2d::plan(c.params, c.batch, c.input, set, Precision::BFloat16);
      ASSERT_EQ(Precision::BFloat16, conv.precision());
    }
    expect_everywhere(c, random, tolerance::kConvolution, Precision::BFloat16);
    if (HasFatalFailure()) return;
  }
}

TEST(Conv2d, AConvolutionMayRoundTheFactorsOfTheNextConvolution) {
  Random random(22);
  ManyThreads threads(3);
  const auto copy = [](const Floats& from, Floats& to) {
    std::copy(from.begin(), from.end(), to.begin());
  };
  for (int i = 0; i < 80; ++i) {
    const bool is_depthwise = i % 2 == 0;
    Case first = is_depthwise ? random_case(random, 2 * random.size(9, 30), 1, 1)
                              : random_case(random, random.size(1, 2), random.size(16, 70),
                                            2 * random.size(8, 70));
    first.batch = random.size(1, 2);
    first.input = {random.size(7, 20), random.size(7, 20)};
    first.params.kernel_height = first.params.kernel_width =
        is_depthwise ? 3 + 2 * random.size(0, 2) : 1 + 2 * random.size(0, 1);
    first.params.dilation_height = first.params.dilation_width = 1;
    first.params.stride_height = first.params.stride_width = random.size(1, 2);
    if (!is_depthwise) first.activation = Activation::None;
    first.input_gap = first.output_gap = 0;
    first.has_residual = false;
    if (first.output().height * first.output().width == 0) continue;
    Case next = random_case(random, 1, first.outputs(), random.size(16, 70));
    if (i % 2 == 0) {
      next.params = {};
      next.params.group_inputs = first.outputs();
      next.params.group_outputs = random.size(16, 70);
    }
    next.batch = first.batch;
    next.input = first.output();
    next.input_gap = 0;
    const Operands operands(first, random);
    Operands next_operands(next, random);
    for (InstructionSet set : instruction_sets()) {
      SCOPED_TRACE(name_of(set));
      const Conv2d writer = Conv2d::plan(first.params, first.batch, first.input, set,
                                         is_depthwise ? Precision::Float32 : Precision::BFloat16);
      const Conv2d reader =
          Conv2d::plan(next.params, next.batch, next.input, set, Precision::BFloat16);
      EXPECT_EQ(set >= InstructionSet::Avx512Bf16, writer.can_write_pairs(first.activation));
      if (!writer.can_write_pairs(first.activation) || !reader.can_read_pairs()) continue;
      copy(run(first, operands, writer, threads), next_operands.input);
      const Floats expected = run(next, next_operands, reader, threads);
      const Floats pairs = run(first, operands, writer.writing_pairs(), threads, {1, 2});
      copy(pairs, next_operands.input);
      const Floats output = run(next, next_operands, reader.reading_pairs(), threads, {2, 1});
      ASSERT_TRUE(same_bits(expected, output)) << first.text() << ", " << next.text();
    }
  }
}

TEST(Conv2d, ANumberThatIsNotFiniteChangesOnlyWhatItIsPartOf) {
  Random random(17);
  CallingThread alone;
  for (int i = 0; i < 32; ++i) {
    Case c = i % 4 == 0   ? winograd_case(random)
             : i % 4 == 1 ? random_case(random, random.size(8, 40), 1, 1)
             : i % 4 == 2 ? grouped_case(random)
                          : random_case(random, 1, random.size(2, 30), random.size(1, 50));
    c.activation = Activation::None;
    Operands operands(c, random);
    if (operands.input.size() == 0) continue;
    for (float special : {kNaN, kInfinity, -kInfinity, 1e20f}) {
      operands.input[random.size(0, operands.input.size() - 1)] = special;
    }
    for (InstructionSet set : instruction_sets()) {
      const Conv2d conv = Conv2d::plan(c.params, c.batch, c.input, set);
      SCOPED_TRACE(name_of(set));
      expect_convolution(c, operands, run(c, operands, conv, alone), tolerance::kHugeInputs);
      if (HasFatalFailure()) return;
    }
  }
}

TEST(Conv2d, WinogradRefusesWeightsThatAreNotFiniteOrLarge) {
  Random random(18);
  CallingThread alone;
  Case c = winograd_case(random);
  c.activation = Activation::None;
  for (float special : {kNaN, kInfinity, -kInfinity, 0x1p60f}) {
    Operands operands(c, random);
    operands.weights[random.size(0, operands.weights.size() - 1)] = special;
    const Conv2d conv = Conv2d::plan(c.params, c.batch, c.input);
    if (conv.algorithm() != ConvAlgorithm::Winograd) return;
    EXPECT_FALSE(conv.accepts(weights_of(c, operands)));
    const Conv2d direct = conv.without_winograd();
    ASSERT_NE(conv.layout(), direct.layout());
    ASSERT_TRUE(direct.accepts(weights_of(c, operands)));
  }
}

TEST(Conv2d, ImagesWithoutPointsGiveNothing) {
  CallingThread alone;
  Case c;
  c.params.group_inputs = 3;
  c.params.group_outputs = 5;
  c.params.kernel_height = c.params.kernel_width = 3;
  for (ImageSize size : {ImageSize{0, 4}, ImageSize{4, 0}, ImageSize{2, 9}}) {
    c.input = size;
    Random random(19);
    const Operands operands(c, random);
    ASSERT_EQ(0u, c.output().height * c.output().width);
    run(c, operands, Conv2d::plan(c.params, 1, size), alone);
  }
}

}  // namespace
