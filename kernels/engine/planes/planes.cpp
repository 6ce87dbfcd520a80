// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
#include <executorch/kernels/engine/planes/planes.h>

#include <algorithm>
#include <cstring>

#include <executorch/kernels/engine/arithmetic.h>
#include <executorch/kernels/engine/planes/padded_plane.h>
#include <executorch/kernels/engine/planes/window_in_place.h>

namespace executorch::kernels::engine {
namespace {

/// Sums of some taps at neighboring places of a padded plane.
struct PlaneSums {
  const float* plane;
  const size_t* offsets;
  const float* weights;
  size_t taps;
  float* sums;
  size_t count;
  float bias, clamp_min, clamp_max;
};

/// Floats of the widest vector.
constexpr size_t kPlaneSlack = 16;

}  // namespace
}  // namespace executorch::kernels::engine

#define ET_SIMD_SOURCE <executorch/kernels/engine/planes/any_window.inc>
#include <executorch/kernels/engine/simd/each_set.h>

namespace executorch::kernels::engine {
namespace {

/// Convolutions with more taps, or of narrower images, convert them to NHWC.
/// `python test/benchmark/undelegated.py mobilenet_v2` measures both.
constexpr size_t kMaxTaps = 9, kMinWidth = 96, kMinWidthInPlace = 24;

bool stays_in_place(const Conv2dParams& p) {
  return p.kernel_height == p.kernel_width && p.stride_height == p.stride_width &&
         p.dilation_height == 1 && p.dilation_width == 1 &&
         plane_window_function(InstructionSet::Scalar, p.kernel_height, p.stride_height) != nullptr;
}

size_t offsets_floats(const Conv2dParams& p) {
  const size_t bytes = p.kernel_height * p.kernel_width * sizeof(size_t);
  return round_up(bytes, kAlignment) / sizeof(float);
}

/// Floats of a worker: its plane, and the sums of all places.
size_t worker_floats(const PaddedPlane& plane) {
  if (plane.floats() == 0) return 0;
  return plane.floats() + round_up(plane.length() + kPlaneSlack, kAlignment / sizeof(float));
}

}  // namespace

bool planes_are_faster(const Conv2dParams& p, ImageSize input) {
  if (p.transposed || p.group_inputs != 1 || p.group_outputs != 1) return false;
  return stays_in_place(p)
             ? input.width >= kMinWidthInPlace
             : p.kernel_height * p.kernel_width <= kMaxTaps && input.width >= kMinWidth;
}

size_t planes_scratch_bytes(const Conv2dParams& p, ImageSize input, size_t threads) {
  if (stays_in_place(p)) {
    return round_up(input.width, kAlignment / sizeof(float)) * sizeof(float);
  }
  const size_t of_worker = worker_floats(PaddedPlane(p, input, kPlaneSlack));
  return (offsets_floats(p) + threads * of_worker) * sizeof(float);
}

void convolve_planes(const Conv2dParams& p, const PlanesCall& call, Threads& threads,
                     InstructionSet set) {
  const PaddedPlane padded(p, call.input_size, kPlaneSlack);
  const ImageSize output = padded.output();
  const size_t in_plane = call.input_size.height * call.input_size.width;
  const size_t out_plane = output.height * output.width;
  const size_t taps = p.kernel_height * p.kernel_width;
  if (out_plane == 0) return;
  auto* const scratch = static_cast<float*>(call.scratch);
  std::memset(scratch, 0, planes_scratch_bytes(p, call.input_size, threads.count()));
  const bool in_place = stays_in_place(p);
  auto* const offsets = static_cast<size_t*>(call.scratch);
  float* const workers = scratch + offsets_floats(p);
  for (size_t tap = 0; !in_place && tap < taps; ++tap) offsets[tap] = padded.tap(tap);
  const auto sum_in_place = plane_window_function(set, p.kernel_height, p.stride_height);
  const auto sum = ET_SIMD_FUNCTION(set, sum_places);
  for_each_item(threads, call.batch * p.groups, [&](size_t item, size_t worker) {
    const size_t channel = item % p.groups;
    const float* const weights = call.weights + channel * taps;
    const float bias = call.bias == nullptr ? 0.0f : call.bias[channel];
    const float* const in = call.in + item * in_plane;
    float* const out = call.out + item * out_plane;
    if (in_place) {
      sum_in_place({weights, bias, call.clamp_min, call.clamp_max, in, call.input_size.height,
                    call.input_size.width, p.pad_top, p.pad_left, scratch, out, output.height,
                    output.width});
      return;
    }
    float* const plane = workers + worker * worker_floats(padded);
    float* const sums = plane + padded.floats();
    padded.fill(in, plane);
    sum({plane, offsets, weights, taps, sums, padded.length(), bias, call.clamp_min,
         call.clamp_max});
    padded.collect(sums, 0, padded.length(), out);
  });
}

}  // namespace executorch::kernels::engine
