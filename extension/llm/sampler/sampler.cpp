// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
#include <executorch/extension/llm/sampler/sampler.h>

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
             "a finite number of 0 or more", double(options.temperature)) &&
      expect(options.topp > 0 && options.topp <= 1, "topp", "more than 0 and at most 1",
             double(options.topp)) &&
      expect(options.topk >= 0, "topk", "0 or more", options.topk) &&
      expect(options.minp >= 0 && options.minp <= 1, "minp", "from 0 to 1", double(options.minp)) &&
      expect(std::isfinite(options.repetition_penalty) && options.repetition_penalty > 0,
             "repetition_penalty", "a finite positive number", double(options.repetition_penalty));
  return holds ? Error::Ok : Error::InvalidArgument;
}

Sampler::Sampler(const SamplingOptions& options)
    : options_(options), generator_(options.seed != 0 ? options.seed : std::random_device{}()) {}

Sampler::Sampler(int32_t vocab_size, float temperature, float topp, unsigned long long rng_seed)
    : Sampler(SamplingOptions{temperature, topp, 0, 0, 1, rng_seed}) {
  vocab_size_ = static_cast<size_t>(std::max(vocab_size, 0));
}

Result<uint64_t> Sampler::sample(const aten::Tensor& logits) {
  const ScalarType type = logits.scalar_type();
  ET_CHECK_OR_RETURN_ERROR(
      logits.dim() > 0 && logits.numel() > 0 && logits.const_data_ptr() != nullptr &&
          (runtime::isFloatingType(type) || type == ScalarType::UInt16),
      InvalidProgram, "logits: expected floating point elements in memory, found %zd of %s",
      static_cast<ssize_t>(logits.numel()), runtime::toString(type));
  const auto length = static_cast<size_t>(logits.size(logits.dim() - 1));
  row_.resize(length);
  visit_number_type(type, [&](auto element) {
    using T = typename decltype(element)::type;
    const T* const end = logits.const_data_ptr<T>() + logits.numel();
    std::transform(end - length, end, row_.begin(),
                   [](T logit) { return convert_number<float>(logit); });
  });
  return choose();
}

Result<uint64_t> Sampler::choose() {
  if (processor_) {
    ET_CHECK_OK_OR_RETURN_ERROR(processor_(runtime::Span<float>(row_.data(), row_.size())));
  }
  for (float& logit : row_) {
    if (std::isnan(logit)) logit = kNever;
  }
  if (options_.repetition_penalty != 1) {
    for (const uint64_t token : seen_) {
      if (token >= row_.size()) continue;
      float& logit = row_[token];
      logit = logit > 0 ? logit / options_.repetition_penalty : logit * options_.repetition_penalty;
    }
  }
  const auto highest = std::max_element(row_.begin(), row_.end());
  ET_CHECK_OR_RETURN_ERROR(highest != row_.end() && *highest != kNever, InvalidProgram,
                           "logits: all %zu are NaN or negative infinity", row_.size());
  if (options_.temperature == 0 || std::isinf(*highest)) {
    return static_cast<uint64_t>(highest - row_.begin());
  }
  const float maximum = *highest;
  for (float& value : row_) value = std::exp((value - maximum) / options_.temperature);
  return draw();
}

/// Draws a token. row_ holds unnormalized probabilities; the highest one is 1.
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
