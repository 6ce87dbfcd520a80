// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// From files to runners.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <executorch/extension/llm/runner/text_llm_runner.h>

namespace executorch::extension::llm {

/// The tokenizer in a file or folder; null after a log message. The contents decide which format
/// it is: tokenizer.json and tiktoken (where the build has PCRE2), sentencepiece, llama2.c. The
/// other arguments are for tiktoken, whose files do not name special tokens.
std::unique_ptr<tokenizers::Tokenizer> load_tokenizer(
    const std::string& tokenizer_path,
    std::unique_ptr<std::vector<std::string>> special_tokens = nullptr,
    std::optional<std::string> pattern = std::nullopt, size_t bos_token_index = 0,
    size_t eos_token_index = 1);

/// A runner of the program in `model_path`, with weights of `data_files`; null, after a log
/// message, for a tokenizer that is null or not loaded, and for a program that says nothing of its
/// context.
std::unique_ptr<TextLLMRunner> create_text_llm_runner(
    const std::string& model_path, std::unique_ptr<tokenizers::Tokenizer> tokenizer,
    std::vector<std::string> data_files = {}, float temperature = -1,
    std::unique_ptr<runtime::EventTracer> event_tracer = nullptr,
    const std::string& method_name = "forward",
    Module::LoadMode load_mode = Module::LoadMode::MmapUseMlockIgnoreErrors);
std::unique_ptr<TextLLMRunner> create_text_llm_runner(
    const std::string& model_path, std::unique_ptr<tokenizers::Tokenizer> tokenizer,
    std::optional<const std::string> data_path, float temperature = -1,
    const std::string& method_name = "forward",
    Module::LoadMode load_mode = Module::LoadMode::MmapUseMlockIgnoreErrors);

}  // namespace executorch::extension::llm
