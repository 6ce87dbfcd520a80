// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// A backend that is a whole runtime itself: its payload is a program with the method `forward`.
#include "backends/executor_backend.h"

#include <cstddef>
#include <cstring>
#include <memory>
#include <utility>
#include <vector>

#include <executorch/extension/data_loader/shared_ptr_data_loader.h>
#include <executorch/extension/module/module.h>
#include <executorch/runtime/backend/interface.h>
#include <executorch/runtime/core/exec_aten/exec_aten.h>
#include <executorch/runtime/core/exec_aten/util/tensor_checks.h>
#include <executorch/runtime/platform/log.h>

namespace executorch::demo {
namespace {

using aten::Tensor;
using extension::Module;
using runtime::BackendExecutionContext;
using runtime::BackendInitContext;
using runtime::DelegateHandle;
using runtime::Error;
using runtime::EValue;
using runtime::FreeableBuffer;
using runtime::Result;
using runtime::Span;

Error give_output(const EValue& value, EValue& argument) {
  ET_CHECK_OR_RETURN_ERROR(value.isTensor() && argument.isTensor(), InvalidType,
                           "executor backend: expected tensors as outputs");
  const Tensor& source = value.toTensor();
  Tensor out = argument.toTensor();
  ET_CHECK_OK_OR_RETURN_ERROR(runtime::resize_tensor(out, source.sizes()));
  ET_CHECK_OR_RETURN_ERROR(out.nbytes() == source.nbytes(), InvalidArgument,
                           "executor backend: an output of %zu bytes, expected %zu",
                           source.nbytes(), out.nbytes());
  memcpy(out.mutable_data_ptr(), source.const_data_ptr(), source.nbytes());
  return Error::Ok;
}

class ExecutorBackend final : public runtime::BackendInterface {
 public:
  bool is_available() const override { return true; }

  Result<DelegateHandle*> init(BackendInitContext&, FreeableBuffer* processed,
                               runtime::ArrayRef<runtime::CompileSpec>) const override {
    // A program needs a larger alignment than a payload has.
    std::shared_ptr<void> bytes(
        new std::max_align_t[processed->size() / sizeof(std::max_align_t) + 1],
        [](void* all) { delete[] static_cast<std::max_align_t*>(all); });
    memcpy(bytes.get(), processed->data(), processed->size());
    auto module = std::make_unique<Module>(
        std::make_unique<extension::SharedPtrDataLoader>(std::move(bytes), processed->size()));
    processed->Free();
    ET_CHECK_OK_OR_RETURN_ERROR(module->load_method("forward"));
    return static_cast<DelegateHandle*>(module.release());
  }

  Error execute(BackendExecutionContext&, DelegateHandle* handle,
                Span<EValue*> args) const override {
    Module& module = *static_cast<Module*>(handle);
    const auto meta = module.method_meta("forward");
    ET_CHECK_OK_OR_RETURN_ERROR(meta.error());
    const size_t inputs = meta->num_inputs();
    ET_CHECK_OR_RETURN_ERROR(args.size() == inputs + meta->num_outputs(), InvalidArgument,
                             "executor backend: expected %zu arguments, found %zu",
                             inputs + meta->num_outputs(), args.size());
    std::vector<EValue> given;
    for (size_t i = 0; i < inputs; ++i) {
      given.push_back(*args[i]);
    }
    const auto results = module.execute("forward", given);
    ET_CHECK_OK_OR_RETURN_ERROR(results.error());
    for (size_t i = 0; i < results->size(); ++i) {
      ET_CHECK_OK_OR_RETURN_ERROR(give_output(results.get()[i], *args[inputs + i]));
    }
    return Error::Ok;
  }

  void destroy(DelegateHandle* handle) const override { delete static_cast<Module*>(handle); }
};

}  // namespace

Error register_executor_backend() {
  static ExecutorBackend backend;
  return runtime::register_backend({"ExecutorBackend", &backend});
}

}  // namespace executorch::demo
