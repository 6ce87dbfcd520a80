// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// Base class of the runners of text and of multimodal inputs.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>

#include <executorch/extension/llm/runner/io_manager/io_manager.h>
#include <executorch/extension/llm/runner/irunner.h>
#include <executorch/extension/llm/runner/text/text_state.h>
#include <executorch/extension/llm/runner/text_token_generator.h>
#include <executorch/extension/module/module.h>
#include <executorch/runtime/platform/log.h>
#include <pytorch/tokenizers/tokenizer.h>

namespace executorch::extension::llm {

/// The values of a program's constant methods by name; bools are 0 and 1.
using Metadata = std::unordered_map<std::string, int64_t>;

/// A runner of a decoder whose cache holds the text so far.
class CachedRunner : public IRunner {
 public:
  const Stats& stats() const { return *stats_; }
  /// Number of entries in the cache.
  int64_t position() const { return state_.position; }
  const Metadata& metadata() const { return metadata_; }
  tokenizers::Tokenizer& tokenizer() { return *tokenizer_; }
  Module& module() { return *module_; }
  TextTokenGenerator& text_token_generator() { return *text_token_generator_; }

 protected:
  CachedRunner(Metadata metadata, std::unique_ptr<tokenizers::Tokenizer> tokenizer,
               std::unique_ptr<Module> module, std::unique_ptr<IOManager> io_manager,
               std::unique_ptr<TextTokenGenerator> text_token_generator,
               std::unique_ptr<Stats> stats)
      : metadata_(std::move(metadata)),
        tokenizer_(std::move(tokenizer)),
        module_(std::move(module)),
        io_manager_(std::move(io_manager)),
        stats_(std::move(stats)),
        text_token_generator_(std::move(text_token_generator)) {}

  /// Empties text and statistics, and resets the inputs of the methods.
  void reset_text(const std::string& prefill_method, const std::string& decode_method) {
    state_ = {};
    next_logits_.reset();
    stats_->reset();
    const runtime::Error error = io_manager_->reset(prefill_method, decode_method);
    if (error != runtime::Error::Ok) ET_LOG(Error, "reset: %s", runtime::to_string(error));
  }

  Metadata metadata_;
  std::unique_ptr<tokenizers::Tokenizer> tokenizer_;
  std::unique_ptr<Module> module_;
  std::unique_ptr<IOManager> io_manager_;
  std::unique_ptr<Stats> stats_;
  std::unique_ptr<TextTokenGenerator> text_token_generator_;
  TextState state_;
  /// Logits of the last input, valid until the next execution.
  std::optional<aten::Tensor> next_logits_;
};

}  // namespace executorch::extension::llm
