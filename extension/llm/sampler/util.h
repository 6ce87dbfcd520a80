// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// Chooses tokens without a Sampler object.
#pragma once

#include <executorch/extension/llm/sampler/sampler.h>

namespace executorch::extension::llm {

/// Chooses one token by the last row of `logits`; errors as check() and Sampler::sample().
inline runtime::Result<uint64_t> sample_from_logits(const aten::Tensor& logits,
                                                    const SamplingOptions& options) {
  const runtime::Error error = check(options);
  if (error != runtime::Error::Ok) return error;
  return Sampler(options).sample(logits);
}

/// The same by temperature alone; -1 in case of an error, which is logged.
inline int32_t logits_to_token(const aten::Tensor& logits, float temperature = 0.0f) {
  SamplingOptions options;
  options.temperature = temperature;
  const auto token = sample_from_logits(logits, options);
  return token.ok() ? static_cast<int32_t>(*token) : -1;
}

}  // namespace executorch::extension::llm
