// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// Speech to text with encoder-decoder models such as Whisper.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <type_traits>
#include <unordered_set>
#include <utility>
#include <vector>

#include <executorch/extension/asr/runner/token_choice.h>
#include <executorch/extension/module/module.h>
#include <executorch/extension/tensor/tensor_ptr.h>
#include <executorch/runtime/core/error.h>
#include <executorch/runtime/core/result.h>

namespace executorch::extension::asr {

/// Receives a piece of text as soon as its token is generated.
using TokenCallback = std::function<void(const std::string&)>;

/// Returns the text that `token` adds after `previous`.
using TokenDecoder = std::function<runtime::Result<std::string>(uint64_t previous, uint64_t token)>;

/// A TokenDecoder of a tokenizer with `decode(previous, token)`, whose result has ok() and get(),
/// as tokenizers::Tokenizer. The decoder keeps the tokenizer, which must not be null.
template <typename Tokenizer>
TokenDecoder decode_with(std::shared_ptr<Tokenizer> tokenizer) {
  return [tokenizer](uint64_t previous, uint64_t token) -> runtime::Result<std::string> {
    auto piece = tokenizer->decode(previous, token);
    if (!piece.ok()) {
      return runtime::Error::InvalidArgument;
    }
    return std::string(piece.get());
  };
}

struct AsrTranscribeConfig {
  /// The number of tokens generated after the first one; must be positive.
  int64_t max_new_tokens = 128;
  /// Tokens that end the text; if empty, those of the program's constant method `get_eos_ids`.
  std::unordered_set<int64_t> eos_token_ids = {};
  /// 0 takes the token with the highest logit; above, tokens are drawn by softmax(logits /
  /// temperature).
  float temperature = 0.0f;
  /// The token that generation begins with.
  int64_t decoder_start_token_id = 0;
  /// Seed of the token sampler at a temperature above 0; equal seeds give equal tokens.
  uint64_t seed = 0;
};

/// Runs a program with two methods:
///  - `encoder(features)` returns one tensor, the encoder's states;
///  - `text_decoder(token, states, position)` returns one tensor of logits, whose last row is for
///    the token after `token`. `token` is int64 [1, 1], `position` int64 [1]; the method keeps
///    its own cache.
/// One object is used by one thread at a time.
class AsrRunner final {
 public:
  /// `decode` may be empty if transcribe() is called without a callback.
  explicit AsrRunner(std::unique_ptr<Module> module, TokenDecoder decode = {});
  /// The same from files; `data_path` names the weights beside the program.
  AsrRunner(const std::string& module_path, const std::optional<std::string>& data_path);
  /// The same with a TokenDecoder. A template, so that `{}` as the third argument is a tokenizer's
  /// path, as in ExecuTorch 1.4.
  template <typename Decode,
            std::enable_if_t<std::is_constructible_v<TokenDecoder, Decode&&>, int> = 0>
  AsrRunner(const std::string& module_path, const std::optional<std::string>& data_path,
            Decode&& decode)
      : AsrRunner(module_path, data_path) {
    decode_ = std::forward<Decode>(decode);
  }
  /// The same with the tokenizer in a file or folder, which load() reads. Its end token ends the
  /// text where neither the configuration nor the program names one.
  AsrRunner(const std::string& module_path, const std::optional<std::string>& data_path,
            const std::string& tokenizer_path);

  bool is_loaded() const { return is_loaded_; }

  /// Loads program, methods and tokenizer unless loaded. Errors as Module::load_method();
  /// InvalidArgument for a null module, a program without the methods, or a tokenizer that cannot
  /// be read.
  [[nodiscard]] runtime::Error load();

  /// The tokens from decoder_start_token_id to the one that ended the text, or max_new_tokens.
  /// Loads the methods if need be. `features` is converted to the encoder's dtype. `callback` is
  /// called with the text of each new token.
  ///
  /// InvalidArgument for null features or ones that do not fit the encoder, a configuration
  /// without tokens that end the text, a negative or infinite temperature, or a callback without
  /// a TokenDecoder; InvalidProgram if a method returns anything but a tensor of its kind; errors
  /// of the TokenDecoder and of executions.
  [[nodiscard]] runtime::Result<std::vector<int64_t>> transcribe(
      TensorPtr features, const AsrTranscribeConfig& config = {},
      const TokenCallback& callback = {});

  /// For calls of other methods of the model.
  Module& module() { return *module_; }

 private:
  runtime::Error load_methods();
  runtime::Result<TensorPtr> to_encoder_dtype(TensorPtr features);
  runtime::Result<std::unordered_set<int64_t>> end_tokens(const AsrTranscribeConfig& config);
  runtime::Result<std::vector<int64_t>> generate(const TensorPtr& features,
                                                 const AsrTranscribeConfig& config,
                                                 const TokenCallback& callback);

  std::unique_ptr<Module> module_;
  TokenDecoder decode_;
  /// Sets decode_ and tokenizer_end_ of a runner; empty without a tokenizer's path. A function, so
  /// that programs without a path link no tokenizers.
  std::function<runtime::Error(AsrRunner&)> load_tokenizer_;
  std::optional<int64_t> tokenizer_end_;
  bool is_loaded_ = false;
};

}  // namespace executorch::extension::asr
