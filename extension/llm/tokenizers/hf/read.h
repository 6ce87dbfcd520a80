// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// Parts of the reader of tokenizer.json.
#pragma once

#include <string>

#include <executorch/extension/llm/tokenizers/hf/model.h>
#include <executorch/extension/llm/tokenizers/read/json.h>

namespace tokenizers::internal {

/// Reads normalizer, pre-tokenizer, post-processor and decoder. ParseFailure, after a log message
/// that names it, for a step that is not supported.
Error read_steps(const Json& root, HfModel& model);

inline Error refuse_json(const std::string& what) {
  ET_LOG(Error, "tokenizer.json: %s", what.c_str());
  return Error::ParseFailure;
}

}  // namespace tokenizers::internal
