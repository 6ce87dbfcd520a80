// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// A method in memory of fixed size, as a device without a heap runs it.
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <executorch/extension/data_loader/buffer_data_loader.h>
#include <executorch/runtime/executor/memory_manager.h>
#include <executorch/runtime/executor/method.h>
#include <executorch/runtime/executor/program.h>

namespace executorch::testing {

/// All memory that a method may use; `Sizes` limits it.
struct StaticMemory {
  static constexpr size_t kMax = 1 << 17;
  static constexpr size_t kMaxBuffers = 4;
  static constexpr size_t kMaxTensors = 8;

  alignas(64) uint8_t program[kMax];
  alignas(64) uint8_t method[kMax];
  alignas(64) uint8_t planned[kMaxBuffers][kMax];
  alignas(64) uint8_t temp[kMax];
  alignas(64) uint8_t inputs[kMax];
  alignas(64) uint8_t outputs[kMaxTensors][kMax];
};

/// Bytes of each piece of memory.
struct Sizes {
  size_t method = 0;
  size_t planned[StaticMemory::kMaxBuffers] = {};
  size_t buffers = 0;
  size_t temp = 0;
};

/// Result of an execution: the concatenated bytes of all output tensors.
struct Outcome {
  uint8_t bytes[StaticMemory::kMax];
  size_t size = 0;
};

/// Sets input `index` to zeros, if it is a tensor.
inline runtime::Error set_to_zeros(runtime::Method& method, size_t index, StaticMemory& memory) {
  const runtime::MethodMeta meta = method.method_meta();
  if (ET_UNWRAP(meta.input_tag(index)) != runtime::Tag::Tensor) {
    return runtime::Error::Ok;
  }
  const runtime::TensorInfo info = ET_UNWRAP(meta.input_tensor_meta(index));
  aten::TensorImpl impl(info.scalar_type(), static_cast<ssize_t>(info.sizes().size()),
                        const_cast<aten::SizesType*>(info.sizes().data()), memory.inputs,
                        const_cast<aten::DimOrderType*>(info.dim_order().data()));
  return method.set_input(aten::Tensor(&impl), index);
}

/// Loads a method, executes it on zeros, and copies its outputs.
inline runtime::Error run_on(const runtime::Program& program, const char* name,
                             runtime::MemoryManager& manager, StaticMemory& memory,
                             Outcome* outcome) {
  runtime::Method method = ET_UNWRAP(program.load_method(name, &manager));
  const runtime::MethodMeta meta = method.method_meta();
  for (size_t i = 0; i < method.inputs_size(); ++i) {
    ET_CHECK_OK_OR_RETURN_ERROR(set_to_zeros(method, i, memory));
  }
  for (size_t i = 0; i < method.outputs_size(); ++i) {
    const runtime::TensorInfo info = ET_UNWRAP(meta.output_tensor_meta(i));
    if (!info.is_memory_planned()) {
      ET_CHECK_OK_OR_RETURN_ERROR(method.set_output_data_ptr(memory.outputs[i], info.nbytes(), i));
    }
  }
  ET_CHECK_OK_OR_RETURN_ERROR(method.execute());
  outcome->size = 0;
  for (size_t i = 0; i < method.outputs_size(); ++i) {
    const aten::Tensor& output = method.get_output(i).toTensor();
    memcpy(outcome->bytes + outcome->size, output.const_data_ptr(), output.nbytes());
    outcome->size += output.nbytes();
  }
  return runtime::Error::Ok;
}

/// The same with the program in `memory.program`, in memory of these sizes. Without
/// `has_temp_allocator` the platform gives temporary memory.
inline runtime::Error run_in(const Sizes& sizes, size_t program_size, const char* name,
                             StaticMemory& memory, Outcome* outcome,
                             bool has_temp_allocator = true) {
  extension::BufferDataLoader loader(memory.program, program_size);
  const runtime::Program program = ET_UNWRAP(runtime::Program::load(&loader));
  runtime::MemoryAllocator method_allocator(static_cast<uint32_t>(sizes.method), memory.method);
  runtime::MemoryAllocator temp(static_cast<uint32_t>(sizes.temp), memory.temp);
  runtime::Span<uint8_t> buffers[StaticMemory::kMaxBuffers];
  for (size_t i = 0; i < sizes.buffers; ++i) {
    buffers[i] = {memory.planned[i], sizes.planned[i]};
  }
  runtime::HierarchicalAllocator planned({buffers, sizes.buffers});
  runtime::MemoryManager manager(&method_allocator, &planned, has_temp_allocator ? &temp : nullptr);
  return run_on(program, name, manager, memory, outcome);
}

}  // namespace executorch::testing
