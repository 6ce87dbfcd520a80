// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// Chooses tokens by their logits.
#pragma once

#include <cstdint>
#include <functional>
#include <random>
#include <unordered_set>
#include <utility>
#include <vector>

#include <executorch/runtime/core/exec_aten/exec_aten.h>
#include <executorch/runtime/core/result.h>
#include <executorch/runtime/core/span.h>

namespace executorch::extension::llm {

struct SamplingOptions {
  float temperature = 0;
  float topp = 1;
  int32_t topk = 0;
  float minp = 0;
  float repetition_penalty = 1;
  uint64_t seed = 0;
};

/// Returns InvalidArgument, after a log message, for options out of their range.
runtime::Error check(const SamplingOptions& options);

/// Changes the logits of the next token in place; negative infinity excludes a token. An error ends
/// the generation.
using LogitProcessor = std::function<runtime::Error(runtime::Span<float> logits)>;

class Sampler final {
 public:
  /// `options` must have passed check(). Seed 0 gives every sampler a different random seed.
  explicit Sampler(const SamplingOptions& options);
  /// The documented constructor: `vocab_size` is the length of rows given as pointers.
  Sampler(int32_t vocab_size, float temperature, float topp = 0.9f,
          unsigned long long rng_seed = 0);

  /// Chooses a token by the last row of `logits` (Float, Half, BFloat16 or UInt16). Returns
  /// InvalidProgram for other tensors, and for a row without a finite number. Never chooses NaN.
  runtime::Result<uint64_t> sample(const aten::Tensor& logits);
  /// Chooses a token by `vocab_size` logits; returns -1, after a log message, if none is finite.
  template <typename T>
  int32_t sample(const T* logits) {
    row_.assign(logits, logits + vocab_size_);
    const auto token = choose();
    return token.ok() ? static_cast<int32_t>(*token) : -1;
  }

  /// The repetition penalty applies to `token` from now on.
  void observe(uint64_t token) { seen_.insert(token); }
  /// Runs before tokens are chosen; an empty function is not called.
  void set_processor(LogitProcessor processor) { processor_ = std::move(processor); }

 private:
  /// Chooses by row_.
  runtime::Result<uint64_t> choose();
  uint64_t draw();

  SamplingOptions options_;
  std::mt19937_64 generator_;
  size_t vocab_size_ = 0;
  LogitProcessor processor_;
  std::unordered_set<uint64_t> seen_;
  std::vector<float> row_;
  std::vector<uint32_t> order_;
};

}  // namespace executorch::extension::llm
