// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
#include <executorch/extension/llm/runner/text_decoder_runner.h>
#include <executorch/runtime/platform/log.h>

namespace executorch::extension::llm {

using runtime::Error;
using runtime::EValue;
using runtime::Result;

Error check_inputs_are_read_only(Module& module, const std::string& method) {
  const auto loaded = module.method(method);
  ET_CHECK_OK_OR_RETURN_ERROR(loaded.error());
  for (size_t i = 0; i < (*loaded)->inputs_size(); ++i) {
    ET_CHECK_OR_RETURN_ERROR(!(*loaded)->writes_to_given_input(i), InvalidProgram,
                             "method '%s': it writes to its input %zu", method.c_str(), i);
  }
  return Error::Ok;
}

BorrowedInputs::~BorrowedInputs() {
  for (size_t i = 0; i < count_ && module_.is_method_loaded(method_); ++i) {
    // Fails for inputs that the method lacks, which the execution has refused.
    (void)module_.set_input(method_, EValue(), i);
  }
}

Result<std::vector<EValue>> execute_once(Module& module, const std::string& method,
                                         const std::vector<EValue>& inputs) {
  const BorrowedInputs borrowed(module, method, inputs.size());
  return module.execute(method, inputs);
}

}  // namespace executorch::extension::llm
