// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// Reads rows of an image as vectors of floats: an image of four bytes a pixel, or of YUV samples,
// upright or turned.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

#include <executorch/extension/image/image_processor_config.h>

namespace executorch::extension::image::internal {

/// A pixel's red, green and blue (or the input's order of them) in [0, 255]; the fourth value is
/// not used. One register on x86-64 and on Arm.
using Pixel = float __attribute__((vector_size(16)));

/// A place in the source image, before it is turned.
struct Place {
  int32_t x;
  int32_t y;
};

/// Maps places of the upright image to the source's.
struct Turn {
  Orientation orientation;
  int32_t width;   // the source's
  int32_t height;  // the source's

  bool swaps_sides() const {
    return orientation == Orientation::RIGHT || orientation == Orientation::LEFT;
  }
  int32_t upright_width() const { return swaps_sides() ? height : width; }
  int32_t upright_height() const { return swaps_sides() ? width : height; }

  Place source(int32_t x, int32_t y) const {
    switch (orientation) {
      case Orientation::DOWN:
        return {width - 1 - x, height - 1 - y};
      case Orientation::RIGHT:
        return {y, height - 1 - x};
      case Orientation::LEFT:
        return {width - 1 - y, x};
      case Orientation::UP:
        break;
    }
    return {x, y};
  }
};

/// An image of four bytes a pixel.
struct PackedImage {
  const uint8_t* data;
  int64_t stride_bytes;

  Pixel at(Place place) const {
    const uint8_t* bytes = data + place.y * stride_bytes + int64_t{place.x} * 4;
    using Bytes = uint8_t __attribute__((vector_size(4)));
    Bytes pixel;
    std::memcpy(&pixel, bytes, sizeof(pixel));
    return __builtin_convertvector(pixel, Pixel);
  }
};

/// A semi-planar 4:2:0 image, decoded by ITU-R BT.601 and clamped to [0, 255], not rounded.
class YuvImage {
 public:
  YuvImage(const uint8_t* y_plane, int32_t y_stride, const uint8_t* uv_plane, int32_t uv_stride,
           YUVFormat format, YUVRange range, Place last_sample, bool last_byte_is_missing)
      : y_plane_(y_plane),
        uv_plane_(uv_plane),
        y_stride_(y_stride),
        uv_stride_(uv_stride),
        cb_(format == YUVFormat::NV12 ? 0 : 1),
        luma_offset_(range == YUVRange::VIDEO ? 16.0f : 0.0f),
        luma_scale_(range == YUVRange::VIDEO ? 255.0f / 219.0f : 1.0f),
        chroma_scale_(range == YUVRange::VIDEO ? 255.0f / 224.0f : 1.0f),
        last_sample_(last_sample),
        last_byte_is_missing_(last_byte_is_missing) {}

  Pixel at(Place place) const {
    const Place sample = {place.x / 2, place.y / 2};
    const float luma =
        (static_cast<float>(y_plane_[place.y * y_stride_ + place.x]) - luma_offset_) * luma_scale_;
    const float cb = (chroma(sample, cb_) - 128.0f) * chroma_scale_;
    const float cr = (chroma(sample, 1 - cb_) - 128.0f) * chroma_scale_;
    return Pixel{clamped(luma + 1.402f * cr), clamped(luma - 0.344136f * cb - 0.714136f * cr),
                 clamped(luma + 1.772f * cb), 0.0f};
  }

 private:
  static float clamped(float value) {
    return value < 0.0f ? 0.0f : value > 255.0f ? 255.0f : value;
  }

  float chroma(Place sample, int32_t byte) const {
    if (last_byte_is_missing_ && byte == 1 && sample.x == last_sample_.x &&
        sample.y == last_sample_.y) {
      if (sample.x == 0 && sample.y == 0) {
        return 128.0f;  // the only sample of a 2 x 2 image has no neighbor
      }
      sample.x > 0 ? --sample.x : --sample.y;
    }
    return uv_plane_[sample.y * uv_stride_ + int64_t{sample.x} * 2 + byte];
  }

  const uint8_t* y_plane_;
  const uint8_t* uv_plane_;
  int64_t y_stride_;
  int64_t uv_stride_;
  int32_t cb_;
  float luma_offset_;
  float luma_scale_;
  float chroma_scale_;
  Place last_sample_;
  bool last_byte_is_missing_;
};

}  // namespace executorch::extension::image::internal
