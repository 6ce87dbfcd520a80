// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
#include <executorch/extension/llm/runner/text_llm_runner.h>

#include <algorithm>
#include <cinttypes>
#include <utility>

#include <executorch/extension/llm/runner/constants.h>
#include <executorch/extension/llm/runner/text/generation.h>
#include <executorch/extension/memory_allocator/no_memory.h>
#include <executorch/runtime/platform/log.h>

namespace executorch::extension::llm {

using runtime::Error;
using runtime::Result;

TextLLMRunner::TextLLMRunner(Metadata metadata, std::unique_ptr<tokenizers::Tokenizer> tokenizer,
                             std::unique_ptr<Module> module,
                             std::unique_ptr<TextDecoderRunner> text_decoder_runner,
                             std::unique_ptr<TextPrefiller> text_prefiller,
                             std::unique_ptr<IOManager> io_manager,
                             std::unique_ptr<TextTokenGenerator> text_token_generator,
                             std::unique_ptr<Stats> stats, float temperature)
    : CachedRunner(std::move(metadata), std::move(tokenizer), std::move(module),
                   std::move(io_manager), std::move(text_token_generator), std::move(stats)),
      text_decoder_runner_(std::move(text_decoder_runner)),
      text_prefiller_(std::move(text_prefiller)),
      temperature_(temperature) {}

bool TextLLMRunner::is_loaded() const {
  return text_prefiller_->is_loaded() && text_token_generator_->is_loaded();
}

void TextLLMRunner::set_model_load_times(long start, long end) {
  stats_->model_load_start_ms = start;
  stats_->model_load_end_ms = end;
}

Error TextLLMRunner::load() {
  if (is_loaded()) return Error::Ok;
  ET_CHECK_OR_RETURN_ERROR(tokenizer_->is_loaded(), InvalidArgument,
                           "TextLLMRunner: expected a loaded tokenizer");
  return or_no_memory("loading a language model", [&] {
    const long start = time_in_ms();
    ET_CHECK_OK_OR_RETURN_ERROR(text_prefiller_->load());
    if (!text_token_generator_->is_loaded()) {
      ET_CHECK_OK_OR_RETURN_ERROR(text_token_generator_->load());
    }
    if (stats_->model_load_start_ms == 0) stats_->model_load_start_ms = start;
    stats_->model_load_end_ms = time_in_ms();
    return Error::Ok;
  });
}

void TextLLMRunner::reset() {
  reset_text(text_decoder_runner_->prefill_method_name(), text_decoder_runner_->method_name());
}

int64_t TextLLMRunner::constant(const char* name) const {
  const auto entry = metadata_.find(name);
  return entry == metadata_.end() ? 0 : entry->second;
}

int64_t TextLLMRunner::context() const {
  if (uses_cache()) return constant(kMaxContextLen);
  return std::min(constant(kMaxSeqLen), text_decoder_runner_->signature().max_tokens);
}

Result<std::vector<uint64_t>> TextLLMRunner::encode(const std::string& prompt, int32_t num_bos,
                                                    int32_t num_eos) {
  return encode_text(*tokenizer_, prompt, num_bos, num_eos,
                     text_decoder_runner_->signature().vocab_size);
}

Result<std::optional<aten::Tensor>> TextLLMRunner::append(const std::vector<uint64_t>& tokens) {
  const int64_t room = context() - state_.position - int64_t(state_.pending);
  ET_CHECK_OR_RETURN_ERROR(int64_t(tokens.size()) <= room, InvalidArgument,
                           "prompt: %zu tokens after %zu do not fit the context of %" PRId64,
                           tokens.size(), state_.tokens.size(), context());
  state_.tokens.insert(state_.tokens.end(), tokens.begin(), tokens.end());
  state_.pending += tokens.size();
  const std::optional<aten::Tensor> known = std::exchange(next_logits_, std::nullopt);
  if (state_.pending == 0) {
    if (known.has_value()) return known;
    ET_CHECK_OR_RETURN_ERROR(state_.position > 0, InvalidArgument,
                             "prompt: expected tokens, found none");
    // A failed call lost the logits of the last token.
    state_.pending = 1;
    --state_.position;
  }
  return text_prefiller_->run(state_);
}

Result<uint64_t> TextLLMRunner::prefill(const std::string& prompt, int32_t num_bos,
                                        int32_t num_eos) {
  return prefill(std::vector<MultimodalInput>{MultimodalInput(prompt)}, num_bos, num_eos);
}

Result<uint64_t> TextLLMRunner::prefill(const std::vector<MultimodalInput>& inputs, int32_t num_bos,
                                        int32_t num_eos) {
  ET_CHECK_OK_OR_RETURN_ERROR(load());
  return or_no_memory("a prompt", [&]() -> Result<uint64_t> {
    std::vector<uint64_t> tokens;
    for (size_t i = 0; i < inputs.size(); ++i) {
      if (const std::vector<uint64_t>* const given = inputs[i].try_get_tokens(); given != nullptr) {
        ET_CHECK_OK_OR_RETURN_ERROR(
            check_tokens(*given, text_decoder_runner_->signature().vocab_size));
        tokens.insert(tokens.end(), given->begin(), given->end());
        continue;
      }
      const std::string* const text = inputs[i].try_get_text();
      ET_CHECK_OR_RETURN_ERROR(text != nullptr, InvalidArgument,
                               "input %zu: TextLLMRunner expects text or tokens, found %s", i,
                               inputs[i].type_name());
      const auto encoded =
          encode(*text, i == 0 ? num_bos : 0, i + 1 == inputs.size() ? num_eos : 0);
      ET_CHECK_OK_OR_RETURN_ERROR(encoded.error());
      tokens.insert(tokens.end(), encoded->begin(), encoded->end());
    }
    return prefill_tokens(tokens);
  });
}

Result<uint64_t> TextLLMRunner::prefill_tokens(const std::vector<uint64_t>& tokens) {
  text_decoder_runner_->clear_stop();
  Rollback rollback(state_, constant(kSlidingWindow));
  const auto logits = append(tokens);
  ET_CHECK_OK_OR_RETURN_ERROR(logits.error());
  if (!logits->has_value()) {
    rollback.keep();
    ET_LOG(Error, "prefill: stopped with %zu tokens left", state_.pending);
    return Error::InvalidState;
  }
  const auto token = most_likely(**logits);
  ET_CHECK_OK_OR_RETURN_ERROR(token.error());
  rollback.keep();
  next_logits_ = *logits;
  return *token;
}

Error TextLLMRunner::warmup(const std::string& prompt, int32_t max_new_tokens) {
  GenerationConfig config;
  config.warming = true;
  config.temperature = 0;
  config.max_new_tokens = max_new_tokens;
  const Error error = generate(prompt, config);
  reset();
  return error;
}

Error TextLLMRunner::generate(const std::string& prompt, const GenerationConfig& config,
                              TextCallback token_callback, StatsCallback stats_callback) {
  ET_CHECK_OK_OR_RETURN_ERROR(load());
  const auto options = sampling_options(config, temperature_);
  ET_CHECK_OK_OR_RETURN_ERROR(options.error());
  return or_no_memory("a generation", [&] {
    text_decoder_runner_->clear_stop();
    stats_->reset();
    stats_->inference_start_ms = time_in_ms();
    Rollback rollback(state_, constant(kSlidingWindow));
    const TextCallback none;
    ET_CHECK_OK_OR_RETURN_ERROR(generate_tokens(prompt, config, *options,
                                                config.warming ? none : token_callback, rollback));
    rollback.keep();
    stats_->inference_end_ms = time_in_ms();
    if (stats_callback && !config.warming) stats_callback(*stats_);
    return Error::Ok;
  });
}

void TextLLMRunner::keep_common_prefix(std::vector<uint64_t>& tokens) {
  // The last token of the prompt runs again, because its logits are needed.
  const size_t comparable = std::min({state_.tokens.size(), size_t(state_.position),
                                      tokens.empty() ? size_t(0) : tokens.size() - 1});
  const auto difference = std::mismatch(
      state_.tokens.begin(), state_.tokens.begin() + int64_t(comparable), tokens.begin());
  auto common = size_t(difference.second - tokens.begin());
  const int64_t window = constant(kSlidingWindow);
  if (window > 0 && state_.position > window && int64_t(common) < state_.position) common = 0;
  state_.tokens.resize(common);
  state_.pending = 0;
  state_.position = int64_t(common);
  tokens.erase(tokens.begin(), tokens.begin() + int64_t(common));
}

Error TextLLMRunner::generate_tokens(const std::string& prompt, const GenerationConfig& config,
                                     const SamplingOptions& options, const TextCallback& callback,
                                     Rollback& rollback) {
  auto tokens = encode(prompt, config.num_bos, config.num_eos);
  ET_CHECK_OK_OR_RETURN_ERROR(tokens.error());
  stats_->token_encode_end_ms = time_in_ms();
  if (config.reuse_prefix) keep_common_prefix(*tokens);
  const auto max_new_tokens = count_new_tokens(
      config, context(), state_.position + int64_t(state_.pending) + int64_t(tokens->size()));
  ET_CHECK_OK_OR_RETURN_ERROR(max_new_tokens.error());
  if (config.echo && callback) callback(prompt);
  stats_->num_prompt_tokens = int64_t(state_.pending + tokens->size());
  stats_->model_execution_start_ms = time_in_ms();
  rollback.overwrites(state_.position);
  const auto logits = append(*tokens);
  ET_CHECK_OK_OR_RETURN_ERROR(logits.error());
  stats_->prompt_eval_end_ms = time_in_ms();
  if (logits->has_value()) {
    Sampler sampler(options);
    for (const uint64_t token : state_.tokens) sampler.observe(token);
    text_token_generator_->set_ignore_eos(config.ignore_eos);
    text_token_generator_->set_stop_strings(config.stop_strings);
    ET_CHECK_OK_OR_RETURN_ERROR(
        text_token_generator_->extend(state_, **logits, *max_new_tokens, sampler, callback));
  }
  stats_->model_execution_end_ms = time_in_ms();
  return Error::Ok;
}

}  // namespace executorch::extension::llm
