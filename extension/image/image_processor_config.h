// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// The settings of ImageProcessor, and the geometry that follows from them.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <utility>

namespace executorch::extension::image {

/// A region of an image as fractions of its width and height, after the image was turned upright.
struct NormalizedRect {
  float x = 0.0f;
  float y = 0.0f;
  float width = 1.0f;
  float height = 1.0f;
};

inline constexpr NormalizedRect kFullImage = {0.0f, 0.0f, 1.0f, 1.0f};

/// The order of the four bytes of a pixel. Alpha is ignored.
enum class ColorFormat : uint8_t {
  BGRA,
  RGBA,
};

/// The order of the two bytes of a chroma sample in a semi-planar 4:2:0 image: NV12 stores Cb
/// first, NV21 Cr.
enum class YUVFormat : uint8_t {
  NV12,
  NV21,
};

/// The values that YUV samples take: VIDEO has luma in [16, 235] and chroma in [16, 240], as most
/// cameras and codecs write it; FULL has both in [0, 255].
enum class YUVRange : uint8_t {
  VIDEO,
  FULL,
};

enum class ResizeMode : uint8_t {
  STRETCH,    // to the target's width and height
  LETTERBOX,  // as large as fits in the target with the aspect ratio kept, padded
};

/// Where LETTERBOX places the resized image.
enum class LetterboxAnchor : uint8_t {
  CENTER,
  TOP_LEFT,
};

/// The EXIF orientation of the source: how it must be turned to stand upright. Mirrored
/// orientations (2, 4, 5, 7) are not supported.
enum class Orientation : uint8_t {
  UP = 1,     // as it is
  DOWN = 3,   // by 180 degrees
  RIGHT = 6,  // by 90 degrees clockwise
  LEFT = 8,   // by 90 degrees counterclockwise
};

/// Channel `c` of the result is (value * scale_factor - mean[c]) / std_dev[c], with `value` in
/// [0, 255] and the channels red, green, blue. The fourth entries are not used.
struct Normalization {
  float scale_factor;
  float mean[4];
  float std_dev[4];

  static constexpr Normalization zeroToOne() {
    return {1.0f / 255.0f, {0.0f, 0.0f, 0.0f, 0.0f}, {1.0f, 1.0f, 1.0f, 1.0f}};
  }

  /// The means and standard deviations with which torchvision's classification models are trained.
  static constexpr Normalization imagenet() {
    return {1.0f / 255.0f, {0.485f, 0.456f, 0.406f, 0.0f}, {0.229f, 0.224f, 0.225f, 1.0f}};
  }
};

struct ImageProcessorConfig {
  static constexpr int64_t kGpuAlways = 0;
  static constexpr int64_t kGpuNever = INT64_MAX;
  static constexpr int64_t kDefaultGpuMinInputPixels = 1920 * 1080 + 1;
  /// The result's channels: red, green, blue.
  static constexpr int32_t kOutputChannels = 3;

  int32_t target_width = 224;
  int32_t target_height = 224;
  ResizeMode resize_mode = ResizeMode::STRETCH;
  LetterboxAnchor letterbox_anchor = LetterboxAnchor::CENTER;
  /// The value of padding in the result; it is not normalized.
  float pad_value = 0.0f;
  Normalization normalization = Normalization::zeroToOne();
  /// Images of at least this many pixels may be processed by a GPU, where the platform has a GPU
  /// implementation. This library has none: every image is processed by the CPU.
  int64_t gpu_min_input_pixels = kDefaultGpuMinInputPixels;
};

inline bool should_use_gpu(const ImageProcessorConfig& config, int32_t width, int32_t height) {
  return static_cast<int64_t>(width) * height >= config.gpu_min_input_pixels;
}

inline bool is_cpu_only(const ImageProcessorConfig& config) {
  return config.gpu_min_input_pixels == ImageProcessorConfig::kGpuNever;
}

constexpr int32_t bytes_per_pixel(ColorFormat) { return 4; }

/// The channels that are read from a pixel; alpha is not.
constexpr int32_t num_channels(ColorFormat) { return 3; }

/// The size to which an image of input_w x input_h is resized (at least 1 x 1), and the size of the
/// result with its padding.
inline void compute_resize_dims(int32_t input_w, int32_t input_h,
                                const ImageProcessorConfig& config, int32_t& resize_w,
                                int32_t& resize_h, int32_t& final_w, int32_t& final_h) {
  final_w = resize_w = config.target_width;
  final_h = resize_h = config.target_height;
  if (config.resize_mode == ResizeMode::LETTERBOX) {
    const float scale = std::min(static_cast<float>(final_w) / static_cast<float>(input_w),
                                 static_cast<float>(final_h) / static_cast<float>(input_h));
    const auto scaled = [scale](int32_t size, int32_t limit) {
      const float rounded = std::round(static_cast<float>(size) * scale);
      return std::max(1, static_cast<int32_t>(std::min(rounded, static_cast<float>(limit))));
    };
    resize_w = scaled(input_w, final_w);
    resize_h = scaled(input_h, final_h);
  }
}

/// The columns left of and the rows above an image of width x height in the result.
inline std::pair<int32_t, int32_t> compute_letterbox_offset(int32_t width, int32_t height,
                                                            int32_t final_width,
                                                            int32_t final_height,
                                                            LetterboxAnchor anchor) {
  if (anchor == LetterboxAnchor::TOP_LEFT) {
    return {0, 0};
  }
  return {(final_width - width) / 2, (final_height - height) / 2};
}

}  // namespace executorch::extension::image
