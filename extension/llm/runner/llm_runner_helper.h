// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// Makes tokenizers and runners of files.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <unordered_set>
#include <vector>

#include <executorch/extension/llm/runner/constants.h>
#include <executorch/extension/llm/runner/multimodal_runner.h>
#include <executorch/extension/llm/runner/text_llm_runner.h>

namespace executorch::extension::llm {

/// The constant methods of a program; missing ones have their documented defaults, and get_bos_id
/// and get_vocab_size are the tokenizer's. InvalidArgument for a program without
/// `get_max_seq_len`.
runtime::Result<Metadata> get_llm_metadata(tokenizers::Tokenizer* tokenizer, Module* module);

/// The tokens that end a text: those of `get_eos_ids`, or the tokenizer's if the program lacks that
/// method. If the method fails or returns no integers, runners and read_eos_ids() return an error;
/// get_eos_ids() logs it and returns the tokenizer's tokens.
runtime::Result<std::unordered_set<uint64_t>> read_eos_ids(tokenizers::Tokenizer* tokenizer,
                                                           Module* module);
std::unordered_set<uint64_t> get_eos_ids(tokenizers::Tokenizer* tokenizer, Module* module);

/// The tokenizer in a file or folder; null after a log message. The contents decide the format:
/// tokenizer.json, tekken.json and tiktoken (if the build has PCRE2), sentencepiece, llama2.c. The
/// other arguments are for tiktoken, whose files do not name special tokens.
std::unique_ptr<tokenizers::Tokenizer> load_tokenizer(
    const std::string& tokenizer_path,
    std::unique_ptr<std::vector<std::string>> special_tokens = nullptr,
    std::optional<std::string> pattern = std::nullopt, size_t bos_token_index = 0,
    size_t eos_token_index = 1);

/// A runner of the program in `model_path` with the weights in `data_files`. Null, after a log
/// message, for a tokenizer that is null or not loaded, and for a program that does not state its
/// context. A program without `method_name` but with the methods `prefill` and `decode` runs by
/// these.
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
/// The same for a module.
std::unique_ptr<TextLLMRunner> create_text_llm_runner(
    std::unique_ptr<Module> module, std::unique_ptr<tokenizers::Tokenizer> tokenizer,
    float temperature = -1, const std::string& method_name = "forward");

/// A runner of a program with the methods `token_embedding` and `text_decoder`, and encoders for
/// images and audio. Null as above.
std::unique_ptr<MultimodalRunner> create_multimodal_runner(
    const std::string& model_path, std::unique_ptr<tokenizers::Tokenizer> tokenizer,
    std::optional<const std::string> data_path = std::nullopt,
    Module::LoadMode load_mode = Module::LoadMode::File);
std::unique_ptr<MultimodalRunner> create_multimodal_runner(
    std::unique_ptr<Module> module, std::unique_ptr<tokenizers::Tokenizer> tokenizer);

}  // namespace executorch::extension::llm
