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

namespace internal {
/// A tensor of three dimensions over `count` elements, which must outlive it; `with_batch`: of
/// four, the first of size 1.
inline runtime::Result<TensorPtr> audio_tensor(const void* data, size_t count,
                                               aten::ScalarType type, int32_t batch_size,
                                               int32_t rows, int32_t columns,
                                               bool with_batch = false) {
  ET_CHECK_OR_RETURN_ERROR(batch_size > 0 && rows > 0 && columns > 0 &&
                               uint64_t(batch_size) * uint64_t(rows) <= count / uint64_t(columns) &&
                               uint64_t(batch_size) * uint64_t(rows) * uint64_t(columns) == count,
                           InvalidArgument, "audio: expected %d x %d x %d numbers, found %zu",
                           int(batch_size), int(rows), int(columns), count);
  std::vector<aten::SizesType> sizes = {batch_size, rows, columns};
  if (with_batch) sizes.insert(sizes.begin(), 1);
  ET_CHECK_OR_RETURN_ERROR(can_make_tensor(sizes, type), InvalidArgument,
                           "audio: %zu numbers are more than a tensor has", count);
  return from_blob(const_cast<void*>(data), std::move(sizes), type);
}
}  // namespace internal

/// Samples as an encoder with its own preprocessing takes them.
struct RawAudio {
  std::vector<uint8_t> data;
  int32_t batch_size = 0;
  int32_t n_channels = 0;
  int32_t n_samples = 0;

  /// A tensor [batch_size, n_channels, n_samples] over the data, which must outlive it.
  runtime::Result<TensorPtr> toTensor() const {
    return internal::audio_tensor(data.data(), data.size(), aten::ScalarType::Byte, batch_size,
                                  n_channels, n_samples);
  }
};

/// Preprocessed audio, such as a mel spectrogram.
class Audio final {
 public:
  Audio() = default;
  Audio(std::vector<uint8_t>&& data, int32_t batch_size, int32_t n_bins, int32_t n_frames)
      : data_(std::move(data)), batch_size_(batch_size), n_bins_(n_bins), n_frames_(n_frames) {}
  Audio(std::vector<float>&& data, int32_t batch_size, int32_t n_bins, int32_t n_frames)
      : data_(std::move(data)), batch_size_(batch_size), n_bins_(n_bins), n_frames_(n_frames) {}

  int32_t get_batch_size() const { return batch_size_; }
  int32_t get_n_bins() const { return n_bins_; }
  int32_t get_n_frames() const { return n_frames_; }
  bool is_uint8() const { return std::holds_alternative<std::vector<uint8_t>>(data_); }
  bool is_float() const { return std::holds_alternative<std::vector<float>>(data_); }
  /// The numbers; only for audio of that type.
  const std::vector<uint8_t>& get_uint8_data() const {
    return std::get<std::vector<uint8_t>>(data_);
  }
  const std::vector<float>& get_float_data() const { return std::get<std::vector<float>>(data_); }

  std::vector<uint8_t>& get_uint8_data() { return std::get<std::vector<uint8_t>>(data_); }
  std::vector<float>& get_float_data() { return std::get<std::vector<float>>(data_); }

  /// A tensor [batch_size, n_bins, n_frames] over the numbers, which must outlive it;
  /// `with_batch`: [1, batch_size, n_bins, n_frames].
  runtime::Result<TensorPtr> toTensor(bool with_batch = false) const {
    if (is_float()) {
      return internal::audio_tensor(get_float_data().data(), get_float_data().size(),
                                    aten::ScalarType::Float, batch_size_, n_bins_, n_frames_,
                                    with_batch);
    }
    return internal::audio_tensor(get_uint8_data().data(), get_uint8_data().size(),
                                  aten::ScalarType::Byte, batch_size_, n_bins_, n_frames_,
                                  with_batch);
  }

 private:
  std::variant<std::vector<uint8_t>, std::vector<float>> data_;
  int32_t batch_size_ = 0, n_bins_ = 0, n_frames_ = 0;
};

}  // namespace executorch::extension::llm

// Documented name of the same thing.
namespace torch::executor {
using ::executorch::extension::llm::Audio;
}  // namespace torch::executor
