// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// ImageProcessor callable from pytest through ctypes.
#include <executorch/extension/image/image_processor.h>

using namespace executorch::extension::image;

/// Resizes a tightly packed RGBA image into [3, result_height, result_width] floats in [0, 255].
/// Returns the runtime's error code.
extern "C" __attribute__((visibility("default"))) int resize_rgba(const uint8_t* data,
                                                                  int32_t width, int32_t height,
                                                                  int32_t result_width,
                                                                  int32_t result_height,
                                                                  float* result) {
  ImageProcessorConfig config;
  config.target_width = result_width;
  config.target_height = result_height;
  config.normalization = {1.0f, {0, 0, 0, 0}, {1, 1, 1, 1}};
  const ImageProcessor processor(config);
  auto out = executorch::extension::make_tensor_ptr({1, 3, result_height, result_width}, result);
  return static_cast<int>(
      processor.process_into(data, width, height, width * 4, ColorFormat::RGBA, *out));
}
