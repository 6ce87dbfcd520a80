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

/// Returns the values of a constant method; none if the program lacks it.
Result<std::vector<EValue>> constants(Module& module, const std::string& name) {
  const auto names = module.method_names();
  ET_CHECK_OK_OR_RETURN_ERROR(names.error());
  if (names->count(name) == 0) return std::vector<EValue>();
  return module.execute(name);
}

Result<std::vector<int64_t>> integers(Module& module, const std::string& name) {
  const auto values = constants(module, name);
  ET_CHECK_OK_OR_RETURN_ERROR(values.error());
  std::vector<int64_t> numbers;
  for (const EValue& value : *values) {
    ET_CHECK_OR_RETURN_ERROR(value.isInt() || value.isBool(), InvalidProgram,
                             "method '%s': expected integers", name.c_str());
    numbers.push_back(value.isBool() ? int64_t(value.toBool()) : value.toInt());
  }
  return numbers;
}

}  // namespace

Result<Metadata> get_llm_metadata(tokenizers::Tokenizer* tokenizer, Module* module) {
  Metadata metadata = {{kMaxSeqLen, 0},          {kMaxContextLen, 0}, {kUseKVCache, 1},
                       {kUseSDPAWithKVCache, 0}, {kNumLayers, 0},     {kEnableDynamicShape, 0},
                       {kSlidingWindow, 0}};
  for (auto& [name, value] : metadata) {
    const auto values = integers(*module, name);
    ET_CHECK_OK_OR_RETURN_ERROR(values.error());
    ET_CHECK_OR_RETURN_ERROR(values->size() < 2, InvalidProgram,
                             "method '%s': expected one integer, found %zu", name.c_str(),
                             values->size());
    if (!values->empty()) value = values->front();
  }
  const int64_t length = metadata[kMaxSeqLen];
  ET_CHECK_OR_RETURN_ERROR(length > 0 && length <= INT32_MAX, InvalidArgument,
                           "expected a program with a constant method 'get_max_seq_len' that gives "
                           "a positive number, found %lld",
                           static_cast<long long>(length));
  if (metadata[kMaxContextLen] == 0) metadata[kMaxContextLen] = length;
  const int64_t context = metadata[kMaxContextLen];
  ET_CHECK_OR_RETURN_ERROR(context > 0 && context <= INT32_MAX, InvalidProgram,
                           "get_max_context_len: expected a positive number, found %lld",
                           static_cast<long long>(context));
  metadata[kBosId] = int64_t(tokenizer->bos_tok());
  metadata[kVocabSize] = tokenizer->vocab_size();
  return metadata;
}

Result<std::unordered_set<uint64_t>> read_eos_ids(tokenizers::Tokenizer* tokenizer,
                                                  Module* module) {
  const auto values = integers(*module, kEosIds);
  ET_CHECK_OK_OR_RETURN_ERROR(values.error());
  std::unordered_set<uint64_t> ids(values->begin(), values->end());
  if (ids.empty()) ids.insert(tokenizer->eos_tok());
  return ids;
}

std::unordered_set<uint64_t> get_eos_ids(tokenizers::Tokenizer* tokenizer, Module* module) {
  auto ids = read_eos_ids(tokenizer, module);
  if (ids.ok()) return std::move(*ids);
  ET_LOG(Error, "%s: %s; the tokenizer's token ends texts", kEosIds,
         runtime::to_string(ids.error()));
  return {tokenizer->eos_tok()};
}

std::unique_ptr<tokenizers::Tokenizer> load_tokenizer(
    const std::string& tokenizer_path, std::unique_ptr<std::vector<std::string>> special_tokens,
    std::optional<std::string> pattern, size_t bos_token_index, size_t eos_token_index) {
  std::unique_ptr<tokenizers::Tokenizer> result;
  const Error error = or_no_memory("a tokenizer", [&] {
    auto opened = tokenizers::internal::open_tokenizer(
        tokenizer_path,
        {std::move(special_tokens), std::move(pattern), bos_token_index, eos_token_index});
    if (!opened.ok()) return Error::InvalidArgument;
    result = std::move(*opened);
    return Error::Ok;
  });
  if (error != Error::Ok) {
    ET_LOG(Error, "tokenizer '%s' cannot be loaded", tokenizer_path.c_str());
  }
  return result;
}

namespace {

constexpr const char* kPrefill = "prefill";
constexpr const char* kDecode = "decode";

/// Runs `make` and returns its runner; null after a log message.
template <typename Runner, typename Make>
std::unique_ptr<Runner> make_runner(const char* what, tokenizers::Tokenizer* tokenizer,
                                    Make&& make) {
  if (tokenizer == nullptr || !tokenizer->is_loaded()) {
    ET_LOG(Error, "%s: expected a loaded tokenizer", what);
    return nullptr;
  }
  std::unique_ptr<Runner> runner;
  const Error error = or_no_memory("a runner", [&] { return make(runner); });
  if (error != Error::Ok) {
    ET_LOG(Error, "%s: the program cannot be used: %s", what, runtime::to_string(error));
  }
  return runner;
}

using EosIds = std::unique_ptr<std::unordered_set<uint64_t>>;

Result<EosIds> owned_eos_ids(tokenizers::Tokenizer* tokenizer, Module* module) {
  auto ids = read_eos_ids(tokenizer, module);
  ET_CHECK_OK_OR_RETURN_ERROR(ids.error());
  return std::make_unique<std::unordered_set<uint64_t>>(std::move(*ids));
}

}  // namespace

std::unique_ptr<TextLLMRunner> create_text_llm_runner(
    std::unique_ptr<Module> module, std::unique_ptr<tokenizers::Tokenizer> tokenizer,
    float temperature, const std::string& method_name) {
  return make_runner<TextLLMRunner>(
      "create_text_llm_runner", tokenizer.get(), [&](std::unique_ptr<TextLLMRunner>& runner) {
        const long start = time_in_ms();
        const auto names = module->method_names();
        ET_CHECK_OK_OR_RETURN_ERROR(names.error());
        // The default is forward; a program may have two methods in its place.
        const bool has_two = method_name == kForwardMethod && names->count(kForwardMethod) == 0 &&
                             names->count(kPrefill) != 0 && names->count(kDecode) != 0;
        // The two methods read and write one cache.
        if (has_two) ET_CHECK_OK_OR_RETURN_ERROR(module->share_memory_arenas());
        auto metadata = get_llm_metadata(tokenizer.get(), module.get());
        ET_CHECK_OK_OR_RETURN_ERROR(metadata.error());
        auto eos_ids = owned_eos_ids(tokenizer.get(), module.get());
        ET_CHECK_OK_OR_RETURN_ERROR(eos_ids.error());
        auto stats = std::make_unique<Stats>();
        auto io_manager = std::make_unique<IOManager>(*module);
        auto decoder = std::make_unique<TextDecoderRunner>(
            module.get(), io_manager.get(), has_two ? kDecode : method_name, nullptr, stats.get());
        if (has_two) decoder->set_prefill_method(kPrefill);
        const bool uses_cache = metadata->at(kUseKVCache) != 0;
        auto prefiller = std::make_unique<TextPrefiller>(
            decoder.get(), uses_cache, metadata->at(kEnableDynamicShape) != 0 || has_two,
            metadata->at(kMaxSeqLen));
        auto generator = std::make_unique<TextTokenGenerator>(
            tokenizer.get(), decoder.get(), uses_cache, std::move(*eos_ids), stats.get());
        runner = std::make_unique<TextLLMRunner>(
            std::move(*metadata), std::move(tokenizer), std::move(module), std::move(decoder),
            std::move(prefiller), std::move(io_manager), std::move(generator), std::move(stats),
            temperature);
        runner->set_model_load_times(start, time_in_ms());
        return Error::Ok;
      });
}

std::unique_ptr<TextLLMRunner> create_text_llm_runner(
    const std::string& model_path, std::unique_ptr<tokenizers::Tokenizer> tokenizer,
    std::vector<std::string> data_files, float temperature,
    std::unique_ptr<runtime::EventTracer> event_tracer, const std::string& method_name,
    Module::LoadMode load_mode) {
  auto module = data_files.empty()
                    ? std::make_unique<Module>(model_path, load_mode, std::move(event_tracer))
                    : std::make_unique<Module>(model_path, std::move(data_files), load_mode,
                                               std::move(event_tracer));
  return create_text_llm_runner(std::move(module), std::move(tokenizer), temperature, method_name);
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

std::unique_ptr<MultimodalRunner> create_multimodal_runner(
    std::unique_ptr<Module> module, std::unique_ptr<tokenizers::Tokenizer> tokenizer) {
  return make_runner<MultimodalRunner>(
      "create_multimodal_runner", tokenizer.get(), [&](std::unique_ptr<MultimodalRunner>& runner) {
        auto metadata = get_llm_metadata(tokenizer.get(), module.get());
        ET_CHECK_OK_OR_RETURN_ERROR(metadata.error());
        auto eos_ids = owned_eos_ids(tokenizer.get(), module.get());
        ET_CHECK_OK_OR_RETURN_ERROR(eos_ids.error());
        auto stats = std::make_unique<Stats>();
        auto io_manager = std::make_unique<IOManager>(*module);
        auto decoder = std::make_unique<MultimodalDecoderRunner>(module.get(), io_manager.get());
        auto prefiller = std::make_unique<MultimodalPrefiller>(module.get(), decoder.get(),
                                                               tokenizer.get(), io_manager.get());
        auto generator = std::make_unique<TextTokenGenerator>(tokenizer.get(), decoder.get(), true,
                                                              std::move(*eos_ids), stats.get());
        runner = std::make_unique<MultimodalRunner>(
            std::move(*metadata), std::move(tokenizer), std::move(module), std::move(decoder),
            std::move(prefiller), std::move(io_manager), std::move(generator), std::move(stats));
        return Error::Ok;
      });
}

std::unique_ptr<MultimodalRunner> create_multimodal_runner(
    const std::string& model_path, std::unique_ptr<tokenizers::Tokenizer> tokenizer,
    std::optional<const std::string> data_path, Module::LoadMode load_mode) {
  auto module = data_path.has_value() && !data_path->empty()
                    ? std::make_unique<Module>(model_path, *data_path, load_mode)
                    : std::make_unique<Module>(model_path, load_mode);
  return create_multimodal_runner(std::move(module), std::move(tokenizer));
}

}  // namespace executorch::extension::llm
