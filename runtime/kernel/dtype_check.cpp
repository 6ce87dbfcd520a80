// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
#include <executorch/runtime/core/exec_aten/util/dtype_info.h>
#include <executorch/runtime/kernel/dtype_check.h>

namespace executorch {
namespace ET_RUNTIME_NAMESPACE {
namespace internal {
Error check_dtype(const executorch::aten::Tensor& tensor, uint64_t dtypes, size_t argument) {
  const auto dtype = tensor.scalar_type();
  ET_CHECK_OR_RETURN_ERROR((dtypes >> static_cast<uint32_t>(dtype) & 1) != 0, NotSupported,
                           "argument %zu is a tensor of %s, which this selective build of the "
                           "kernels leaves out (set of dtypes: 0x%llx)",
                           argument, executorch::runtime::toString(dtype),
                           static_cast<unsigned long long>(dtypes));
  return Error::Ok;
}

Error check_dtypes(Span<EValue* const> args, uint64_t dtypes) {
  for (size_t i = 0; i < args.size(); ++i) {
    const EValue* const value = args[i];
    if (value == nullptr) {
      continue;
    }
    if (value->tag == Tag::Tensor) {
      ET_CHECK_OK_OR_RETURN_ERROR(check_dtype(value->payload.as_tensor, dtypes, i));
    } else if (value->tag == Tag::ListTensor) {
      for (const auto& tensor :
           ET_UNWRAP(value->payload.copyable_union.as_tensor_list_ptr->tryGet())) {
        ET_CHECK_OK_OR_RETURN_ERROR(check_dtype(tensor, dtypes, i));
      }
    } else if (value->tag == Tag::ListOptionalTensor) {
      for (const auto& tensor :
           ET_UNWRAP(value->payload.copyable_union.as_list_optional_tensor_ptr->tryGet())) {
        if (tensor.has_value()) {
          ET_CHECK_OK_OR_RETURN_ERROR(check_dtype(*tensor, dtypes, i));
        }
      }
    }
  }
  return Error::Ok;
}

}  // namespace internal
}  // namespace ET_RUNTIME_NAMESPACE
}  // namespace executorch
