// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
#include <executorch/extension/asr/runner/token_choice.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include <executorch/runtime/core/exec_aten/util/dtype_info.h>
#include <executorch/runtime/platform/log.h>

namespace executorch::extension::asr {

using aten::ScalarType;
using runtime::Error;
using runtime::Result;

namespace {

constexpr float kNever = -std::numeric_limits<float>::infinity();

template <typename T>
void read_last_row(const aten::Tensor& logits, std::vector<float>& row) {
  const T* const end = logits.const_data_ptr<T>() + logits.numel();
  std::transform(end - row.size(), end, row.begin(), [](T logit) {
    const auto value = static_cast<float>(logit);
    return std::isnan(value) ? kNever : value;
  });
}

}  // namespace

Result<int64_t> TokenChoice::choose(const aten::Tensor& logits) {
  ET_CHECK_OR_RETURN_ERROR(
      logits.dim() > 0 && logits.numel() > 0 && logits.const_data_ptr() != nullptr, InvalidProgram,
      "logits: expected elements, found a tensor of rank %zd "
      "with %zd elements",
      static_cast<ssize_t>(logits.dim()), static_cast<ssize_t>(logits.numel()));
  row_.resize(static_cast<size_t>(logits.size(logits.dim() - 1)));
  switch (logits.scalar_type()) {
    case ScalarType::Float:
      read_last_row<float>(logits, row_);
      break;
    case ScalarType::Half:
      read_last_row<aten::Half>(logits, row_);
      break;
    case ScalarType::BFloat16:
      read_last_row<aten::BFloat16>(logits, row_);
      break;
    default:
      ET_LOG(Error, "logits: expected Float, Half or BFloat16, found %s",
             runtime::toString(logits.scalar_type()));
      return Error::InvalidProgram;
  }
  const auto highest = std::max_element(row_.begin(), row_.end());
  ET_CHECK_OR_RETURN_ERROR(*highest != kNever, InvalidProgram,
                           "logits: all %zu are NaN or negative infinity", row_.size());
  if (temperature_ == 0.0f || std::isinf(*highest)) {
    return highest - row_.begin();
  }
  const float maximum = *highest;
  for (float& value : row_) {
    value = std::exp((value - maximum) / temperature_);
  }
  return std::discrete_distribution<int64_t>(row_.begin(), row_.end())(generator_);
}

}  // namespace executorch::extension::asr
