// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// Images in memory: [batch, channels, spatial...] or [channels, spatial...], of any dim order.
#pragma once

#include <executorch/kernels/loops/memory/check.h>
#include <executorch/kernels/loops/memory/strided.h>
#include <executorch/kernels/portable/spatial/window.h>

namespace executorch::kernels {

/// Channels and spatial dimensions of one image, or of one group of its channels; strides in bytes.
struct Plane {
  char* data = nullptr;
  ScalarType dtype = ScalarType::Undefined;
  int64_t channel_stride = 0;
  int64_t strides[kSpatial] = {0, 0, 0};

  char* at(const int64_t* index) const {
    return data + index[0] * strides[0] + index[1] * strides[1] + index[2] * strides[2];
  }
};

/// A tensor of images. The tensor must outlive it and have `spatial` or one or two more dimensions.
struct Images {
  Plane first;
  int64_t batch = 1;
  int64_t channels = 1;
  int64_t batch_stride = 0;
  int64_t sizes[kSpatial] = {1, 1, 1};

  Images(const Tensor& tensor, int spatial);

  /// True if the image is two-dimensional and its channels are the innermost dimension.
  bool has_rows_of_channels() const;
  /// Makes height, width and channels the spatial dimensions of one channel.
  void take_channels_as_rows();
  /// The image from the given channel on.
  Plane plane(int64_t image, int64_t channel) const;
  /// No spatial dimension is empty.
  bool expect_pixels(KernelRuntimeContext& ctx, const char* name) const;
};

/// The tensor has `spatial` dimensions, a channel dimension and, maybe, a batch.
bool expect_images(KernelRuntimeContext& ctx, const char* name, const Tensor& tensor, int spatial);

/// The shape of `like` with other spatial sizes: the last `spatial` of the three in `sizes`.
Shape image_shape(const Tensor& like, int spatial, const int64_t* sizes);

/// A list argument of one value for all spatial dimensions or one for each, into the last of three;
/// the first ones become `missing`. Fails the context unless every value is in [min_value, 2^31).
bool expect_spatial_list(KernelRuntimeContext& ctx, const char* name, ArrayRef<int64_t> list,
                         int spatial, int64_t min_value, int64_t missing, int64_t* values);

}  // namespace executorch::kernels
