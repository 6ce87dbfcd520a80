// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
#include <executorch/extension/llm/runner/llm_runner_helper.h>

#include <utility>

#include <executorch/extension/llm/tokenizers/open_tokenizer.h>
#include <executorch/extension/memory_allocator/no_memory.h>
#include <executorch/runtime/platform/log.h>

namespace executorch::extension::llm {

using runtime::Error;
using runtime::EValue;
using runtime::Result;

namespace {

/// The values of a constant method; none if the program does not have it.
Result<std::vector<EValue>> constants(Module& module, const std::string& name) {
  const auto names = module.method_names();
  ET_CHECK_OK_OR_RETURN_ERROR(names.error());
  if (names->count(name) == 0) return std::vector<EValue>();
  return module.execute(name);
}

Result<std::vector<int64_t>> integers(Module& module, const std::string& name) {
  const auto values = constants(module, name);
  ET_CHECK_OK_OR_RETURN_ERROR(values.error());
  std::vector<int64_t> found;
  for (const EValue& value : *values) {
    ET_CHECK_OR_RETURN_ERROR(value.isInt() || value.isBool(), InvalidProgram,
                             "method '%s': expected integers", name.c_str());
    found.push_back(value.isBool() ? int64_t(value.toBool()) : value.toInt());
  }
  return found;
}

}  // namespace

Result<Metadata> get_llm_metadata(tokenizers::Tokenizer* tokenizer, Module* module) {
  Metadata found = {{"get_max_seq_len", 0},      {"get_max_context_len", 0},
                    {"use_kv_cache", 1},         {"use_sdpa_with_kv_cache", 0},
                    {"enable_dynamic_shape", 0}, {"get_n_layers", 0}};
  for (auto& [name, value] : found) {
    const auto values = integers(*module, name);
    ET_CHECK_OK_OR_RETURN_ERROR(values.error());
    ET_CHECK_OR_RETURN_ERROR(values->size() < 2, InvalidProgram,
                             "method '%s': expected one integer, found %zu", name.c_str(),
                             values->size());
    if (!values->empty()) value = values->front();
  }
  const int64_t length = found["get_max_seq_len"];
  ET_CHECK_OR_RETURN_ERROR(length > 0 && length <= INT32_MAX, InvalidArgument,
                           "expected a program with a constant method 'get_max_seq_len' that gives "
                           "a positive number, found %lld",
                           static_cast<long long>(length));
  if (found["get_max_context_len"] == 0) found["get_max_context_len"] = length;
  const int64_t context = found["get_max_context_len"];
  ET_CHECK_OR_RETURN_ERROR(context > 0 && context <= INT32_MAX, InvalidProgram,
                           "get_max_context_len: expected a positive number, found %lld",
                           static_cast<long long>(context));
  found["get_bos_id"] = int64_t(tokenizer->bos_tok());
  found["get_vocab_size"] = tokenizer->vocab_size();
  return found;
}

Result<std::unordered_set<uint64_t>> get_eos_ids(tokenizers::Tokenizer* tokenizer, Module* module) {
  const auto values = integers(*module, "get_eos_ids");
  ET_CHECK_OK_OR_RETURN_ERROR(values.error());
  std::unordered_set<uint64_t> found(values->begin(), values->end());
  if (found.empty()) found.insert(tokenizer->eos_tok());
  return found;
}

std::unique_ptr<tokenizers::Tokenizer> load_tokenizer(
    const std::string& tokenizer_path, std::unique_ptr<std::vector<std::string>> special_tokens,
    std::optional<std::string> pattern, size_t bos_token_index, size_t eos_token_index) {
  std::unique_ptr<tokenizers::Tokenizer> made;
  const Error error = or_no_memory("a tokenizer", [&] {
    auto opened = tokenizers::internal::open_tokenizer(
        tokenizer_path,
        {std::move(special_tokens), std::move(pattern), bos_token_index, eos_token_index});
    if (!opened.ok()) return Error::InvalidArgument;
    made = std::move(*opened);
    return Error::Ok;
  });
  if (error != Error::Ok) {
    ET_LOG(Error, "tokenizer '%s' cannot be loaded", tokenizer_path.c_str());
  }
  return made;
}

std::unique_ptr<TextLLMRunner> create_text_llm_runner(
    const std::string& model_path, std::unique_ptr<tokenizers::Tokenizer> tokenizer,
    std::vector<std::string> data_files, float temperature,
    std::unique_ptr<runtime::EventTracer> event_tracer, const std::string& method_name,
    Module::LoadMode load_mode) {
  if (tokenizer == nullptr || !tokenizer->is_loaded()) {
    ET_LOG(Error, "create_text_llm_runner: expected a loaded tokenizer");
    return nullptr;
  }
  std::unique_ptr<TextLLMRunner> runner;
  const Error error = or_no_memory("a runner", [&] {
    const long start = time_in_ms();
    auto module = data_files.empty()
                      ? std::make_unique<Module>(model_path, load_mode, std::move(event_tracer))
                      : std::make_unique<Module>(model_path, std::move(data_files), load_mode,
                                                 std::move(event_tracer));
    auto metadata = get_llm_metadata(tokenizer.get(), module.get());
    ET_CHECK_OK_OR_RETURN_ERROR(metadata.error());
    auto eos_ids = get_eos_ids(tokenizer.get(), module.get());
    ET_CHECK_OK_OR_RETURN_ERROR(eos_ids.error());
    runner = std::make_unique<TextLLMRunner>(std::move(module), std::move(tokenizer),
                                             std::move(*metadata), std::move(*eos_ids), temperature,
                                             method_name);
    runner->set_model_load_times(start, time_in_ms());
    return Error::Ok;
  });
  if (error != Error::Ok) {
    ET_LOG(Error, "create_text_llm_runner: '%s' cannot be used: %s", model_path.c_str(),
           runtime::to_string(error));
  }
  return runner;
}

std::unique_ptr<TextLLMRunner> create_text_llm_runner(
    const std::string& model_path, std::unique_ptr<tokenizers::Tokenizer> tokenizer,
    std::optional<const std::string> data_path, float temperature, const std::string& method_name,
    Module::LoadMode load_mode) {
  std::vector<std::string> files;
  if (data_path.has_value() && !data_path->empty()) files.push_back(*data_path);
  return create_text_llm_runner(model_path, std::move(tokenizer), std::move(files), temperature,
                                nullptr, method_name, load_mode);
}

}  // namespace executorch::extension::llm
