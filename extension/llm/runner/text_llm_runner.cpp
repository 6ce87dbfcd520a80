// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
#include <executorch/extension/llm/runner/text_llm_runner.h>

#include <algorithm>
#include <cinttypes>
#include <utility>

#include <executorch/extension/llm/runner/utf8_stream.h>
#include <executorch/extension/memory_allocator/no_memory.h>
#include <executorch/extension/tensor/tensor_ptr_maker.h>
#include <executorch/runtime/platform/log.h>

namespace executorch::extension::llm {

using aten::ScalarType;
using runtime::Error;
using runtime::EValue;
using runtime::Result;

TextLLMRunner::TextLLMRunner(std::unique_ptr<Module> module,
                             std::unique_ptr<tokenizers::Tokenizer> tokenizer, Metadata metadata,
                             std::unordered_set<uint64_t> eos_ids, float temperature,
                             std::string method_name)
    : module_(std::move(module)),
      tokenizer_(std::move(tokenizer)),
      metadata_(std::move(metadata)),
      eos_ids_(std::move(eos_ids)),
      temperature_(temperature),
      method_name_(std::move(method_name)) {}

bool TextLLMRunner::is_loaded() const { return num_inputs_ != 0; }

void TextLLMRunner::set_model_load_times(long start, long end) {
  stats_.model_load_start_ms = start;
  stats_.model_load_end_ms = end;
}

Error TextLLMRunner::load() {
  if (is_loaded()) return Error::Ok;
  ET_CHECK_OR_RETURN_ERROR(module_ != nullptr && tokenizer_ != nullptr && tokenizer_->is_loaded(),
                           InvalidArgument,
                           "TextLLMRunner: expected a module and a loaded tokenizer");
  return or_no_memory("loading a language model", [&] {
    const long start = time_in_ms();
    ET_CHECK_OK_OR_RETURN_ERROR(module_->load_method(method_name_));
    ET_CHECK_OK_OR_RETURN_ERROR(read_inputs());
    if (stats_.model_load_start_ms == 0) stats_.model_load_start_ms = start;
    stats_.model_load_end_ms = time_in_ms();
    return Error::Ok;
  });
}

Error TextLLMRunner::read_inputs() {
  const auto meta = module_->method_meta(method_name_);
  ET_CHECK_OK_OR_RETURN_ERROR(meta.error());
  const size_t count = meta->num_inputs();
  ET_CHECK_OR_RETURN_ERROR(count == 1 || count == 2, InvalidProgram,
                           "method '%s': expected inputs for tokens and a position, found %zu",
                           method_name_.c_str(), count);
  for (size_t i = 0; i < count; ++i) {
    const auto input = meta->input_tensor_meta(i);
    ET_CHECK_OK_OR_RETURN_ERROR(input.error());
    ET_CHECK_OR_RETURN_ERROR(
        input->scalar_type() == ScalarType::Long && input->sizes().size() == (i == 0 ? 2u : 1u),
        InvalidProgram, "method '%s', input %zu: expected int64 of %d dimensions",
        method_name_.c_str(), i, i == 0 ? 2 : 1);
    if (i == 1) {
      takes_all_positions_ = input->sizes()[0] > 1;
    } else if (!input->is_unbounded() && input->sizes()[1] > 0) {
      int64_t& chunk = metadata_["get_max_seq_len"];
      chunk = std::min<int64_t>(chunk, input->sizes()[1]);
    }
  }
  const auto output = meta->output_tensor_meta(0);
  ET_CHECK_OK_OR_RETURN_ERROR(output.error());
  ET_CHECK_OR_RETURN_ERROR(output->sizes().size() >= 2, InvalidProgram,
                           "method '%s': expected logits", method_name_.c_str());
  metadata_["logits"] = output->sizes()[output->sizes().size() - 1];
  num_inputs_ = count;
  return Error::Ok;
}

void TextLLMRunner::reset() {
  position_ = 0;
  pending_.reset();
  history_.clear();
  seen_.clear();
  stats_.reset();
}

Error TextLLMRunner::check_config(const GenerationConfig& config) const {
  ET_CHECK_OR_RETURN_ERROR(config.max_new_tokens >= -1 && config.seq_len >= -1, InvalidArgument,
                           "max_new_tokens and seq_len: expected -1 or more, found %d and %d",
                           int(config.max_new_tokens), int(config.seq_len));
  ET_CHECK_OR_RETURN_ERROR(config.num_bos >= 0 && config.num_eos >= 0, InvalidArgument,
                           "num_bos and num_eos: expected 0 or more, found %d and %d",
                           int(config.num_bos), int(config.num_eos));
  return check(options_of(config));
}

SamplingOptions TextLLMRunner::options_of(const GenerationConfig& config) const {
  return {temperature_ < 0 ? config.temperature : temperature_,
          config.topp,
          config.topk,
          config.minp,
          config.repetition_penalty,
          config.seed};
}

Result<std::vector<uint64_t>> TextLLMRunner::encode(const std::string& prompt, int8_t bos,
                                                    int8_t eos) {
  auto encoded = tokenizer_->encode(prompt, bos, eos);
  ET_CHECK_OR_RETURN_ERROR(encoded.ok(), InvalidArgument,
                           "prompt: the tokenizer cannot encode it (error %u)",
                           unsigned(encoded.error()));
  std::vector<uint64_t> tokens = std::move(*encoded);
  ET_CHECK_OR_RETURN_ERROR(!tokens.empty(), InvalidArgument, "prompt: expected tokens, found none");
  const auto words = uint64_t(metadata_.at("logits"));
  for (const uint64_t token : tokens) {
    ET_CHECK_OR_RETURN_ERROR(token < words, InvalidArgument,
                             "prompt: the tokenizer gives token %" PRIu64
                             ", the model has a vocabulary of %" PRIu64,
                             token, words);
  }
  if (pending_.has_value()) tokens.insert(tokens.begin(), *pending_);
  const int64_t room = context() - position_;
  ET_CHECK_OR_RETURN_ERROR(int64_t(tokens.size()) <= room, InvalidArgument,
                           "prompt: %zu tokens behind %" PRId64
                           " do not fit the context of %" PRId64,
                           tokens.size(), position_, context());
  return tokens;
}

Result<aten::Tensor> TextLLMRunner::step(const uint64_t* tokens, size_t count) {
  std::vector<int64_t> ids(tokens, tokens + count);
  std::vector<int64_t> positions(takes_all_positions_ ? count : 1);
  for (size_t i = 0; i < positions.size(); ++i) positions[i] = position_ + int64_t(i);
  const TensorPtr id_input = from_blob(ids.data(), {1, int32_t(count)}, ScalarType::Long);
  const TensorPtr position_input =
      from_blob(positions.data(), {int32_t(positions.size())}, ScalarType::Long);
  std::vector<EValue> inputs{id_input};
  if (num_inputs_ == 2) inputs.emplace_back(position_input);
  const auto outputs = module_->execute(method_name_, inputs);
  ET_CHECK_OK_OR_RETURN_ERROR(outputs.error());
  ET_CHECK_OR_RETURN_ERROR(outputs->size() == 1 && (*outputs)[0].isTensor(), InvalidProgram,
                           "method '%s': expected one tensor, found %zu values",
                           method_name_.c_str(), outputs->size());
  return (*outputs)[0].toTensor();
}

Result<aten::Tensor> TextLLMRunner::run(const std::vector<uint64_t>& tokens) {
  if (num_inputs_ == 1) {
    history_.insert(history_.end(), tokens.begin(), tokens.end());
    const auto limit = size_t(metadata_.at("get_max_seq_len"));
    if (history_.size() > limit) {
      ET_LOG(Error, "%zu tokens do not fit the %zu that a method without a cache takes",
             history_.size(), limit);
      return Error::InvalidArgument;
    }
    position_ = int64_t(history_.size());
    return step(history_.data(), history_.size());
  }
  const bool in_chunks = metadata_.at("enable_dynamic_shape") != 0;
  const size_t chunk = in_chunks ? size_t(metadata_.at("get_max_seq_len")) : 1;
  size_t first = 0;
  for (;; first += chunk) {
    const size_t count = std::min(chunk, tokens.size() - first);
    auto logits = step(tokens.data() + first, count);
    ET_CHECK_OK_OR_RETURN_ERROR(logits.error());
    position_ += int64_t(count);
    if (first + count >= tokens.size()) return logits;
  }
}

TextLLMRunner::Saved TextLLMRunner::save() const {
  return {position_, pending_, history_.size(), seen_};
}

void TextLLMRunner::restore(Saved saved) {
  position_ = saved.position;
  pending_ = saved.pending;
  history_.resize(saved.history);
  seen_ = std::move(saved.seen);
}

Result<uint64_t> TextLLMRunner::prefill(const std::string& prompt, int8_t num_bos, int8_t num_eos) {
  ET_CHECK_OK_OR_RETURN_ERROR(load());
  return or_no_memory("a prompt", [&]() -> Result<uint64_t> {
    const auto tokens = encode(prompt, num_bos, num_eos);
    ET_CHECK_OK_OR_RETURN_ERROR(tokens.error());
    Rollback rollback(*this);
    const auto logits = run(*tokens);
    ET_CHECK_OK_OR_RETURN_ERROR(logits.error());
    Sampler likely(SamplingOptions{});
    const auto token = likely.sample(*logits, {});
    ET_CHECK_OK_OR_RETURN_ERROR(token.error());
    seen_.insert(tokens->begin(), tokens->end());
    pending_.reset();
    rollback.keep();
    return *token;
  });
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
  ET_CHECK_OK_OR_RETURN_ERROR(check_config(config));
  return or_no_memory("a generation", [&] {
    should_stop_ = false;
    stats_.reset();
    stats_.inference_start_ms = time_in_ms();
    Rollback rollback(*this);
    const TextCallback none;
    const Error error = generate_tokens(prompt, config, config.warming ? none : token_callback);
    ET_CHECK_OK_OR_RETURN_ERROR(error);
    rollback.keep();
    stats_.inference_end_ms = time_in_ms();
    if (stats_callback && !config.warming) stats_callback(stats_);
    return Error::Ok;
  });
}

Error TextLLMRunner::generate_tokens(const std::string& prompt, const GenerationConfig& config,
                                     const TextCallback& callback) {
  const auto tokens = encode(prompt, config.num_bos, config.num_eos);
  ET_CHECK_OK_OR_RETURN_ERROR(tokens.error());
  stats_.token_encode_end_ms = time_in_ms();
  const auto occupied = int32_t(position_ + int64_t(tokens->size()));
  const int64_t limit = num_inputs_ == 1 ? metadata_.at("get_max_seq_len") : context();
  const int32_t most = config.resolve_max_new_tokens(int32_t(limit), occupied);
  ET_CHECK_OR_RETURN_ERROR(most > 0, InvalidArgument,
                           "prompt: %d tokens leave no room for new ones (context %" PRId64
                           ", seq_len %d, max_new_tokens %d)",
                           int(occupied), limit, int(config.seq_len), int(config.max_new_tokens));
  if (config.echo && callback) callback(prompt);
  const auto logits = run(*tokens);
  ET_CHECK_OK_OR_RETURN_ERROR(logits.error());
  stats_.num_prompt_tokens = int64_t(tokens->size());
  seen_.insert(tokens->begin(), tokens->end());
  Sampler sampler(options_of(config));
  const auto first = sampler.sample(*logits, seen_);
  ET_CHECK_OK_OR_RETURN_ERROR(first.error());
  stats_.prompt_eval_end_ms = stats_.first_token_ms = time_in_ms();
  return decode_loop(tokens->back(), *first, most, sampler, config, callback);
}

Error TextLLMRunner::decode_loop(uint64_t previous, uint64_t token, int32_t max_new_tokens,
                                 Sampler& sampler, const GenerationConfig& config,
                                 const TextCallback& callback) {
  Utf8Stream stream;
  StopStrings stops(config.stop_strings);
  const auto pass_on = [&](const std::string& text) {
    if (!text.empty() && callback) callback(text);
  };
  for (int32_t count = 1;; ++count) {
    stats_.num_generated_tokens = count;
    pending_ = token;
    seen_.insert(token);
    if (!config.ignore_eos && eos_ids_.count(token) != 0) break;
    const auto piece = tokenizer_->decode(previous, token);
    ET_CHECK_OR_RETURN_ERROR(piece.ok(), InvalidArgument,
                             "the tokenizer has no token %" PRIu64 ", which the model generated",
                             token);
    std::string text = stream.add(*piece);
    const bool is_over = stops.ends(text);
    pass_on(text);
    if (is_over || should_stop_ || count >= max_new_tokens) break;
    const auto logits = run({token});
    ET_CHECK_OK_OR_RETURN_ERROR(logits.error());
    const long start = time_in_ms();
    const auto next = sampler.sample(*logits, seen_);
    ET_CHECK_OK_OR_RETURN_ERROR(next.error());
    stats_.aggregate_sampling_time_ms += time_in_ms() - start;
    previous = token;
    token = *next;
  }
  pass_on(stream.rest());
  return Error::Ok;
}

}  // namespace executorch::extension::llm
