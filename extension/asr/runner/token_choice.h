// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
#pragma once

#include <cstdint>
#include <random>
#include <vector>

#include <executorch/runtime/core/exec_aten/exec_aten.h>
#include <executorch/runtime/core/result.h>

namespace executorch::extension::asr {

/// Chooses a token by the last row of logits.
class TokenChoice final {
 public:
  /// `temperature` must be finite and not negative; 0 takes the highest logit.
  TokenChoice(float temperature, uint64_t seed) : temperature_(temperature), generator_(seed) {}

  /// InvalidProgram for empty logits, another dtype than Float, Half and BFloat16, or no logit
  /// above negative infinity. Never chooses NaN. May throw std::bad_alloc.
  runtime::Result<int64_t> choose(const aten::Tensor& logits);

 private:
  float temperature_;
  std::mt19937_64 generator_;
  std::vector<float> row_;
};

}  // namespace executorch::extension::asr
