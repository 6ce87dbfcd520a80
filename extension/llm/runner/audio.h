// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
#pragma once

#include <cstdint>
#include <utility>
#include <variant>
#include <vector>

#include <executorch/extension/llm/runner/multimodal/tensor_over.h>
#include <executorch/extension/tensor/tensor_ptr.h>
#include <executorch/runtime/core/result.h>

namespace executorch::extension::llm {

/// Samples as an encoder with its own preprocessing takes them.
struct RawAudio {
  std::vector<uint8_t> data;
  int32_t batch_size = 0;
  int32_t n_channels = 0;
  int32_t n_samples = 0;

  /// A tensor [batch_size, n_channels, n_samples] over the data, which must outlive it.
  runtime::Result<TensorPtr> toTensor() const {
    return internal::tensor_over("audio", data, {batch_size, n_channels, n_samples}, false);
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
    return internal::tensor_over("audio", data_, {batch_size_, n_bins_, n_frames_}, with_batch);
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
