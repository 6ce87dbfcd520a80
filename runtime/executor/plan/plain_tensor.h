// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// Reads the fields of most tensors of a program faster than the generated accessors.
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <executorch/runtime/core/span.h>
#include <executorch/runtime/executor/plan/inlining.h>
#include <executorch/runtime/executor/plan/optional_vector.h>
#include <executorch/runtime/executor/plan/tensor_source.h>
#include <executorch/schema/program_generated.h>

namespace executorch::runtime::internal {

/// Returns true if two vectors of a program have equal items; builds for size notice only those
/// that the file shares.
template <typename T>
inline bool are_equal(Span<const T> left, Span<const T> right) {
  if (left.data() == right.data()) {
    return true;
  }
  if (!ET_SHORTCUTS || left.size() != right.size()) {
    return false;
  }
  for (size_t i = 0; i < left.size(); ++i) {
    if (left[i] != right[i]) {
      return false;
    }
  }
  return true;
}

/// Reads plain tensors: those whose vtable has no field for a shape dynamism, a name, a layout or a
/// storage offset. Writers share vtables, so a file has few for its tensors, and each is read about
/// once.
class PlainTensorReader final {
 public:
  /// `where` is null without planned memory, `data_buffer` 0 without data in the program.
  struct Fields {
    Span<const int32_t> sizes;
    Span<const uint8_t> order;
    executorch_flatbuffer::ScalarType type;
    const executorch_flatbuffer::AllocationDetails* where;
    uint32_t data_buffer;

    TensorSource source() const { return source_of_data(data_buffer, where != nullptr); }
  };

  /// Returns false if the tensor, whose structure has been verified, is not plain, and always in
  /// builds for size.
#if ET_SHORTCUTS
  bool read(const executorch_flatbuffer::Tensor& tensor, Fields* fields) {
    const auto* const table = reinterpret_cast<const uint8_t*>(&tensor);
    const uint8_t* const vtable = table - load<int32_t>(table);
    Offsets& at = known_[reinterpret_cast<uintptr_t>(vtable) / sizeof(uint16_t) % kKnown];
    if (vtable != at.vtable) {
      read_vtable(reinterpret_cast<const flatbuffers::Table&>(tensor), vtable, &at);
    }
    if (at.sizes == 0) {
      return false;
    }
    fields->sizes = items(follow<flatbuffers::Vector<int32_t>>(table + at.sizes));
    fields->order = items(follow<flatbuffers::Vector<uint8_t>>(table + at.order));
    fields->type = load<executorch_flatbuffer::ScalarType>(table + at.type);
    fields->where = at.where == 0
                        ? nullptr
                        : follow<executorch_flatbuffer::AllocationDetails>(table + at.where);
    fields->data_buffer = at.data_buffer == 0 ? 0 : load<uint32_t>(table + at.data_buffer);
    return true;
  }

 private:
  template <typename T>
  static T load(const uint8_t* from) {
    T value;
    memcpy(&value, from, sizeof(T));
    return value;
  }
  template <typename T>
  static const T* follow(const uint8_t* from) {
    return reinterpret_cast<const T*>(from + load<uint32_t>(from));
  }

  /// Where a table with this vtable has its fields; 0: it lacks the field.
  struct Offsets {
    const uint8_t* vtable = nullptr;
    /// 0 if the tensor is not plain.
    uint16_t sizes = 0;
    uint16_t order = 0;
    uint16_t type = 0;
    uint16_t where = 0;
    uint16_t data_buffer = 0;
  };
  static constexpr size_t kKnown = 8;

  ET_NOINLINE static void read_vtable(const flatbuffers::Table& table, const uint8_t* vtable,
                                      Offsets* at) {
    using executorch_flatbuffer::Tensor;
    *at = {vtable,
           table.GetOptionalFieldOffset(Tensor::VT_SIZES),
           table.GetOptionalFieldOffset(Tensor::VT_DIM_ORDER),
           table.GetOptionalFieldOffset(Tensor::VT_SCALAR_TYPE),
           table.GetOptionalFieldOffset(Tensor::VT_ALLOCATION_INFO),
           table.GetOptionalFieldOffset(Tensor::VT_DATA_BUFFER_IDX)};
    bool is_plain = at->order != 0 && at->type != 0;
    for (const auto slot : {Tensor::VT_STORAGE_OFFSET, Tensor::VT_LAYOUT, Tensor::VT_SHAPE_DYNAMISM,
                            Tensor::VT_EXTRA_TENSOR_INFO}) {
      is_plain = is_plain && !table.CheckField(slot);
    }
    at->sizes = is_plain ? at->sizes : uint16_t{0};
  }

  /// Indexed by the address of the vtable.
  Offsets known_[kKnown];
#else
  bool read(const executorch_flatbuffer::Tensor&, Fields*) { return false; }
#endif
};

}  // namespace executorch::runtime::internal
