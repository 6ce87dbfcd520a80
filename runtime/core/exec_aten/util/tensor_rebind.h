// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
#pragma once

#include <executorch/runtime/core/error.h>
#include <executorch/runtime/core/exec_aten/exec_aten.h>

namespace executorch {
namespace ET_RUNTIME_NAMESPACE {
namespace internal {

/// Makes `tensor` refer to other memory, which it does not own: `data` holds a dense tensor of
/// these sizes in the tensor's dim order. The sizes become the tensor's capacity, so that nothing
/// can be written past them.
/// @retval Error::NotSupported Another rank, or other sizes of a static tensor.
/// @retval Error::InvalidArgument The memory is misaligned for the elements, or the strides do not
///     match.
[[nodiscard]] Error rebind_tensor(const executorch::aten::Tensor& tensor,
                                  executorch::aten::ArrayRef<executorch::aten::SizesType> sizes,
                                  void* data);

}  // namespace internal
}  // namespace ET_RUNTIME_NAMESPACE
}  // namespace executorch
