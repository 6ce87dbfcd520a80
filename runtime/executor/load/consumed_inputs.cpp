// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// Finds inputs that an execution destroys, because the plan reuses their memory for other values.
#include <executorch/runtime/executor/load/alias_model.h>

#include <new>

namespace executorch {
namespace ET_RUNTIME_NAMESPACE {
namespace internal {

using executorch::runtime::internal::PlannedRange;

/// Lists inputs with planned memory, and written values that may overlap them, sorted by place.
/// Returns their number.
size_t AliasModel::list_places(Place* places) const {
  PlannedRange inputs{0, UINT64_MAX, 0};
  for (const Input& input : block_.inputs) {
    const PlannedRange own =
        input.tensor == nullptr ? PlannedRange() : range(index_of(input.value));
    if (own.buffer != 0) {
      inputs = {own.buffer, own.begin < inputs.begin ? own.begin : inputs.begin,
                own.end > inputs.end ? own.end : inputs.end};
    }
  }
  size_t found = 0;
  bool in_order = true;
  for (uint32_t i = 0; i < block_.flags.size(); ++i) {
    const uint32_t slot = nodes_[i].slot;
    const bool counts = (block_.flags[i] & (kInputValue | kWrittenValue)) != 0 && is_tensor(i);
    const PlannedRange own = counts ? range(i) : PlannedRange();
    if (own.overlaps(inputs)) {
      const auto begin = static_cast<uintptr_t>(own.begin);
      in_order = in_order && (found == 0 || begin >= places[found - 1].begin);
      new (&places[found++]) Place{begin, i, slot};
    }
  }
  // A heap sort, skipped if the places are in order. std::sort is faster, with twice the code.
  size_t unsorted = in_order ? 0 : found;
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
      child += child + 1 < unsorted && places[child].begin < places[child + 1].begin ? 1 : 0;
      if (moved.begin >= places[child].begin) {
        break;
      }
      places[hole] = places[child];
      hole = child;
    }
    places[hole] = moved;
  }
  return found;
}

/// Marks the inputs whose planned memory is written to for another value. Invalidates the nodes.
void AliasModel::consume_inputs() {
  auto* const places = reinterpret_cast<Place*>(block_.values.data());
  const size_t found = list_places(places);
  // The largest end of the written values so far, and the first place that may still overlap.
  uint64_t written = 0;
  size_t first = 0;
  for (size_t i = 0; i < found; ++i) {
    const Place place = places[i];
    const PlannedRange own = range(place.value, place.slot);
    uint8_t& flags = block_.flags[place.value];
    flags |= own.begin < written ? kConsumedInput : 0;
    if ((flags & kWrittenValue) == 0) {
      continue;
    }
    // A place that ends before this one overlaps no later one.
    for (; first < i; ++first) {
      if (range(places[first].value, places[first].slot).overlaps(own)) {
        block_.flags[places[first].value] |= kConsumedInput;
      }
    }
    written = written < own.end ? own.end : written;
  }
  for (Input& input : block_.inputs) {
    const size_t value = static_cast<size_t>(input.value - block_.values.data());
    input.is_consumed = input.tensor != nullptr && (block_.flags[value] & kConsumedInput) != 0;
  }
}

}  // namespace internal
}  // namespace ET_RUNTIME_NAMESPACE
}  // namespace executorch
