// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
#include <executorch/extension/llm/runner/multimodal_decoder_runner.h>

#include <algorithm>

#include <executorch/extension/llm/runner/constants.h>
#include <executorch/extension/llm/runner/text/generation.h>
#include <executorch/extension/tensor/tensor_ptr_maker.h>
#include <executorch/runtime/core/exec_aten/util/tensor_checks.h>
#include <executorch/runtime/platform/log.h>

namespace executorch::extension::llm {

using aten::ScalarType;
using runtime::Error;
using runtime::EValue;
using runtime::Result;

MultimodalDecoderRunner::MultimodalDecoderRunner(Module* module, IOManager* io_manager)
    : TextDecoderRunner(module, io_manager, kTextModelMethod) {}

Error MultimodalDecoderRunner::load() {
  if (is_method_loaded()) return Error::Ok;
  for (const char* name : {kTokenEmbeddingMethod, kTextModelMethod}) {
    ET_CHECK_OK_OR_RETURN_ERROR(module_->load_method(name));
  }
  const auto embedding = module_->method_meta(kTokenEmbeddingMethod);
  ET_CHECK_OK_OR_RETURN_ERROR(embedding.error());
  const auto tokens = embedding->input_tensor_meta(0);
  ET_CHECK_OK_OR_RETURN_ERROR(tokens.error());
  ET_CHECK_OR_RETURN_ERROR(embedding->num_inputs() == 1 && tokens->sizes().size() == 2 &&
                               tokens->scalar_type() == ScalarType::Long,
                           InvalidProgram, "method '%s': expected one input, int64 of 2 dimensions",
                           kTokenEmbeddingMethod);
  const auto signature = read_decoder_signature(*module_, kTextModelMethod, 3);
  ET_CHECK_OK_OR_RETURN_ERROR(signature.error());
  ET_CHECK_OR_RETURN_ERROR(signature->num_inputs == 2, InvalidProgram,
                           "method '%s': expected embeddings and a position, found %zu inputs",
                           kTextModelMethod, signature->num_inputs);
  ET_CHECK_OK_OR_RETURN_ERROR(io_manager_->load(kTextModelMethod, kTextModelMethod));
  max_embedded_tokens_ = max_tokens(*tokens);
  signature_ = *signature;
  return Error::Ok;
}

Result<aten::Tensor> MultimodalDecoderRunner::embed(const TensorPtr& tokens) {
  const auto outputs = execute_once(*module_, kTokenEmbeddingMethod, {tokens});
  ET_CHECK_OK_OR_RETURN_ERROR(outputs.error());
  ET_CHECK_OR_RETURN_ERROR(outputs->size() == 1 && (*outputs)[0].isTensor(), InvalidProgram,
                           "method '%s': expected one tensor, found %zu values",
                           kTokenEmbeddingMethod, outputs->size());
  return (*outputs)[0].toTensor();
}

Result<aten::Tensor> MultimodalDecoderRunner::step(TensorPtr& tokens, int64_t start_pos) {
  ET_CHECK_OK_OR_RETURN_ERROR(load());
  const auto embeddings = embed(tokens);
  ET_CHECK_OK_OR_RETURN_ERROR(embeddings.error());
  return decode(*embeddings, start_pos);
}

Result<aten::Tensor> MultimodalDecoderRunner::decode(const EValue& embeddings, int64_t start_pos) {
  ET_CHECK_OR_RETURN_ERROR(embeddings.isTensor(), InvalidArgument, "embeddings: expected a tensor");
  return decode(embeddings.toTensor(), start_pos);
}

Result<aten::Tensor> MultimodalDecoderRunner::decode(const aten::Tensor& embeddings,
                                                     int64_t start_pos) {
  ET_CHECK_OK_OR_RETURN_ERROR(check_position(start_pos));
  ET_CHECK_OK_OR_RETURN_ERROR(load());
  ET_CHECK_OR_RETURN_ERROR(embeddings.dim() == 3 && embeddings.size(0) == 1 &&
                               embeddings.numel() > 0 && embeddings.const_data_ptr() != nullptr,
                           InvalidArgument,
                           "embeddings: expected [1, T, D] with elements in memory, found %zd "
                           "dimensions and %zd elements",
                           ssize_t(embeddings.dim()), ssize_t(embeddings.numel()));
  ET_CHECK_OR_RETURN_ERROR(runtime::tensor_is_contiguous(embeddings), InvalidArgument,
                           "embeddings: expected rows in memory one after the other");
  const auto total = int64_t(embeddings.size(1));
  // 0 is unknown: a decoder whose class overrides load().
  const int64_t limit = signature_.max_tokens > 0 ? signature_.max_tokens : total;
  const auto width = embeddings.size(2);
  const auto row = size_t(width) * embeddings.element_size();
  auto* const data = static_cast<uint8_t*>(embeddings.mutable_data_ptr());
  for (int64_t first = 0;;) {
    const int64_t count = std::min(total - first, limit);
    const TensorPtr part = from_blob(data + size_t(first) * row,
                                     {1, int32_t(count), int32_t(width)}, embeddings.scalar_type());
    const auto logits = execute(part, make_positions(signature_, start_pos + first, count), count);
    ET_CHECK_OK_OR_RETURN_ERROR(logits.error());
    first += count;
    if (first >= total) return *logits;
    if (should_stop()) {
      ET_LOG(Error, "stopped after %d of %d embeddings", int(first), int(total));
      return Error::InvalidState;
    }
  }
}

}  // namespace executorch::extension::llm
