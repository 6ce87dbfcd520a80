// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// The source of a tensor's data, from its fields in the file.
#pragma once

#include <stddef.h>
#include <stdint.h>

#include <executorch/runtime/executor/plan/optional_vector.h>
#include <executorch/schema/program_generated.h>

namespace executorch::runtime::internal {

enum class TensorSource : uint8_t {
  /// Given at run time: an input, an output, or the result of a view.
  None,
  /// Planned memory.
  Planned,
  /// Part of the program, used in place.
  Constant,
  /// Planned memory, with an initial value that is part of the program.
  Mutable,
  /// Found by name outside of the program: used in place or, if memory is planned, copied there.
  External,
};

/// The source of a tensor without a name. `data_buffer` is 0 without data in the program.
inline TensorSource source_of_data(uint32_t data_buffer, bool is_planned) {
  if (data_buffer > 0) {
    return is_planned ? TensorSource::Mutable : TensorSource::Constant;
  }
  return is_planned ? TensorSource::Planned : TensorSource::None;
}

inline TensorSource tensor_source(const executorch_flatbuffer::Tensor& tensor) {
  const executorch_flatbuffer::ExtraTensorInfo* extra = tensor.extra_tensor_info();
  if (extra != nullptr &&
      extra->location() == executorch_flatbuffer::TensorDataLocation::EXTERNAL) {
    return TensorSource::External;
  }
  return source_of_data(tensor.data_buffer_idx(), tensor.allocation_info() != nullptr);
}

/// Returns true if the tensor's sizes have no bound. Resizing it then allocates memory, unless it
/// is an input, whose memory is the caller's.
inline bool grows_unless_input(const executorch_flatbuffer::Tensor& tensor) {
  return tensor.shape_dynamism() == executorch_flatbuffer::TensorShapeDynamism::DYNAMIC_UNBOUND &&
         tensor_source(tensor) == TensorSource::None && count(tensor.sizes()) > 0;
}

/// Offset in bytes in the planned buffer.
inline uint64_t planned_offset(const executorch_flatbuffer::AllocationDetails& allocation) {
  return static_cast<uint64_t>(allocation.memory_offset_high()) << 32 |
         allocation.memory_offset_low();
}

}  // namespace executorch::runtime::internal
