// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include <executorch/extension/llm/runner/audio.h>
#include <executorch/extension/llm/runner/image.h>

namespace executorch::extension::llm {

/// One part of a prompt: text, tokens, an image or audio.
class MultimodalInput final {
 public:
  enum class Type { TEXT, TOKENS, IMAGE, AUDIO, RAW_AUDIO, UNSUPPORTED };

  explicit MultimodalInput(std::string text) : data_(std::move(text)) {}
  explicit MultimodalInput(std::vector<uint64_t> tokens) : data_(std::move(tokens)) {}
  explicit MultimodalInput(Image image) : data_(std::move(image)) {}
  explicit MultimodalInput(Audio audio) : data_(std::move(audio)) {}
  explicit MultimodalInput(RawAudio audio) : data_(std::move(audio)) {}

  bool is_text() const { return try_get_text() != nullptr; }
  bool is_tokens() const { return try_get_tokens() != nullptr; }
  bool is_image() const { return try_get_image() != nullptr; }
  bool is_audio() const { return try_get_audio() != nullptr; }
  bool is_raw_audio() const { return try_get_raw_audio() != nullptr; }
  Type get_type() const { return static_cast<Type>(data_.index()); }
  const char* type_name() const {
    static constexpr const char* kNames[] = {"text", "tokens", "image", "audio", "raw_audio"};
    return kNames[data_.index()];
  }

  /// The content; null for another type.
  const std::string* try_get_text() const { return std::get_if<std::string>(&data_); }
  std::string* try_get_text() { return std::get_if<std::string>(&data_); }
  const std::vector<uint64_t>* try_get_tokens() const {
    return std::get_if<std::vector<uint64_t>>(&data_);
  }
  std::vector<uint64_t>* try_get_tokens() { return std::get_if<std::vector<uint64_t>>(&data_); }
  const Image* try_get_image() const { return std::get_if<Image>(&data_); }
  Image* try_get_image() { return std::get_if<Image>(&data_); }
  const Audio* try_get_audio() const { return std::get_if<Audio>(&data_); }
  Audio* try_get_audio() { return std::get_if<Audio>(&data_); }
  const RawAudio* try_get_raw_audio() const { return std::get_if<RawAudio>(&data_); }
  RawAudio* try_get_raw_audio() { return std::get_if<RawAudio>(&data_); }

  /// The content; std::bad_variant_access for another type.
  const std::string& get_text() const& { return std::get<std::string>(data_); }
  std::string& get_text() & { return std::get<std::string>(data_); }
  std::string&& get_text() && { return std::get<std::string>(std::move(data_)); }
  const std::vector<uint64_t>& get_tokens() const& {
    return std::get<std::vector<uint64_t>>(data_);
  }
  std::vector<uint64_t>& get_tokens() & { return std::get<std::vector<uint64_t>>(data_); }
  std::vector<uint64_t>&& get_tokens() && {
    return std::get<std::vector<uint64_t>>(std::move(data_));
  }
  const Image& get_image() const& { return std::get<Image>(data_); }
  Image& get_image() & { return std::get<Image>(data_); }
  Image&& get_image() && { return std::get<Image>(std::move(data_)); }
  const Audio& get_audio() const& { return std::get<Audio>(data_); }
  Audio& get_audio() & { return std::get<Audio>(data_); }
  Audio&& get_audio() && { return std::get<Audio>(std::move(data_)); }
  const RawAudio& get_raw_audio() const& { return std::get<RawAudio>(data_); }
  RawAudio& get_raw_audio() & { return std::get<RawAudio>(data_); }
  RawAudio&& get_raw_audio() && { return std::get<RawAudio>(std::move(data_)); }

 private:
  std::variant<std::string, std::vector<uint64_t>, Image, Audio, RawAudio> data_;
};

inline MultimodalInput make_text_input(std::string text) {
  return MultimodalInput(std::move(text));
}
inline MultimodalInput make_token_input(std::vector<uint64_t> tokens) {
  return MultimodalInput(std::move(tokens));
}
inline MultimodalInput make_image_input(Image image) { return MultimodalInput(std::move(image)); }
inline MultimodalInput make_audio_input(Audio audio) { return MultimodalInput(std::move(audio)); }
inline MultimodalInput make_raw_audio_input(RawAudio audio) {
  return MultimodalInput(std::move(audio));
}

}  // namespace executorch::extension::llm
