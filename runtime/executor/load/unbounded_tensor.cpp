// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// Loads a tensor whose sizes have no bound: unless it is an input, it starts without elements
// and memory.
#include <new>

#include <executorch/runtime/core/exec_aten/util/dim_order_util.h>
#include <executorch/runtime/core/exec_aten/util/tensor_growth.h>
#include <executorch/runtime/core/exec_aten/util/tensor_shape_to_c_string.h>
#include <executorch/runtime/executor/load/value_loader.h>
#include <executorch/runtime/executor/plan/optional_vector.h>
#include <executorch/runtime/executor/plan/tensor_source.h>
#include <executorch/runtime/platform/log.h>

namespace executorch {
namespace ET_RUNTIME_NAMESPACE {
namespace internal {

namespace fb = executorch_flatbuffer;
namespace et = executorch::aten;
using executorch::runtime::internal::grows_unless_input;
using executorch::runtime::internal::items;
using executorch::runtime::internal::text;

#ifdef USE_ATEN_LIB

Error ValueLoader::make_unbounded(const fb::Tensor& tensor, Span<const int32_t> sizes) {
  *next_slot() = make_growing_tensor(static_cast<et::ScalarType>(tensor.scalar_type()), sizes,
                                     items(tensor.dim_order()), dynamic_allocator_,
                                     &block_.growths[used_.growths++]);
  return Error::Ok;
}

#else

Error ValueLoader::make_unbounded(const fb::Tensor& tensor, Span<const int32_t> sizes) {
  TensorGrowth& growth = block_.growths[used_.growths++];
  const size_t rank = sizes.size();
  for (size_t i = 0; i < rank; ++i) {
    growth.sizes[i] = sizes[i];
  }
  auto* dim_order = const_cast<et::DimOrderType*>(items(tensor.dim_order()).data());
  et::StridesType* strides = &block_.strides[used_.strides];
  used_.strides += rank;
  used_.sizes += rank;
  ET_CHECK_OK_OR_RETURN_ERROR(dim_order_to_stride(growth.sizes, dim_order, rank, strides));
  auto* impl = new (next_slot()) et::TensorImpl(
      static_cast<et::ScalarType>(tensor.scalar_type()), static_cast<ssize_t>(rank), growth.sizes,
      nullptr, dim_order, strides, TensorShapeDynamism::DYNAMIC_UNBOUND);
  executorch::runtime::internal::make_growing(*impl, dynamic_allocator_, &growth);
  return Error::Ok;
}

#endif  // USE_ATEN_LIB

Error ValueLoader::load_unbounded(const fb::Tensor& tensor) {
  if ((block_.flags[used_.value] & kInputValue) != 0 || !grows_unless_input(tensor)) {
    return load_bounded(tensor);
  }
  const auto file_sizes = items(tensor.sizes());
  ET_CHECK_OR_RETURN_ERROR(dynamic_allocator_ != nullptr, MemoryAllocationFailed,
                           "method '%s', tensor %zu of sizes %s (0: without bound): a "
                           "MemoryManager with a dynamic allocator is needed, none was given",
                           text(plan_.name()), used_.value,
                           tensor_shape_to_c_string(file_sizes).data());
  bool is_empty = false;
  for (const int32_t size : file_sizes) {
    is_empty |= size == 0;
  }
  // Without memory it has no elements, whatever its initial sizes in the file are.
  constexpr int32_t kZeros[executorch::runtime::kTensorDimensionLimit] = {};
  return make_unbounded(tensor,
                        is_empty ? file_sizes : Span<const int32_t>(kZeros, file_sizes.size()));
}

Error load_unbounded_tensor(ValueLoader& loader, const fb::Tensor& tensor) {
  return loader.load_unbounded(tensor);
}

}  // namespace internal
}  // namespace ET_RUNTIME_NAMESPACE
}  // namespace executorch

// Targets that link unbounded tensors refer to this symbol, which pulls in this object file.
extern "C" {
extern const int executorch_link_unbounded_tensors;
}
const int executorch_link_unbounded_tensors = 0;
