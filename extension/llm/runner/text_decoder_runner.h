// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// Executes the decoder of a language model.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>

#include <executorch/extension/llm/runner/io_manager/io_manager.h>
#include <executorch/extension/llm/runner/stats.h>
#include <executorch/extension/llm/sampler/sampler.h>
#include <executorch/extension/module/module.h>
#include <executorch/extension/tensor/tensor_ptr.h>
#include <executorch/runtime/core/result.h>

namespace executorch::extension::llm {

/// Inputs and outputs of a decoder method.
struct DecoderSignature {
  /// 1: without cache, the method takes the whole text; 2: it takes a position besides.
  size_t num_inputs = 0;
  /// The method takes one position for each token instead of the first one.
  bool takes_all_positions = false;
  /// Limit of tokens in one execution.
  int64_t max_tokens = 0;
  /// Length of a row of logits.
  int64_t vocab_size = 0;
};

/// Loads a method whose inputs may be constants of the program or memory of the runner, and checks
/// that it does not write to them. InvalidProgram if it does.
runtime::Error check_inputs_are_read_only(Module& module, const std::string& method);

/// Unsets the first `count` inputs of a method when it ends, because they may end before the module
/// does: a later execution without inputs is InvalidState.
class BorrowedInputs final {
 public:
  BorrowedInputs(Module& module, std::string method, size_t count)
      : module_(module), method_(std::move(method)), count_(count) {}
  ~BorrowedInputs();
  BorrowedInputs(const BorrowedInputs&) = delete;
  BorrowedInputs& operator=(const BorrowedInputs&) = delete;

 private:
  Module& module_;
  const std::string method_;
  const size_t count_;
};

/// Executes a method on BorrowedInputs.
runtime::Result<std::vector<runtime::EValue>> execute_once(
    Module& module, const std::string& method, const std::vector<runtime::EValue>& inputs);

/// Limit of tokens in one execution of a method with this input, whose second dimension counts
/// them; INT32_MAX if the method sets none.
int64_t max_tokens(const runtime::TensorInfo& input);

/// The signature of `method`, whose first input has `rank` dimensions, the second of which counts
/// tokens. InvalidProgram for other methods.
runtime::Result<DecoderSignature> read_decoder_signature(Module& module, const std::string& method,
                                                         size_t rank);

/// Positions of `count` tokens from `start` as `signature` expects them.
TensorPtr make_positions(const DecoderSignature& signature, int64_t start, int64_t count);

class TextDecoderRunner {
 public:
  /// `module` and `io_manager` must outlive the runner. logits_to_token() uses `sampler`, if not
  /// null, instead of one for its temperature; `stats`, if not null, counts the times of sampling.
  explicit TextDecoderRunner(Module* module, IOManager* io_manager,
                             std::string method_name = "forward",
                             std::unique_ptr<Sampler> sampler = nullptr, Stats* stats = nullptr);
  virtual ~TextDecoderRunner() = default;

  /// Loads the method; errors as Module::load_method() and read_decoder_signature().
  virtual runtime::Error load();
  virtual bool is_method_loaded();
  /// Logits of `tokens` [1, T], the first of which is at `start_pos`. They are valid until the next
  /// execution.
  virtual runtime::Result<aten::Tensor> step(TensorPtr& tokens, int64_t start_pos);

  /// Chooses a token by the last row of logits; -1, after a log message, for logits or a
  /// temperature that cannot be used.
  int32_t logits_to_token(const aten::Tensor& logits, float temperature = 0.0f);

  /// Ends a running prefill or generation after the current execution; any thread may call it.
  void stop() { should_stop_ = true; }
  void clear_stop() { should_stop_ = false; }
  bool should_stop() const { return should_stop_; }

  const std::string& method_name() const { return method_name_; }
  /// Uses another method for steps of several tokens.
  void set_prefill_method(std::string name) { prefill_method_name_ = std::move(name); }
  const std::string& prefill_method_name() const { return prefill_method_name_; }
  /// Signature of the method for several tokens; call load() first.
  const DecoderSignature& signature() const { return signature_; }

 protected:
  /// Executes a decoder method through the IOManager.
  runtime::Result<aten::Tensor> execute(const TensorPtr& input, const TensorPtr& positions,
                                        int64_t count);

  Module* const module_;
  IOManager* const io_manager_;
  DecoderSignature signature_;

 private:
  std::string method_name_;
  std::string prefill_method_name_;
  std::unique_ptr<Sampler> sampler_;
  Stats* stats_;
  std::atomic<bool> should_stop_{false};
};

}  // namespace executorch::extension::llm

// Documented name of the same thing.
namespace torch::executor {
using ::executorch::extension::llm::TextDecoderRunner;
}  // namespace torch::executor
