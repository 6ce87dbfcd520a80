// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
#pragma once

#include <cstdint>
#include <utility>
#include <variant>
#include <vector>

#include <executorch/extension/tensor/tensor_ptr_maker.h>
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

  /// A copy of a tensor [C, H, W] of uint8 or float32; ends the program for another one.
  explicit Image(const TensorPtr& tensor) {
    ET_CHECK_MSG(tensor != nullptr && tensor->dim() == 3, "an image is a tensor of rank 3");
    channels_ = int32_t(tensor->size(0));
    height_ = int32_t(tensor->size(1));
    width_ = int32_t(tensor->size(2));
    if (tensor->scalar_type() == aten::ScalarType::Float) {
      data_ = copy_of<float>(*tensor);
    } else {
      ET_CHECK_MSG(tensor->scalar_type() == aten::ScalarType::Byte,
                   "an image is a tensor of uint8 or float32");
      data_ = copy_of<uint8_t>(*tensor);
    }
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
  /// InvalidArgument if their number does not match the sizes.
  runtime::Result<TensorPtr> toTensor(bool with_batch = false) const {
    const size_t count = is_float() ? get_float_data().size() : get_uint8_data().size();
    ET_CHECK_OR_RETURN_ERROR(
        width_ > 0 && height_ > 0 && channels_ > 0 &&
            uint64_t(width_) * uint64_t(height_) <= count / uint64_t(channels_) &&
            uint64_t(width_) * uint64_t(height_) * uint64_t(channels_) == count,
        InvalidArgument, "image: expected %d x %d pixels of %d channels, found %zu numbers",
        int(width_), int(height_), int(channels_), count);
    std::vector<aten::SizesType> sizes = {channels_, height_, width_};
    if (with_batch) sizes.insert(sizes.begin(), 1);
    const void* const data =
        is_float() ? static_cast<const void*>(get_float_data().data()) : get_uint8_data().data();
    return from_blob(const_cast<void*>(data), std::move(sizes),
                     is_float() ? aten::ScalarType::Float : aten::ScalarType::Byte);
  }

 private:
  template <typename T>
  static std::vector<T> copy_of(const aten::Tensor& tensor) {
    const T* const data = tensor.const_data_ptr<T>();
    return std::vector<T>(data, data + tensor.numel());
  }

  std::variant<std::vector<uint8_t>, std::vector<float>> data_;
  int32_t width_ = 0, height_ = 0, channels_ = 0;
};

}  // namespace executorch::extension::llm

// Documented names of the same things.
namespace torch::executor {
using ::executorch::extension::llm::Image;
}  // namespace torch::executor
