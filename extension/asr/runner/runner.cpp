// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
#include <executorch/extension/asr/runner/runner.h>

#include <cinttypes>
#include <cmath>
#include <utility>

#include <executorch/extension/llm/runner/text_decoder_runner.h>
#include <executorch/extension/memory_allocator/no_memory.h>
#include <executorch/extension/tensor/element_conversion.h>
#include <executorch/extension/tensor/tensor_ptr_maker.h>
#include <executorch/runtime/core/exec_aten/util/dtype_info.h>
#include <executorch/runtime/platform/log.h>

namespace executorch::extension::asr {

using aten::ScalarType;
using runtime::Error;
using runtime::EValue;
using runtime::Result;

namespace {

constexpr const char* kEncoder = "encoder";
constexpr const char* kDecoder = "text_decoder";
constexpr const char* kEndTokens = "get_eos_ids";

/// The only output of a method, which must be a tensor.
Result<aten::Tensor> single_tensor(const char* method, const Result<std::vector<EValue>>& outputs) {
  ET_CHECK_OK_OR_RETURN_ERROR(outputs.error());
  ET_CHECK_OR_RETURN_ERROR(outputs->size() == 1 && (*outputs)[0].isTensor(), InvalidProgram,
                           "method '%s' returns %zu values, expected one tensor", method,
                           outputs->size());
  return (*outputs)[0].toTensor();
}

std::unique_ptr<Module> open_module(const std::string& path,
                                    const std::optional<std::string>& data_path) {
  return data_path.has_value() && !data_path->empty()
             ? std::make_unique<Module>(path, *data_path, Module::LoadMode::Mmap)
             : std::make_unique<Module>(path, Module::LoadMode::Mmap);
}

}  // namespace

AsrRunner::AsrRunner(std::unique_ptr<Module> module, TokenDecoder decode)
    : module_(std::move(module)), decode_(std::move(decode)) {}

AsrRunner::AsrRunner(const std::string& module_path, const std::optional<std::string>& data_path)
    : AsrRunner(open_module(module_path, data_path)) {}

Error AsrRunner::load() {
  if (is_loaded_) {
    return Error::Ok;
  }
  ET_CHECK_OR_RETURN_ERROR(module_ != nullptr, InvalidArgument, "AsrRunner: the module is null");
  return or_no_memory("loading a speech model", [&] { return load_methods(); });
}

Error AsrRunner::load_methods() {
  const auto names = module_->method_names();
  ET_CHECK_OK_OR_RETURN_ERROR(names.error());
  for (const char* method : {kEncoder, kDecoder}) {
    ET_CHECK_OR_RETURN_ERROR(
        names->count(method) != 0, InvalidArgument,
        "AsrRunner: expected a program with methods '%s' and '%s', but it has no "
        "method '%s'",
        kEncoder, kDecoder, method);
    ET_CHECK_OK_OR_RETURN_ERROR(module_->load_method(method));
  }
  // The encoder's states may be a constant of the program; the position ends the loop.
  ET_CHECK_OK_OR_RETURN_ERROR(llm::check_inputs_are_read_only(*module_, kDecoder));
  if (load_tokenizer_) {
    ET_CHECK_OK_OR_RETURN_ERROR(load_tokenizer_(*this));
  }
  is_loaded_ = true;
  return Error::Ok;
}

Result<TensorPtr> AsrRunner::to_encoder_dtype(TensorPtr features) {
  const auto meta = module_->method_meta(kEncoder);
  ET_CHECK_OK_OR_RETURN_ERROR(meta.error());
  const auto input = meta->input_tensor_meta(0);
  ET_CHECK_OK_OR_RETURN_ERROR(input.error());
  const ScalarType expected = input->scalar_type();
  const ScalarType found = features->scalar_type();
  if (found == expected) {
    return features;
  }
  ET_CHECK_OR_RETURN_ERROR(converts_to(found, expected), InvalidArgument,
                           "features: expected %s or a dtype that converts to it, found %s",
                           runtime::toString(expected), runtime::toString(found));
  return clone_tensor_ptr(features, expected);
}

Result<std::unordered_set<int64_t>> AsrRunner::end_tokens(const AsrTranscribeConfig& config) {
  if (!config.eos_token_ids.empty()) {
    return config.eos_token_ids;
  }
  const auto names = module_->method_names();
  ET_CHECK_OK_OR_RETURN_ERROR(names.error());
  std::unordered_set<int64_t> tokens;
  if (names->count(kEndTokens) != 0) {
    const auto values = module_->execute(kEndTokens);
    ET_CHECK_OK_OR_RETURN_ERROR(values.error());
    for (const EValue& value : *values) {
      ET_CHECK_OR_RETURN_ERROR(value.isInt(), InvalidProgram, "method '%s': expected integers",
                               kEndTokens);
      tokens.insert(value.toInt());
    }
  } else if (tokenizer_end_.has_value()) {
    tokens.insert(*tokenizer_end_);
  }
  ET_CHECK_OR_RETURN_ERROR(!tokens.empty(), InvalidArgument,
                           "no token ends the text: set eos_token_ids, or export the program with "
                           "a constant method '%s'",
                           kEndTokens);
  return tokens;
}

Result<std::vector<int64_t>> AsrRunner::transcribe(TensorPtr features,
                                                   const AsrTranscribeConfig& config,
                                                   const TokenCallback& callback) {
  ET_CHECK_OR_RETURN_ERROR(features != nullptr, InvalidArgument, "features: a null TensorPtr");
  ET_CHECK_OR_RETURN_ERROR(config.max_new_tokens > 0, InvalidArgument,
                           "max_new_tokens: expected a positive number, found %" PRId64,
                           config.max_new_tokens);
  ET_CHECK_OR_RETURN_ERROR(std::isfinite(config.temperature) && config.temperature >= 0,
                           InvalidArgument, "temperature: expected 0 or more, found %g",
                           static_cast<double>(config.temperature));
  ET_CHECK_OR_RETURN_ERROR(!callback || decode_ || load_tokenizer_, InvalidArgument,
                           "a callback needs a TokenDecoder; the runner has none");
  ET_CHECK_OK_OR_RETURN_ERROR(load());
  return or_no_memory("a transcription", [&]() -> Result<std::vector<int64_t>> {
    Result<TensorPtr> converted = to_encoder_dtype(std::move(features));
    ET_CHECK_OK_OR_RETURN_ERROR(converted.error());
    return generate(*converted, config, callback);
  });
}

Result<std::vector<int64_t>> AsrRunner::generate(const TensorPtr& features,
                                                 const AsrTranscribeConfig& config,
                                                 const TokenCallback& callback) {
  const auto ends = end_tokens(config);
  ET_CHECK_OK_OR_RETURN_ERROR(ends.error());
  // The states may be the features.
  const llm::BorrowedInputs encoder_inputs(*module_, kEncoder, 1);
  const llm::BorrowedInputs decoder_inputs(*module_, kDecoder, 3);
  const auto states = single_tensor(kEncoder, module_->execute(kEncoder, features));
  ET_CHECK_OK_OR_RETURN_ERROR(states.error());

  TokenChoice choice(config.temperature, config.seed);
  std::vector<int64_t> tokens = {config.decoder_start_token_id};
  int64_t token = config.decoder_start_token_id;
  int64_t position = 0;
  const TensorPtr token_input = from_blob(&token, {1, 1}, ScalarType::Long);
  const TensorPtr position_input = from_blob(&position, {1}, ScalarType::Long);
  for (; position < config.max_new_tokens; ++position) {
    const auto logits =
        single_tensor(kDecoder, module_->execute(kDecoder, {token_input, *states, position_input}));
    ET_CHECK_OK_OR_RETURN_ERROR(logits.error());
    const auto next = choice.choose(*logits);
    ET_CHECK_OK_OR_RETURN_ERROR(next.error());
    tokens.push_back(*next);
    if (callback) {
      const auto piece = decode_(static_cast<uint64_t>(token), static_cast<uint64_t>(*next));
      if (!piece.ok()) {
        ET_LOG(Error, "token %" PRId64 " after %" PRId64 " cannot be decoded: %s", *next, token,
               runtime::to_string(piece.error()));
        return piece.error();
      }
      callback(*piece);
    }
    token = *next;
    if (ends->count(token) != 0) {
      break;
    }
  }
  return tokens;
}

}  // namespace executorch::extension::asr
