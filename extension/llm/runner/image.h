// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>
#include <variant>
#include <vector>

#include <executorch/extension/llm/runner/multimodal/tensor_over.h>
#include <executorch/extension/tensor/tensor_ptr.h>
#include <executorch/runtime/core/result.h>
#include <executorch/runtime/platform/log.h>

namespace executorch::extension::llm {

/// Pixels in the order channels, rows, columns.
class Image final {
 public:
  Image() = default;
  Image(std::vector<uint8_t>&& data, int32_t width, int32_t height, int32_t channels)
      : data_(std::move(data)), width_(width), height_(height), channels_(channels) {}
  Image(std::vector<float>&& data, int32_t width, int32_t height, int32_t channels)
      : data_(std::move(data)), width_(width), height_(height), channels_(channels) {}

  /// from_tensor(); where that fails, the error is logged and the image stays empty: toTensor() and
  /// prefilling return InvalidArgument for it.
  /* implicit */ Image(const TensorPtr& tensor) {
    runtime::Result<Image> image = from_tensor(tensor);
    if (image.ok()) *this = std::move(*image);
  }

  /// A copy of a tensor [C, H, W] of uint8 or float32, in any dim order. InvalidArgument for null,
  /// another rank or dtype, no pixels, or a tensor without data.
  static runtime::Result<Image> from_tensor(const TensorPtr& tensor) {
    ET_CHECK_OR_RETURN_ERROR(tensor != nullptr, InvalidArgument, "image: the tensor is null");
    ET_CHECK_OR_RETURN_ERROR(tensor->dim() == 3 && tensor->numel() > 0, InvalidArgument,
                             "image: expected a tensor [C, H, W], found %d dimensions and %zu "
                             "elements",
                             int(tensor->dim()), size_t(tensor->numel()));
    ET_CHECK_OR_RETURN_ERROR(tensor->const_data_ptr() != nullptr, InvalidArgument,
                             "image: the tensor has no data");
    const bool is_float = tensor->scalar_type() == aten::ScalarType::Float;
    ET_CHECK_OR_RETURN_ERROR(is_float || tensor->scalar_type() == aten::ScalarType::Byte,
                             InvalidArgument, "image: expected uint8 or float32, found dtype %d",
                             int(tensor->scalar_type()));
    Image image;
    image.channels_ = int32_t(tensor->size(0));
    image.height_ = int32_t(tensor->size(1));
    image.width_ = int32_t(tensor->size(2));
    if (is_float) {
      image.data_ = copy_of<float>(*tensor);
    } else {
      image.data_ = copy_of<uint8_t>(*tensor);
    }
    return image;
  }

  int32_t width() const { return width_; }
  int32_t height() const { return height_; }
  int32_t channels() const { return channels_; }
  bool is_uint8() const { return std::holds_alternative<std::vector<uint8_t>>(data_); }
  bool is_float() const { return std::holds_alternative<std::vector<float>>(data_); }
  /// The pixels; only for an image of that type.
  const std::vector<uint8_t>& get_uint8_data() const {
    return std::get<std::vector<uint8_t>>(data_);
  }
  const std::vector<float>& get_float_data() const { return std::get<std::vector<float>>(data_); }

  std::vector<uint8_t> copy_uint8_data() const { return get_uint8_data(); }
  std::vector<float> copy_float_data() const { return get_float_data(); }

  /// toTensor(), which must succeed.
  TensorPtr tensor() const { return toTensor().get(); }
  /// A tensor [C, H, W], with `with_batch` [1, C, H, W], over the pixels, which must outlive it.
  /// InvalidArgument if their number does not match the sizes, or is more than a tensor has.
  runtime::Result<TensorPtr> toTensor(bool with_batch = false) const {
    return internal::tensor_over("image", data_, {channels_, height_, width_}, with_batch);
  }

 private:
  template <typename T>
  static std::vector<T> copy_of(const aten::Tensor& tensor) {
    const T* const data = tensor.const_data_ptr<T>();
    const auto strides = tensor.strides();
    std::vector<T> pixels;
    pixels.reserve(size_t(tensor.numel()));
    for (ptrdiff_t c = 0; c < tensor.size(0); ++c) {
      for (ptrdiff_t y = 0; y < tensor.size(1); ++y) {
        const T* const row = data + c * ptrdiff_t(strides[0]) + y * ptrdiff_t(strides[1]);
        for (ptrdiff_t x = 0; x < tensor.size(2); ++x) {
          pixels.push_back(row[x * ptrdiff_t(strides[2])]);
        }
      }
    }
    return pixels;
  }

  std::variant<std::vector<uint8_t>, std::vector<float>> data_;
  int32_t width_ = 0, height_ = 0, channels_ = 0;
};

}  // namespace executorch::extension::llm

// Documented names of the same things.
namespace torch::executor {
using ::executorch::extension::llm::Image;
}  // namespace torch::executor
