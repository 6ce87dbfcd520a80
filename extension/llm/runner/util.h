// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// Small helpers of programs around the runners.
#pragma once

#include <cctype>
#include <cstdint>
#include <cstdio>
#include <utility>
#include <vector>

#if defined(__unix__)
#include <sys/resource.h>
#endif

#include <executorch/extension/llm/runner/stats.h>
#include <executorch/extension/module/module.h>
#include <executorch/extension/tensor/tensor.h>
#include <executorch/runtime/core/error.h>
#include <executorch/runtime/core/result.h>
#include <executorch/runtime/platform/log.h>
#include <pytorch/tokenizers/error.h>

/// The value of a tokenizers::Result; if it is an error, returns InvalidArgument from the function.
#define ET_UNWRAP_TOKENIZER(expression)                                              \
  ({                                                                                 \
    auto et_result = (expression);                                                   \
    if (!et_result.ok()) {                                                           \
      ET_LOG(Error, "tokenizer error %u", static_cast<unsigned>(et_result.error())); \
      return ::executorch::runtime::Error::InvalidArgument;                          \
    }                                                                                \
    std::move(*et_result);                                                           \
  })

/// Returns InvalidArgument from the function unless the tokenizers::Error is Ok; a format and its
/// arguments are a log message.
#define ET_CHECK_TK_OK_OR_RETURN_ERROR(error, ...)                                               \
  do {                                                                                           \
    const auto et_error = (error);                                                               \
    if (et_error != ::tokenizers::Error::Ok) {                                                   \
      ET_LOG(Error, "tokenizer error %u", static_cast<unsigned>(et_error));                      \
      ET_CHECK_OK_OR_RETURN_ERROR(::executorch::runtime::Error::InvalidArgument, ##__VA_ARGS__); \
    }                                                                                            \
  } while (0)

namespace executorch::extension::llm {

/// Prints a token's text; skips a single byte that cannot be printed.
inline void safe_printf(const char* piece) {
  if (piece == nullptr || piece[0] == '\0') return;
  const auto first = static_cast<unsigned char>(piece[0]);
  if (piece[1] == '\0' && std::isprint(first) == 0 && std::isspace(first) == 0) return;
  std::fputs(piece, stdout);
}

/// Peak resident memory of the process in bytes; 0 where the system does not report it.
inline size_t get_rss_bytes() {
#if defined(__unix__)
  struct rusage usage;
  if (getrusage(RUSAGE_SELF, &usage) == 0) {
    return static_cast<size_t>(usage.ru_maxrss) * 1024;
  }
#endif
  return 0;
}

/// The second input of a decoder method: `start_pos` alone, or the positions of `seq_len` tokens if
/// the method takes several. The tensor refers to `start_pos` or `positions`.
inline runtime::Result<TensorPtr> populate_start_pos_or_cache_position(
    Module* module, int64_t& start_pos, std::vector<int64_t>& positions, int seq_len,
    const char* method_name = "forward") {
  const auto meta = module->method_meta(method_name);
  ET_CHECK_OR_RETURN_ERROR(meta.ok(), InvalidArgument, "no method %s", method_name);
  const auto input = meta->input_tensor_meta(1);
  ET_CHECK_OR_RETURN_ERROR(input.ok(), InvalidArgument,
                           "%s: expected a tensor of positions as second input", method_name);
  if (input->sizes().empty() || input->sizes()[0] <= 1) {
    return from_blob(&start_pos, {1}, aten::ScalarType::Long);
  }
  ET_CHECK_OR_RETURN_ERROR(seq_len >= 0, InvalidArgument, "%d tokens", seq_len);
  positions.resize(static_cast<size_t>(seq_len));
  for (size_t i = 0; i < positions.size(); ++i) {
    positions[i] = start_pos + static_cast<int64_t>(i);
  }
  return from_blob(positions.data(), {seq_len}, aten::ScalarType::Long);
}

/// A bfloat16 copy of a float32 tensor; InvalidArgument for other tensors.
inline runtime::Result<TensorPtr> convert_to_bfloat16(const TensorPtr& tensor) {
  ET_CHECK_OR_RETURN_ERROR(tensor != nullptr && tensor->scalar_type() == aten::ScalarType::Float,
                           InvalidArgument, "convert_to_bfloat16 takes a float32 tensor");
  return clone_tensor_ptr(*tensor, aten::ScalarType::BFloat16);
}

}  // namespace executorch::extension::llm

// Documented names of the same things.
namespace torch::executor::util {
using ::executorch::extension::llm::get_rss_bytes;
using ::executorch::extension::llm::safe_printf;
using ::executorch::extension::llm::time_in_ms;
}  // namespace torch::executor::util
