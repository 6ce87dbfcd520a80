// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
#pragma once

#include <executorch/runtime/core/error.h>
#include <executorch/runtime/core/exec_aten/exec_aten.h>

namespace executorch {
namespace ET_RUNTIME_NAMESPACE {
namespace internal {

/// Makes `tensor` stand for other memory, which it does not own: `data` holds a dense tensor of
/// these sizes in the tensor's dim order. The sizes are the tensor's capacity from now on, so that
/// nothing can be written past them.
/// @retval Error::NotSupported Another rank, or a static tensor and other sizes.
/// @retval Error::InvalidArgument The memory is not aligned to the elements, or the strides do not
/// fit.
[[nodiscard]] Error rebind_tensor(const executorch::aten::Tensor& tensor,
                                  executorch::aten::ArrayRef<executorch::aten::SizesType> sizes,
                                  void* data);

}  // namespace internal
}  // namespace ET_RUNTIME_NAMESPACE
}  // namespace executorch
