// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
#pragma once

#include <string>
#include <vector>

#include <executorch/extension/module/module.h>
#include <executorch/extension/tensor/tensor_ptr.h>
#include <executorch/runtime/core/error.h>
#include <executorch/runtime/core/evalue.h>
#include <executorch/runtime/core/result.h>

namespace executorch::extension::llm {

/// Makes the inputs of decoder methods and receives their outputs. Derive from it for methods whose
/// inputs are not tokens and positions, for example with a cache outside of the program.
class IOManager {
 public:
  explicit IOManager(Module& module) : module_(module) {}
  virtual ~IOManager() = default;

  /// Prepares for two methods, which may be the same.
  virtual runtime::Error load(const std::string& prefill_method, const std::string& decode_method) {
    static_cast<void>(prefill_method);
    static_cast<void>(decode_method);
    return runtime::Error::Ok;
  }
  runtime::Error load() { return load("forward", "forward"); }

  /// Called when a text starts again with an empty cache.
  virtual runtime::Error reset(const std::string& prefill_method,
                               const std::string& decode_method) {
    static_cast<void>(prefill_method);
    static_cast<void>(decode_method);
    return runtime::Error::Ok;
  }
  runtime::Error reset() { return reset("forward", "forward"); }

  /// The inputs of a method for several tokens.
  virtual runtime::Result<std::vector<runtime::EValue>> prepare_prefill(
      const TensorPtr& input, const TensorPtr& start_pos, const std::string& prefill_method) {
    return inputs_of(input, start_pos, prefill_method);
  }
  runtime::Result<std::vector<runtime::EValue>> prepare_prefill(const TensorPtr& input,
                                                                const TensorPtr& start_pos) {
    return prepare_prefill(input, start_pos, "forward");
  }
  /// The inputs of a method for one token.
  virtual runtime::Result<std::vector<runtime::EValue>> prepare_decode(
      const TensorPtr& input, const TensorPtr& start_pos, const std::string& decode_method) {
    return inputs_of(input, start_pos, decode_method);
  }
  runtime::Result<std::vector<runtime::EValue>> prepare_decode(const TensorPtr& input,
                                                               const TensorPtr& start_pos) {
    return prepare_decode(input, start_pos, "forward");
  }

  /// Receives the outputs of a method.
  virtual runtime::Error update_prefill(const std::vector<runtime::EValue>& outputs,
                                        const std::string& prefill_method) {
    static_cast<void>(outputs);
    static_cast<void>(prefill_method);
    return runtime::Error::Ok;
  }
  runtime::Error update_prefill(const std::vector<runtime::EValue>& outputs) {
    return update_prefill(outputs, "forward");
  }
  virtual runtime::Error update_decode(const std::vector<runtime::EValue>& outputs,
                                       const std::string& decode_method) {
    static_cast<void>(outputs);
    static_cast<void>(decode_method);
    return runtime::Error::Ok;
  }
  runtime::Error update_decode(const std::vector<runtime::EValue>& outputs) {
    return update_decode(outputs, "forward");
  }

 protected:
  Module& module_;

 private:
  /// Tokens and position; tokens alone for a method with one input.
  runtime::Result<std::vector<runtime::EValue>> inputs_of(const TensorPtr& input,
                                                          const TensorPtr& start_pos,
                                                          const std::string& method) {
    const auto meta = module_.method_meta(method);
    if (!meta.ok()) return meta.error();
    if (meta->num_inputs() == 1) return std::vector<runtime::EValue>{input};
    return std::vector<runtime::EValue>{input, start_pos};
  }
};

}  // namespace executorch::extension::llm
