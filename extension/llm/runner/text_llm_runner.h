// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// Generates text with a program that predicts tokens.
#pragma once

#include <atomic>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include <executorch/extension/llm/runner/irunner.h>
#include <executorch/extension/llm/runner/sampler.h>
#include <executorch/extension/module/module.h>
#include <executorch/runtime/core/result.h>
#include <pytorch/tokenizers/tokenizer.h>

namespace executorch::extension::llm {

/// The values of a program's constant methods by name; truth values are 0 and 1.
using Metadata = std::unordered_map<std::string, int64_t>;

/// The constant methods of a program; those that are missing have their documented defaults, and
/// get_bos_id and get_vocab_size are the tokenizer's. InvalidArgument for a program without
/// `get_max_seq_len`.
runtime::Result<Metadata> get_llm_metadata(tokenizers::Tokenizer* tokenizer, Module* module);

/// The tokens that end a text: those of `get_eos_ids`, else the tokenizer's.
runtime::Result<std::unordered_set<uint64_t>> get_eos_ids(tokenizers::Tokenizer* tokenizer,
                                                          Module* module);

/// Used by one thread at a time, but for stop(). After an error of generate() or prefill() the
/// position is the one before the call, so that the call can be made again.
class TextLLMRunner final : public IRunner {
 public:
  TextLLMRunner(std::unique_ptr<Module> module, std::unique_ptr<tokenizers::Tokenizer> tokenizer,
                Metadata metadata, std::unordered_set<uint64_t> eos_ids, float temperature = -1,
                std::string method_name = "forward");

  bool is_loaded() const override;
  [[nodiscard]] runtime::Error load() override;

  /// Errors as Module::execute(); InvalidArgument for options out of their range, a prompt without
  /// tokens or with more than fit, text that the tokenizer refuses, or a tokenizer with tokens
  /// beyond the model's vocabulary. Exceptions of callbacks pass through.
  [[nodiscard]] runtime::Error generate(const std::string& prompt, const GenerationConfig& config,
                                        TextCallback token_callback = {},
                                        StatsCallback stats_callback = {}) override;
  /// Appends text to the cache; returns the most likely next token.
  runtime::Result<uint64_t> prefill(const std::string& prompt, int8_t num_bos = 0,
                                    int8_t num_eos = 0);
  /// Runs a prompt without callbacks, and begins again.
  [[nodiscard]] runtime::Error warmup(const std::string& prompt, int32_t max_new_tokens);

  void stop() override { should_stop_ = true; }
  void reset() override;

  const Stats& stats() const { return stats_; }
  /// Tokens in the cache.
  int64_t position() const { return position_; }
  const Metadata& metadata() const { return metadata_; }
  tokenizers::Tokenizer& tokenizer() { return *tokenizer_; }
  Module& module() { return *module_; }
  void set_model_load_times(long start, long end);

 private:
  /// The state that an execution changes.
  struct Saved {
    int64_t position;
    std::optional<uint64_t> pending;
    size_t history;
    std::unordered_set<uint64_t> seen;
  };
  /// Restores the state at the end of its scope, after exceptions too, unless keep() was called.
  class Rollback final {
   public:
    explicit Rollback(TextLLMRunner& runner) : runner_(runner), saved_(runner.save()) {}
    Rollback(const Rollback&) = delete;
    Rollback& operator=(const Rollback&) = delete;
    ~Rollback() {
      if (!keeps_) runner_.restore(std::move(saved_));
    }
    void keep() { keeps_ = true; }

   private:
    TextLLMRunner& runner_;
    Saved saved_;
    bool keeps_ = false;
  };

  Saved save() const;
  void restore(Saved saved);
  int64_t context() const { return metadata_.at("get_max_context_len"); }
  runtime::Error read_inputs();
  runtime::Error check_config(const GenerationConfig& config) const;
  SamplingOptions options_of(const GenerationConfig& config) const;
  /// The tokens of a prompt that fits, behind the pending one.
  runtime::Result<std::vector<uint64_t>> encode(const std::string& prompt, int8_t bos, int8_t eos);
  /// The logits of tokens at position_.
  runtime::Result<aten::Tensor> step(const uint64_t* tokens, size_t count);
  /// The same in chunks that the method takes; advances position_.
  runtime::Result<aten::Tensor> run(const std::vector<uint64_t>& tokens);
  runtime::Error generate_tokens(const std::string& prompt, const GenerationConfig& config,
                                 const TextCallback& callback);
  runtime::Error decode_loop(uint64_t previous, uint64_t token, int32_t max_new_tokens,
                             Sampler& sampler, const GenerationConfig& config,
                             const TextCallback& callback);

  std::unique_ptr<Module> module_;
  std::unique_ptr<tokenizers::Tokenizer> tokenizer_;
  Metadata metadata_;
  std::unordered_set<uint64_t> eos_ids_;
  float temperature_;
  std::string method_name_;
  std::atomic<bool> should_stop_{false};
  Stats stats_;
  int64_t position_ = 0;
  /// The last token generated, which the cache does not hold yet.
  std::optional<uint64_t> pending_;
  std::unordered_set<uint64_t> seen_;
  /// Without a cache, the whole text is run for each token.
  std::vector<uint64_t> history_;
  /// The method takes one position for each token, rather than the first one.
  bool takes_all_positions_ = false;
  /// 0 before load().
  size_t num_inputs_ = 0;
};

}  // namespace executorch::extension::llm
