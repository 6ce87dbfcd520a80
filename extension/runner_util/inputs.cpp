// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
#include <executorch/extension/runner_util/inputs.h>

#include <stdlib.h>
#include <string.h>

#include <executorch/extension/memory_allocator/no_memory.h>
#include <executorch/extension/tensor/element_conversion.h>
#include <executorch/runtime/core/exec_aten/util/borrowed_tensor.h>
#include <executorch/runtime/core/exec_aten/util/dtype_info.h>

namespace executorch::extension {
namespace {

using runtime::Error;
using runtime::Result;
using runtime::TensorInfo;
using Buffer = std::unique_ptr<void, void (*)(void*)>;

/// Sets input `index` to the bytes at `data`.
Error set_tensor(runtime::Method& method, size_t index, const TensorInfo& info, void* data) {
  runtime::BorrowedTensor tensor;
  ET_CHECK_OK_OR_RETURN_ERROR(tensor.describe(
      ET_UNWRAP(runtime::TensorLayout::create(info.sizes(), info.dim_order(), info.scalar_type())),
      data));
  return method.set_input(tensor.tensor(), index);
}

Error fill_with_ones(const TensorInfo& info, size_t index, void* data) {
  const bool is_number = visit_number_type(info.scalar_type(), [&](auto element) {
    using T = typename decltype(element)::type;
    const size_t count = info.nbytes() / sizeof(T);
    for (size_t i = 0; i < count; ++i) {
      static_cast<T*>(data)[i] = convert_number<T>(1);
    }
  });
  ET_CHECK_OR_RETURN_ERROR(is_number, NotSupported,
                           "input %zu: dtype %s has no default of 1: pass its bytes", index,
                           runtime::toString(info.scalar_type()));
  return Error::Ok;
}

/// The indices of the inputs that are tensors.
Result<std::vector<size_t>> tensor_inputs(const runtime::MethodMeta& meta) {
  std::vector<size_t> indices;
  for (size_t i = 0; i < meta.num_inputs(); ++i) {
    if (ET_UNWRAP(meta.input_tag(i)) == runtime::Tag::Tensor) {
      indices.push_back(i);
    }
  }
  return indices;
}

Result<BufferCleanup> prepare(runtime::Method& method, const PrepareInputTensorsOptions& options,
                              const std::vector<std::pair<char*, size_t>>& input_buffers) {
  const runtime::MethodMeta meta = method.method_meta();
  ET_CHECK_OR_RETURN_ERROR(meta.num_inputs() <= options.max_inputs, InvalidArgument,
                           "%zu inputs, more than the %zu allowed", meta.num_inputs(),
                           options.max_inputs);
  const std::vector<size_t> indices = ET_UNWRAP(tensor_inputs(meta));
  ET_CHECK_OR_RETURN_ERROR(input_buffers.empty() || input_buffers.size() == indices.size(),
                           InvalidArgument, "'%s' takes %zu tensors, %zu were given", meta.name(),
                           indices.size(), input_buffers.size());
  std::vector<Buffer> buffers;
  size_t left = options.max_total_allocation_size;
  for (size_t i = 0; i < indices.size(); ++i) {
    const size_t index = indices[i];
    const TensorInfo info = ET_UNWRAP(meta.input_tensor_meta(index));
    const size_t size = info.nbytes();
    ET_CHECK_OR_RETURN_ERROR(size <= left, InvalidArgument,
                             "inputs take more than the %zu bytes allowed",
                             options.max_total_allocation_size);
    left -= size;
    Buffer buffer(malloc(size == 0 ? 1 : size), free);
    ET_CHECK_OR_RETURN_ERROR(buffer != nullptr, MemoryAllocationFailed,
                             "input %zu: no memory for %zu bytes", index, size);
    if (input_buffers.empty()) {
      ET_CHECK_OK_OR_RETURN_ERROR(fill_with_ones(info, index, buffer.get()));
    } else {
      ET_CHECK_OR_RETURN_ERROR(input_buffers[i].second == size, InvalidArgument,
                               "input %zu: expected %zu bytes, found %zu", index, size,
                               input_buffers[i].second);
      memcpy(buffer.get(), input_buffers[i].first, size);
    }
    ET_CHECK_OK_OR_RETURN_ERROR(set_tensor(method, index, info, buffer.get()));
    buffers.push_back(std::move(buffer));
  }
  return BufferCleanup(std::move(buffers));
}

}  // namespace

BufferCleanup::BufferCleanup(runtime::Span<void*> buffers) {
  buffers_.reserve(buffers.size() + 1);
  buffers_.emplace_back(buffers.data(), free);
  for (void* buffer : buffers) {
    buffers_.emplace_back(buffer, free);
  }
}

Result<BufferCleanup> prepare_input_tensors(
    runtime::Method& method, PrepareInputTensorsOptions options,
    const std::vector<std::pair<char*, size_t>>& input_buffers) {
  auto inputs =
      or_no_memory("a list of inputs", [&] { return prepare(method, options, input_buffers); });
  if (!inputs.ok()) {
    // Inputs that are set use memory that is freed now.
    ET_CHECK_OK_OR_RETURN_ERROR(method.release_inputs());
  }
  return inputs;
}

}  // namespace executorch::extension
