// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
#pragma once

#include <cstdint>
#include <optional>

#include <executorch/runtime/platform/log.h>
#include <pytorch/tokenizers/error.h>

namespace tokenizers::internal {

/// Returns EncodeFailure, after a log message, if a text should begin or end with tokens that the
/// tokenizer does not have.
inline Error check_ends(int8_t num_bos, const std::optional<uint64_t>& bos, int8_t num_eos,
                        const std::optional<uint64_t>& eos) {
  const bool lacks_bos = num_bos > 0 && !bos.has_value();
  if (!lacks_bos && (num_eos <= 0 || eos.has_value())) return Error::Ok;
  ET_LOG(Error, "tokenizer: no known token %s texts", lacks_bos ? "begins" : "ends");
  return Error::EncodeFailure;
}

}  // namespace tokenizers::internal
