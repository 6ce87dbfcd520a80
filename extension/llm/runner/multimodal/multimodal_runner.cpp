// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
#include <executorch/extension/llm/runner/multimodal_runner.h>

#include <optional>
#include <utility>

#include <executorch/extension/llm/runner/constants.h>
#include <executorch/extension/llm/runner/text/generation.h>
#include <executorch/extension/memory_allocator/no_memory.h>
#include <executorch/runtime/platform/log.h>

namespace executorch::extension::llm {

using runtime::Error;
using runtime::Result;

namespace {

/// Restores a text; a text whose cache is lost becomes an empty one, because images and audio
/// cannot be computed again.
class MultimodalRollback final {
 public:
  MultimodalRollback(TextState& state, int64_t window)
      : state_(state), before_(state.position), rollback_(std::in_place, state, window) {}
  MultimodalRollback(const MultimodalRollback&) = delete;
  MultimodalRollback& operator=(const MultimodalRollback&) = delete;
  ~MultimodalRollback() {
    rollback_.reset();
    if (keeps_ || state_.position == before_) return;
    ET_LOG(Error, "the cache lost the text before the failed call; it is empty now");
    state_ = {};
  }
  void keep() {
    keeps_ = true;
    rollback_->keep();
  }

 private:
  TextState& state_;
  const int64_t before_;
  std::optional<Rollback> rollback_;
  bool keeps_ = false;
};

}  // namespace

MultimodalRunner::MultimodalRunner(
    Metadata metadata, std::unique_ptr<tokenizers::Tokenizer> tokenizer,
    std::unique_ptr<Module> module, std::unique_ptr<MultimodalDecoderRunner> decoder_runner,
    std::unique_ptr<MultimodalPrefiller> prefiller, std::unique_ptr<IOManager> io_manager,
    std::unique_ptr<TextTokenGenerator> text_token_generator, std::unique_ptr<Stats> stats)
    : CachedRunner(std::move(metadata), std::move(tokenizer), std::move(module),
                   std::move(io_manager), std::move(text_token_generator), std::move(stats)),
      decoder_runner_(std::move(decoder_runner)),
      prefiller_(std::move(prefiller)) {}

bool MultimodalRunner::is_loaded() const {
  return prefiller_->is_method_loaded() && text_token_generator_->is_loaded();
}

Error MultimodalRunner::load() {
  if (is_loaded()) return Error::Ok;
  return or_no_memory("loading a multimodal model", [&] {
    stats_->model_load_start_ms = time_in_ms();
    ET_CHECK_OK_OR_RETURN_ERROR(prefiller_->load());
    ET_CHECK_OK_OR_RETURN_ERROR(text_token_generator_->load());
    stats_->model_load_end_ms = time_in_ms();
    return Error::Ok;
  });
}

void MultimodalRunner::reset() { reset_text(kTextModelMethod, kTextModelMethod); }

Error MultimodalRunner::run_tokens(const std::vector<uint64_t>& tokens) {
  const auto logits = prefiller_->run_tokens(tokens, metadata_.at(kMaxContextLen), state_.position);
  ET_CHECK_OK_OR_RETURN_ERROR(logits.error());
  next_logits_ = *logits;
  return Error::Ok;
}

Error MultimodalRunner::append(const std::vector<MultimodalInput>& inputs, int32_t num_bos,
                               int32_t num_eos) {
  ET_CHECK_OR_RETURN_ERROR(
      num_bos >= 0 && num_eos >= 0 && num_bos <= INT8_MAX && num_eos <= INT8_MAX, InvalidArgument,
      "num_bos and num_eos: expected 0 to 127, found %d and %d", int(num_bos), int(num_eos));
  const auto add = [&](std::vector<uint64_t> tokens) {
    if (tokens.empty()) return Error::Ok;
    ET_CHECK_OK_OR_RETURN_ERROR(run_tokens(tokens));
    state_.tokens.insert(state_.tokens.end(), tokens.begin(), tokens.end());
    return Error::Ok;
  };
  if (state_.pending > 0 || !inputs.empty()) next_logits_.reset();
  if (state_.pending > 0) {
    ET_CHECK_OK_OR_RETURN_ERROR(run_tokens({state_.tokens.back()}));
    state_.pending = 0;
  }
  ET_CHECK_OK_OR_RETURN_ERROR(
      add(std::vector<uint64_t>(inputs.empty() ? 0 : size_t(num_bos), tokenizer_->bos_tok())));
  for (const MultimodalInput& input : inputs) {
    if (decoder_runner_->should_stop()) {
      ET_LOG(Error, "stopped at position %d", int(state_.position));
      return Error::InvalidState;
    }
    const auto logits =
        prefiller_->run(input, metadata_.at(kMaxContextLen), state_.position, state_.tokens);
    ET_CHECK_OK_OR_RETURN_ERROR(logits.error());
    next_logits_ = *logits;
  }
  ET_CHECK_OK_OR_RETURN_ERROR(
      add(std::vector<uint64_t>(inputs.empty() ? 0 : size_t(num_eos), tokenizer_->eos_tok())));
  ET_CHECK_OR_RETURN_ERROR(next_logits_.has_value(), InvalidArgument,
                           "prompt: expected inputs, found none");
  return Error::Ok;
}

Error MultimodalRunner::append_all(const std::vector<MultimodalInput>& inputs, int32_t num_bos,
                                   int32_t num_eos) {
  const Error error = append(inputs, num_bos, num_eos);
  if (error != Error::Ok) next_logits_.reset();
  return error;
}

Result<uint64_t> MultimodalRunner::prefill(const std::vector<MultimodalInput>& inputs,
                                           int32_t num_bos, int32_t num_eos) {
  ET_CHECK_OK_OR_RETURN_ERROR(load());
  return or_no_memory("a prompt", [&]() -> Result<uint64_t> {
    decoder_runner_->clear_stop();
    MultimodalRollback rollback(state_, metadata_.at(kSlidingWindow));
    ET_CHECK_OK_OR_RETURN_ERROR(append_all(inputs, num_bos, num_eos));
    const auto token = most_likely(*next_logits_);
    ET_CHECK_OK_OR_RETURN_ERROR(token.error());
    rollback.keep();
    return *token;
  });
}

Error MultimodalRunner::generate(const std::string& prompt, const GenerationConfig& config,
                                 TextCallback token_callback, StatsCallback stats_callback) {
  std::vector<MultimodalInput> inputs;
  if (!prompt.empty()) inputs.push_back(make_text_input(prompt));
  return generate(inputs, config, std::move(token_callback), std::move(stats_callback));
}

Error MultimodalRunner::generate(const std::vector<MultimodalInput>& inputs,
                                 const GenerationConfig& config, TextCallback token_callback,
                                 StatsCallback stats_callback) {
  ET_CHECK_OK_OR_RETURN_ERROR(load());
  ET_CHECK_OR_RETURN_ERROR(!config.reuse_prefix, NotSupported,
                           "reuse_prefix: MultimodalRunner cannot compare images and audio");
  const auto options = sampling_options(config, -1);
  ET_CHECK_OK_OR_RETURN_ERROR(options.error());
  return or_no_memory("a generation", [&] {
    decoder_runner_->clear_stop();
    stats_->reset();
    stats_->inference_start_ms = time_in_ms();
    MultimodalRollback rollback(state_, metadata_.at(kSlidingWindow));
    const TextCallback none;
    ET_CHECK_OK_OR_RETURN_ERROR(
        generate_tokens(inputs, config, *options, config.warming ? none : token_callback));
    rollback.keep();
    stats_->inference_end_ms = time_in_ms();
    if (stats_callback && !config.warming) stats_callback(*stats_);
    return Error::Ok;
  });
}

Error MultimodalRunner::generate_tokens(const std::vector<MultimodalInput>& inputs,
                                        const GenerationConfig& config,
                                        const SamplingOptions& options,
                                        const TextCallback& callback) {
  if (config.echo && callback) {
    for (const MultimodalInput& input : inputs) {
      if (input.is_text()) callback(input.get_text());
    }
  }
  const int64_t before = state_.position;
  stats_->token_encode_end_ms = stats_->model_execution_start_ms = time_in_ms();
  ET_CHECK_OK_OR_RETURN_ERROR(append_all(inputs, config.num_bos, config.num_eos));
  const aten::Tensor logits = *std::exchange(next_logits_, std::nullopt);
  const auto max_new_tokens =
      count_new_tokens(config, metadata_.at(kMaxContextLen), state_.position);
  ET_CHECK_OK_OR_RETURN_ERROR(max_new_tokens.error());
  stats_->num_prompt_tokens = state_.position - before;
  stats_->prompt_eval_end_ms = time_in_ms();
  Sampler sampler(options);
  for (const uint64_t token : state_.tokens) sampler.observe(token);
  text_token_generator_->set_ignore_eos(config.ignore_eos);
  text_token_generator_->set_stop_strings(config.stop_strings);
  ET_CHECK_OK_OR_RETURN_ERROR(
      text_token_generator_->extend(state_, logits, *max_new_tokens, sampler, callback));
  stats_->model_execution_end_ms = time_in_ms();
  return Error::Ok;
}

}  // namespace executorch::extension::llm
