// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// Turns camera frames and decoded images into the normalized float tensors that vision models read.
#pragma once

#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include <executorch/extension/image/image_processor_config.h>
#include <executorch/extension/tensor/tensor_ptr.h>
#include <executorch/runtime/core/error.h>
#include <executorch/runtime/core/result.h>

namespace executorch::extension::image {

/// Turns an image upright, crops it to a region, resizes it with an antialiased bilinear filter
/// (torchvision's `resize(..., antialias=True)`), pads it, and normalizes its channels.
///
/// An instance keeps scratch memory between calls, so one instance must not be used by two threads
/// at once. Every method reports wrong arguments as Error::InvalidArgument with a log message that
/// names the argument, an exhausted heap as Error::MemoryAllocationFailed, and an instance that was
/// moved from, whose targets have the size 0 x 0, as Error::InvalidState.
class ImageProcessor {
 public:
  ImageProcessor();
  explicit ImageProcessor(ImageProcessorConfig config);
  ~ImageProcessor();

  ImageProcessor(ImageProcessor&&) noexcept;
  ImageProcessor& operator=(ImageProcessor&&) noexcept;
  ImageProcessor(const ImageProcessor&) = delete;
  ImageProcessor& operator=(const ImageProcessor&) = delete;

  /// The result's sizes: [1, 3, target_height, target_width], whatever the input.
  std::vector<int32_t> compute_output_shape(int32_t input_width, int32_t input_height,
                                            Orientation orientation = Orientation::UP,
                                            NormalizedRect roi = kFullImage) const;

  /// The pixels of padding left of and above the resized image: {0, 0} for STRETCH, for TOP_LEFT,
  /// and for arguments that process() rejects.
  std::pair<int32_t, int32_t> compute_letterbox_padding(int32_t input_width, int32_t input_height,
                                                        Orientation orientation = Orientation::UP,
                                                        NormalizedRect roi = kFullImage) const;

  /// Processes an image of four bytes a pixel, whose rows begin `stride_bytes` apart. Returns a
  /// float tensor of sizes [1, 3, target_height, target_width].
  runtime::Result<TensorPtr> process(const uint8_t* data, int32_t width, int32_t height,
                                     int32_t stride_bytes, ColorFormat input_format,
                                     Orientation orientation = Orientation::UP,
                                     NormalizedRect roi = kFullImage) const;

  /// Processes a semi-planar 4:2:0 image by the BT.601 formulas. Width and height are even; a row
  /// of the chroma plane has width / 2 samples of two bytes. `uv_plane_size` is the number of bytes
  /// that may be read at `uv_plane`; a negative one means that the plane is complete. A plane that
  /// ends one byte before its last sample, as Android's camera gives it, is accepted: the missing
  /// byte is taken from the sample before.
  runtime::Result<TensorPtr> process_yuv(const uint8_t* y_plane, int32_t y_stride,
                                         const uint8_t* uv_plane, int32_t uv_stride, int32_t width,
                                         int32_t height, YUVFormat format,
                                         Orientation orientation = Orientation::UP,
                                         NormalizedRect roi = kFullImage,
                                         YUVRange range = YUVRange::VIDEO,
                                         int64_t uv_plane_size = -1) const;

  /// process() into `out`: a contiguous float tensor of the sizes above, all of which is written.
  runtime::Error process_into(const uint8_t* data, int32_t width, int32_t height,
                              int32_t stride_bytes, ColorFormat input_format,
                              ::executorch::aten::Tensor& out,
                              Orientation orientation = Orientation::UP,
                              NormalizedRect roi = kFullImage) const;

  /// process_yuv() into `out`.
  runtime::Error process_yuv_into(const uint8_t* y_plane, int32_t y_stride, const uint8_t* uv_plane,
                                  int32_t uv_stride, int32_t width, int32_t height,
                                  YUVFormat format, ::executorch::aten::Tensor& out,
                                  Orientation orientation = Orientation::UP,
                                  NormalizedRect roi = kFullImage, YUVRange range = YUVRange::VIDEO,
                                  int64_t uv_plane_size = -1) const;

  const ImageProcessorConfig& config() const;

  /// The settings and the scratch memory; its definition is private to the library. An instance
  /// that was moved from has none.
  class Impl;
  Impl& impl() const noexcept;

 private:
  std::unique_ptr<Impl> impl_;
};

}  // namespace executorch::extension::image
