// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// Max pooling of float32 images in channels last by the engine.
#include <executorch/kernels/engine/pool/pool.h>
#include <executorch/kernels/optimized/NativeFunctions.h>
#include <executorch/kernels/optimized/kernel_threads.h>
#include <executorch/kernels/portable/pool/max_pool.h>

#include <cstdint>

namespace executorch::kernels::optimized {
namespace {

/// Minimum number of taps for each thread.
constexpr size_t kMinTaps = 1 << 17;

/// True if the images are contiguous in channels last.
bool is_channels_last(const Images& images) {
  const int64_t pixel = images.channels * images.first.channel_stride;
  const int64_t row = pixel * images.sizes[2];
  return images.has_rows_of_channels() && images.first.strides[2] == pixel &&
         images.first.strides[1] == row &&
         (images.batch == 1 || images.batch_stride == row * images.sizes[1]);
}

/// A portable::FloatMaxPooling.
bool find_maxima(const portable::MaxPooling& pooling) {
  const Images& from = pooling.from;
  const WindowAxis &down = pooling.loops.axis[1], &across = pooling.loops.axis[2];
  if (pooling.loops.axis[0].taps != 1 || !is_channels_last(from) || !is_channels_last(pooling.to) ||
      !is_channels_last(pooling.places) || from.sizes[1] * from.sizes[2] >= INT32_MAX) {
    return false;
  }
  engine::PoolCall call;
  call.kernel_height = size_t(down.taps);
  call.kernel_width = size_t(across.taps);
  call.stride_height = size_t(down.step);
  call.stride_width = size_t(across.step);
  call.dilation_height = size_t(down.tap_shift);
  call.dilation_width = size_t(across.tap_shift);
  call.pad_top = size_t(-down.origin);
  call.pad_left = size_t(-across.origin);
  call.batch = size_t(from.batch);
  call.channels = size_t(from.channels);
  call.input_size = {size_t(down.in), size_t(across.in)};
  call.output_size = {size_t(down.outputs), size_t(across.outputs)};
  call.input = reinterpret_cast<const float*>(from.first.data);
  call.output = reinterpret_cast<float*>(pooling.to.first.data);
  call.input_pixel_stride = call.output_pixel_stride = call.channels;
  call.places = reinterpret_cast<int64_t*>(pooling.places.first.data);
  const size_t outputs = call.batch * call.output_size.height * call.output_size.width;
  KernelThreads threads(outputs * call.channels * call.kernel_height * call.kernel_width, kMinTaps);
  engine::max_pool2d(call, threads);
  return true;
}

}  // namespace

std::tuple<Tensor&, Tensor&> max_pool2d_with_indices_out(
    KernelRuntimeContext& ctx, const Tensor& self, ArrayRef<int64_t> kernel_size,
    ArrayRef<int64_t> stride, ArrayRef<int64_t> padding, ArrayRef<int64_t> dilation, bool ceil_mode,
    Tensor& out, Tensor& indices) {
  return portable::max_pool(ctx, find_maxima, self, 2,
                            {kernel_size, stride, padding, dilation, ceil_mode}, out, indices);
}

}  // namespace executorch::kernels::optimized
