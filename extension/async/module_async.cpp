// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
#include <executorch/extension/async/execution.h>
#include <executorch/extension/module/module.h>

namespace executorch::extension {

runtime::Result<runtime::Execution> Module::execute_async(
    const std::string& method_name, const std::vector<runtime::EValue>& input_values,
    runtime::TaskPool& pool) {
  ET_CHECK_OK_OR_RETURN_ERROR(set_inputs(method_name, input_values));
  runtime::Method* const method = ET_UNWRAP(this->method(method_name));
  return method->execute_async(pool);
}

}  // namespace executorch::extension
