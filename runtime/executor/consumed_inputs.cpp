// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// Which inputs an execution destroys, because the plan uses their memory for other values as well.
#include <executorch/runtime/executor/alias_model.h>

#include <new>

#include <executorch/runtime/executor/plan_values.h>
#include <executorch/schema/program_generated.h>

namespace executorch {
namespace ET_RUNTIME_NAMESPACE {
namespace internal {

namespace fb = executorch_flatbuffer;
using executorch::runtime::internal::planned_range;
using executorch::runtime::internal::PlannedRange;
using executorch::runtime::internal::tensor_at;

/// Inputs and written values with planned memory, in its order. Returns how many there are.
size_t AliasModel::sort_places(Place* places) const {
  size_t found = 0;
  for (uint32_t i = 0; i < block_.flags.size(); ++i) {
    const bool counts = (block_.flags[i] & (kInputValue | kWrittenValue)) != 0;
    const fb::Tensor* const tensor = counts ? tensor_at(plan_, i) : nullptr;
    const PlannedRange own = tensor == nullptr ? PlannedRange() : planned_range(*tensor);
    if (own.buffer != 0) {
      new (&places[found++]) Place{static_cast<size_t>(own.begin), own.buffer, i};
    }
  }
  // By a heap: half the code of the standard library's functions, which sort faster.
  size_t unsorted = found;
  for (size_t start = found / 2; unsorted > 1;) {
    Place moved = places[start];
    if (start > 0) {
      moved = places[--start];
    } else {
      moved = places[--unsorted];
      places[unsorted] = places[0];
    }
    size_t hole = start;
    for (size_t child = 2 * hole + 1; child < unsorted; child = 2 * hole + 1) {
      child += child + 1 < unsorted && places[child].is_before(places[child + 1]) ? 1 : 0;
      if (!moved.is_before(places[child])) {
        break;
      }
      places[hole] = places[child];
      hole = child;
    }
    places[hole] = moved;
  }
  return found;
}

/// Marks the inputs whose planned memory is written to for another value. The nodes end.
void AliasModel::consume_inputs() {
  auto* const places = reinterpret_cast<Place*>(block_.values.data());
  const size_t found = sort_places(places);
  // Where the written values so far end, and the first place that may reach beyond the next one.
  PlannedRange written;
  size_t first = 0;
  for (size_t i = 0; i < found; ++i) {
    const uint32_t value = places[i].value;
    const PlannedRange own = range(value);
    uint8_t& flags = block_.flags[value];
    flags |= written.buffer == own.buffer && own.begin < written.end ? kConsumedInput : 0;
    if ((flags & kWrittenValue) == 0) {
      continue;
    }
    // What does not reach to here reaches to no later place.
    for (; first < i; ++first) {
      if (range(places[first].value).overlaps(own)) {
        block_.flags[places[first].value] |= kConsumedInput;
      }
    }
    if (written.buffer != own.buffer || written.end < own.end) {
      written = own;
    }
  }
  for (Input& input : block_.inputs) {
    const size_t value = static_cast<size_t>(input.value - block_.values.data());
    input.is_consumed = input.tensor != nullptr && (block_.flags[value] & kConsumedInput) != 0;
  }
}

}  // namespace internal
}  // namespace ET_RUNTIME_NAMESPACE
}  // namespace executorch
