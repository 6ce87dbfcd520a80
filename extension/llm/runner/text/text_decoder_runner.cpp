// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
#include <executorch/extension/llm/runner/text_decoder_runner.h>

#include <algorithm>
#include <numeric>
#include <utility>
#include <vector>

#include <executorch/extension/llm/runner/text/generation.h>
#include <executorch/extension/llm/sampler/util.h>
#include <executorch/extension/tensor/tensor_ptr_maker.h>
#include <executorch/runtime/platform/log.h>

namespace executorch::extension::llm {

using aten::ScalarType;
using runtime::Error;
using runtime::EValue;
using runtime::Result;

int64_t max_tokens(const runtime::TensorInfo& input) {
  return !input.is_unbounded() && input.sizes()[1] > 0 ? input.sizes()[1] : INT32_MAX;
}

Result<DecoderSignature> read_decoder_signature(Module& module, const std::string& method,
                                                size_t rank) {
  const auto meta = module.method_meta(method);
  ET_CHECK_OK_OR_RETURN_ERROR(meta.error());
  DecoderSignature signature;
  signature.num_inputs = meta->num_inputs();
  // Embeddings may be a constant of the program.
  ET_CHECK_OK_OR_RETURN_ERROR(check_inputs_are_read_only(module, method));
  ET_CHECK_OR_RETURN_ERROR(signature.num_inputs == 1 || signature.num_inputs == 2, InvalidProgram,
                           "method '%s': expected inputs for tokens and a position, found %zu",
                           method.c_str(), signature.num_inputs);
  const auto tokens = meta->input_tensor_meta(0);
  ET_CHECK_OK_OR_RETURN_ERROR(tokens.error());
  ET_CHECK_OR_RETURN_ERROR(
      tokens->sizes().size() == rank && (tokens->scalar_type() == ScalarType::Long) == (rank == 2),
      InvalidProgram, "method '%s', input 0: expected %s of %zu dimensions", method.c_str(),
      rank == 2 ? "int64" : "floating point numbers", rank);
  signature.max_tokens = max_tokens(*tokens);
  if (signature.num_inputs == 2) {
    const auto position = meta->input_tensor_meta(1);
    ET_CHECK_OK_OR_RETURN_ERROR(position.error());
    ET_CHECK_OR_RETURN_ERROR(
        position->scalar_type() == ScalarType::Long && position->sizes().size() == 1,
        InvalidProgram, "method '%s', input 1: expected int64 of 1 dimension", method.c_str());
    signature.takes_all_positions = position->sizes()[0] > 1;
  }
  const auto output = meta->output_tensor_meta(0);
  ET_CHECK_OK_OR_RETURN_ERROR(output.error());
  ET_CHECK_OR_RETURN_ERROR(output->sizes().size() >= 2, InvalidProgram,
                           "method '%s': expected logits", method.c_str());
  signature.vocab_size = output->sizes()[output->sizes().size() - 1];
  return signature;
}

TensorPtr make_positions(const DecoderSignature& signature, int64_t start, int64_t count) {
  std::vector<int64_t> positions(signature.takes_all_positions ? size_t(count) : 1);
  std::iota(positions.begin(), positions.end(), start);
  return make_tensor_ptr(std::move(positions));
}

namespace {

/// Returns true if a method's output is an input, or a view of one.
bool shows_input(const aten::Tensor& output, const std::vector<EValue>& inputs) {
  const auto* const at = static_cast<const uint8_t*>(output.const_data_ptr());
  return std::any_of(inputs.begin(), inputs.end(), [at](const EValue& input) {
    if (!input.isTensor()) return false;
    const aten::Tensor& tensor = input.toTensor();
    const auto* const begin = static_cast<const uint8_t*>(tensor.const_data_ptr());
    return at != nullptr && begin <= at && at < begin + tensor.nbytes();
  });
}

}  // namespace

TextDecoderRunner::TextDecoderRunner(Module* module, IOManager* io_manager, std::string method_name,
                                     std::unique_ptr<Sampler> sampler, Stats* stats)
    : module_(module),
      io_manager_(io_manager),
      method_name_(std::move(method_name)),
      prefill_method_name_(method_name_),
      sampler_(std::move(sampler)),
      stats_(stats) {}

Error TextDecoderRunner::load() {
  ET_CHECK_OK_OR_RETURN_ERROR(check_inputs_are_read_only(*module_, method_name_));
  const auto signature = read_decoder_signature(*module_, prefill_method_name_, 2);
  ET_CHECK_OK_OR_RETURN_ERROR(signature.error());
  ET_CHECK_OK_OR_RETURN_ERROR(io_manager_->load(prefill_method_name_, method_name_));
  signature_ = *signature;
  return Error::Ok;
}

bool TextDecoderRunner::is_method_loaded() { return signature_.num_inputs != 0; }

Result<aten::Tensor> TextDecoderRunner::step(TensorPtr& tokens, int64_t start_pos) {
  ET_CHECK_OK_OR_RETURN_ERROR(check_position(start_pos));
  if (!is_method_loaded()) ET_CHECK_OK_OR_RETURN_ERROR(load());
  const int64_t count = tokens->numel();
  return execute(tokens, make_positions(signature_, start_pos, count), count);
}

Result<aten::Tensor> TextDecoderRunner::execute(const TensorPtr& input, const TensorPtr& positions,
                                                int64_t count) {
  const bool is_prefill = count > 1;
  const std::string& method = is_prefill ? prefill_method_name_ : method_name_;
  const auto inputs = is_prefill ? io_manager_->prepare_prefill(input, positions, method)
                                 : io_manager_->prepare_decode(input, positions, method);
  ET_CHECK_OK_OR_RETURN_ERROR(inputs.error());
  const auto outputs = execute_once(*module_, method, *inputs);
  ET_CHECK_OK_OR_RETURN_ERROR(outputs.error());
  ET_CHECK_OK_OR_RETURN_ERROR(is_prefill ? io_manager_->update_prefill(*outputs, method)
                                         : io_manager_->update_decode(*outputs, method));
  ET_CHECK_OR_RETURN_ERROR(!outputs->empty() && (*outputs)[0].isTensor(), InvalidProgram,
                           "method '%s': expected a tensor as first of %zu outputs", method.c_str(),
                           outputs->size());
  // Logits are kept longer than inputs.
  ET_CHECK_OR_RETURN_ERROR(!shows_input((*outputs)[0].toTensor(), *inputs), InvalidProgram,
                           "method '%s': expected logits, found an input", method.c_str());
  return (*outputs)[0].toTensor();
}

int32_t TextDecoderRunner::logits_to_token(const aten::Tensor& logits, float temperature) {
  if (stats_ != nullptr) stats_->on_sampling_begin();
  int32_t chosen = -1;
  if (sampler_ != nullptr) {
    const auto token = sampler_->sample(logits);
    if (token.ok()) chosen = static_cast<int32_t>(*token);
  } else {
    chosen = llm::logits_to_token(logits, temperature);
  }
  if (stats_ != nullptr) stats_->on_sampling_end();
  return chosen;
}

}  // namespace executorch::extension::llm
