// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// Chooses tokens by their logits.
#pragma once

#include <cstdint>
#include <random>
#include <unordered_set>
#include <vector>

#include <executorch/runtime/core/exec_aten/exec_aten.h>
#include <executorch/runtime/core/result.h>

namespace executorch::extension::llm {

struct SamplingOptions {
  float temperature = 0;
  float topp = 1;
  int32_t topk = 0;
  float minp = 0;
  float repetition_penalty = 1;
  uint64_t seed = 0;
};

/// InvalidArgument, after a log message, for options out of their range.
runtime::Error check(const SamplingOptions& options);

class Sampler final {
 public:
  /// `options` must have passed check(). A seed of 0 is another one each time.
  explicit Sampler(const SamplingOptions& options);

  /// A token by the last row of `logits` (Float, Half or BFloat16). `seen`: the tokens that
  /// occurred, for the penalty. InvalidProgram for other tensors, and for a row without a finite
  /// number. NaN is never chosen.
  runtime::Result<uint64_t> sample(const aten::Tensor& logits,
                                   const std::unordered_set<uint64_t>& seen);

 private:
  uint64_t draw();

  SamplingOptions options_;
  std::mt19937_64 generator_;
  std::vector<float> row_;
  std::vector<uint32_t> order_;
};

}  // namespace executorch::extension::llm
