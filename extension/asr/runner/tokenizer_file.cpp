// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
#include <memory>
#include <utility>

#include <executorch/extension/asr/runner/runner.h>
#include <executorch/extension/llm/runner/llm_runner_helper.h>

namespace executorch::extension::asr {

using runtime::Error;

AsrRunner::AsrRunner(const std::string& module_path, const std::optional<std::string>& data_path,
                     const std::string& tokenizer_path)
    : AsrRunner(module_path, data_path) {
  load_tokenizer_ = [tokenizer_path](AsrRunner& runner) {
    std::shared_ptr<tokenizers::Tokenizer> tokenizer = llm::load_tokenizer(tokenizer_path);
    if (tokenizer == nullptr) {
      return Error::InvalidArgument;
    }
    runner.tokenizer_end_ = static_cast<int64_t>(tokenizer->eos_tok());
    runner.decode_ = decode_with(std::move(tokenizer));
    return Error::Ok;
  };
}

}  // namespace executorch::extension::asr
