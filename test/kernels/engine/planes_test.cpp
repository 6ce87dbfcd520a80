// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
#include <executorch/kernels/engine/conv/patches.h>
#include <executorch/kernels/engine/planes/planes.h>

#include "random_window.h"
#include "support.h"

namespace {

using namespace engine_test;  // NOLINT: the tests' vocabulary

double expected_at(const Conv2dParams& p, const PlanesCall& call, size_t plane, size_t y,
                   size_t x) {
  const size_t channel = plane % p.groups;
  double sum = call.bias == nullptr ? 0 : call.bias[channel];
  for (size_t ky = 0; ky < p.kernel_height; ++ky) {
    for (size_t kx = 0; kx < p.kernel_width; ++kx) {
      const size_t in_y = y * p.stride_height + ky * p.dilation_height - p.pad_top;
      const size_t in_x = x * p.stride_width + kx * p.dilation_width - p.pad_left;
      if (in_y >= call.input_size.height || in_x >= call.input_size.width) continue;
      sum +=
          double(call.in[(plane * call.input_size.height + in_y) * call.input_size.width + in_x]) *
          call.weights[(channel * p.kernel_height + ky) * p.kernel_width + kx];
    }
  }
  return std::isnan(sum) ? sum : std::min(std::max(sum, -1.0), 1.5);
}

TEST(Planes, MatchDoublePrecisionForEveryWindowAndKeepNaN) {
  Random random(61);
  for (int i = 0; i < 80; ++i) {
    Conv2dParams p;
    p.groups = random.size(1, 4);
    const bool stays_in_place = i % 2 == 0;
    p.kernel_height = stays_in_place ? 3 + i / 2 % 2 * 2 : random.size(1, 5);
    p.kernel_width = stays_in_place ? p.kernel_height : random.size(1, 5);
    if (stays_in_place) {
      p.stride_height = p.stride_width = 1 + i / 4 % 2;
    } else {
      p.stride_height = random.size(1, 3);
      p.stride_width = random.size(1, 3);
      p.dilation_height = random.size(1, 2);
      p.dilation_width = random.size(1, 3);
    }
    draw_padding(random, 2, p);
    PlanesCall call;
    call.batch = 2;
    call.input_size = {random.size(1, 12), random.size(1, 70)};
    call.clamp_min = -1;
    call.clamp_max = 1.5f;
    const ImageSize output = output_size(p, call.input_size);
    Floats in = random.floats(2 * p.groups * call.input_size.height * call.input_size.width);
    for (float special : {kNaN, kInfinity}) {
      if (random.size(0, 1) == 0) in[random.size(0, in.size() - 1)] = special;
    }
    const Floats weights = random.floats(p.groups * p.kernel_height * p.kernel_width);
    const Floats bias = random.floats(p.groups);
    call.in = in.data();
    call.weights = weights.data();
    call.bias = random.size(0, 2) == 0 ? nullptr : bias.data();
    for (InstructionSet set : instruction_sets()) {
      ManyThreads threads(random.size(1, 3));
      Floats out(2 * p.groups * output.height * output.width);
      Aligned scratch(planes_scratch_bytes(p, call.input_size, threads.count()));
      call.out = out.data();
      call.scratch = scratch.data();
      convolve_planes(p, call, threads, set);
      for (size_t at = 0; at < out.size(); ++at) {
        const size_t x = at % output.width, y = at / output.width % output.height;
        const double expected = expected_at(p, call, at / output.width / output.height, y, x);
        ASSERT_TRUE(is_near(expected, out[at], tolerance::kLayer))
            << name_of(set) << " " << out[at] << ", expected " << expected << " at " << y << ", "
            << x << " of " << p.kernel_height << "x" << p.kernel_width;
      }
    }
  }
}

double expected_of_patches(const Conv2dParams& p, const NchwCall& call, size_t output, size_t y,
                           size_t x) {
  const size_t outputs = p.groups * p.group_outputs, pixels_in = call.input_size.height;
  const size_t image = output / outputs, channel = output % outputs;
  const size_t first = (image * p.groups + channel / p.group_outputs) * p.group_inputs;
  double sum = call.bias == nullptr ? 0 : call.bias[channel];
  for (size_t i = 0; i < p.group_inputs; ++i) {
    for (size_t ky = 0; ky < p.kernel_height; ++ky) {
      for (size_t kx = 0; kx < p.kernel_width; ++kx) {
        const size_t in_y = y * p.stride_height + ky * p.dilation_height - p.pad_top;
        const size_t in_x = x * p.stride_width + kx * p.dilation_width - p.pad_left;
        const size_t tap = ((channel * p.group_inputs + i) * p.kernel_height + ky) * p.kernel_width;
        if (in_y >= pixels_in || in_x >= call.input_size.width) continue;
        sum += double(call.in[((first + i) * pixels_in + in_y) * call.input_size.width + in_x]) *
               call.weights[tap + kx];
      }
    }
  }
  return sum;
}

TEST(Patches, MatchDoublePrecisionForEveryWindow) {
  Random random(67);
  for (int i = 0; i < 100; ++i) {
    Conv2dParams p;
    p.groups = random.size(1, 2);
    p.group_inputs = random.size(1, i % 10 == 0 ? 200 : 6);
    p.group_outputs = random.size(1, 20);
    p.kernel_height = random.size(1, 3);
    p.kernel_width = random.size(1, 4);
    draw_steps(random, 3, p);
    if (i % 3 != 0) {
      p.pad_top = p.pad_bottom = random.size(0, 2);
      p.pad_left = p.pad_right = random.size(0, 2);
    }
    NchwCall call;
    call.batch = random.size(1, 2);
    call.input_size = {random.size(1, 14), random.size(1, 40)};
    const ImageSize output = output_size(p, call.input_size);
    const size_t inputs = p.groups * p.group_inputs, outputs = p.groups * p.group_outputs;
    const Floats in =
        random.floats(call.batch * inputs * call.input_size.height * call.input_size.width);
    const Floats weights =
        random.floats(outputs * p.group_inputs * p.kernel_height * p.kernel_width);
    const Floats bias = random.floats(outputs);
    call.in = in.data();
    call.weights = weights.data();
    call.bias = i % 2 == 0 ? nullptr : bias.data();
    for (InstructionSet set : instruction_sets()) {
      ManyThreads threads(random.size(1, 3));
      Floats out(call.batch * outputs * output.height * output.width, kNaN);
      Aligned scratch(patches_scratch_bytes(p, call.input_size, threads.count(), set));
      call.out = out.data();
      call.scratch = scratch.data();
      convolve_patches(p, call, threads, set);
      for (size_t at = 0; at < out.size(); ++at) {
        const size_t x = at % output.width, y = at / output.width % output.height;
        const double expected =
            expected_of_patches(p, call, at / output.width / output.height, y, x);
        ASSERT_TRUE(is_near(expected, out[at], tolerance::kLargeSums))
            << name_of(set) << " " << out[at] << ", expected " << expected << " at " << y << ", "
            << x << " of " << p.kernel_height << "x" << p.kernel_width;
      }
    }
  }
}

}  // namespace
