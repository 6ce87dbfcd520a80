// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
#include <executorch/extension/llm/runner/sampler.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include <executorch/extension/tensor/element_conversion.h>
#include <executorch/runtime/core/exec_aten/util/dtype_info.h>
#include <executorch/runtime/platform/log.h>

namespace executorch::extension::llm {

using aten::ScalarType;
using runtime::Error;
using runtime::Result;

namespace {
constexpr float kNever = -std::numeric_limits<float>::infinity();
}

Error check(const SamplingOptions& options) {
  const auto expect = [](bool holds, const char* name, const char* expected, double found) {
    if (!holds) ET_LOG(Error, "%s: expected %s, found %g", name, expected, found);
    return holds;
  };
  const bool holds =
      expect(std::isfinite(options.temperature) && options.temperature >= 0, "temperature",
             "0 or more", double(options.temperature)) &&
      expect(options.topp > 0 && options.topp <= 1, "topp", "more than 0 and at most 1",
             double(options.topp)) &&
      expect(options.topk >= 0, "topk", "0 or more", options.topk) &&
      expect(options.minp >= 0 && options.minp <= 1, "minp", "from 0 to 1", double(options.minp)) &&
      expect(std::isfinite(options.repetition_penalty) && options.repetition_penalty > 0,
             "repetition_penalty", "a positive number", double(options.repetition_penalty));
  return holds ? Error::Ok : Error::InvalidArgument;
}

Sampler::Sampler(const SamplingOptions& options)
    : options_(options), generator_(options.seed != 0 ? options.seed : std::random_device{}()) {}

Result<uint64_t> Sampler::sample(const aten::Tensor& logits,
                                 const std::unordered_set<uint64_t>& seen) {
  const bool is_row = logits.dim() > 0 && logits.numel() > 0;
  ET_CHECK_OR_RETURN_ERROR(is_row && runtime::isFloatingType(logits.scalar_type()), InvalidProgram,
                           "logits: expected floating point elements, found %zd of %s",
                           static_cast<ssize_t>(logits.numel()),
                           runtime::toString(logits.scalar_type()));
  const auto length = static_cast<size_t>(logits.size(logits.dim() - 1));
  row_.resize(length);
  visit_number_type(logits.scalar_type(), [&](auto element) {
    using T = typename decltype(element)::type;
    const T* const end = logits.const_data_ptr<T>() + logits.numel();
    std::transform(end - length, end, row_.begin(), [](T logit) {
      const float value = convert_number<float>(logit);
      return std::isnan(value) ? kNever : value;
    });
  });
  if (options_.repetition_penalty != 1) {
    for (const uint64_t token : seen) {
      if (token >= length) continue;
      float& logit = row_[token];
      logit = logit > 0 ? logit / options_.repetition_penalty : logit * options_.repetition_penalty;
    }
  }
  const auto highest = std::max_element(row_.begin(), row_.end());
  ET_CHECK_OR_RETURN_ERROR(*highest != kNever, InvalidProgram,
                           "logits: all %zu are NaN or negative infinity", length);
  if (options_.temperature == 0 || std::isinf(*highest)) {
    return static_cast<uint64_t>(highest - row_.begin());
  }
  const float most = *highest;
  for (float& value : row_) value = std::exp((value - most) / options_.temperature);
  return draw();
}

/// By row_, which holds probabilities up to a factor; the most likely one has 1.
uint64_t Sampler::draw() {
  order_.resize(row_.size());
  std::iota(order_.begin(), order_.end(), 0);
  const auto more_likely = [&](uint32_t a, uint32_t b) {
    return row_[a] != row_[b] ? row_[a] > row_[b] : a < b;
  };
  if (options_.minp > 0) {
    const auto stays = [&](uint32_t token) { return row_[token] >= options_.minp; };
    order_.erase(std::stable_partition(order_.begin(), order_.end(), stays), order_.end());
  }
  const auto limit = static_cast<size_t>(options_.topk);
  if (limit > 0 && limit < order_.size()) {
    std::nth_element(order_.begin(), order_.begin() + ssize_t(limit) - 1, order_.end(),
                     more_likely);
    order_.resize(limit);
  }
  double total = 0;
  for (const uint32_t token : order_) total += double(row_[token]);
  if (options_.topp < 1) {
    std::sort(order_.begin(), order_.end(), more_likely);
    double sum = 0;
    size_t count = 0;
    while (count < order_.size() && sum < total * double(options_.topp)) {
      sum += double(row_[order_[count++]]);
    }
    order_.resize(count);
    total = sum;
  }
  // Not std::uniform_real_distribution, whose numbers differ among libraries.
  const double place = double(generator_() >> 11) * 0x1p-53 * total;
  double sum = 0;
  for (const uint32_t token : order_) {
    sum += double(row_[token]);
    if (place < sum) return token;
  }
  return *std::max_element(order_.begin(), order_.end(),
                           [&](uint32_t a, uint32_t b) { return row_[a] < row_[b]; });
}

}  // namespace executorch::extension::llm
