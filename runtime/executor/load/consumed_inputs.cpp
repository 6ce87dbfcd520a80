// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// Finds inputs that an execution destroys, because the plan reuses their memory for other values.
#include <executorch/runtime/executor/load/alias_model.h>

namespace executorch {
namespace ET_RUNTIME_NAMESPACE {
namespace internal {

using executorch::runtime::internal::PlannedRange;

/// Merges two lists that are sorted by place.
uint32_t AliasModel::merge_places(uint32_t left, uint32_t right) {
  uint32_t merged = kEnd;
  uint32_t* last = &merged;
  while (left != kEnd && right != kEnd) {
    uint32_t& first = nodes_[right].words() < nodes_[left].words() ? right : left;
    *last = first;
    last = &nodes_[first].use;
    first = *last;
  }
  *last = left != kEnd ? left : right;
  return merged;
}

/// Call it before the instructions are checked.
void AliasModel::find_inputs() {
  for (const Input& input : block_.inputs) {
    const PlannedRange own =
        input.tensor == nullptr ? PlannedRange() : range(index_of(input.value));
    if (own.buffer != 0) {
      inputs_ = {own.buffer, own.begin < inputs_.begin ? own.begin : inputs_.begin,
                 own.end > inputs_.end ? own.end : inputs_.end};
      nodes_[index_of(input.value)].mark_near_input(true);
    }
  }
}

/// Lists inputs with planned memory, and written values that may overlap them, sorted by place;
/// most of the values that lie exactly where another one does are left out. It overwrites the
/// classes of their nodes.
uint32_t AliasModel::list_places() {
  // A merge sort of the runs that are sorted already. sorted[i] are 2^i runs or none.
  constexpr size_t kLists = 30;
  uint32_t sorted[kLists];
  for (uint32_t& list : sorted) {
    list = kEnd;
  }
  uint32_t run = kEnd;
  uint32_t last = kEnd;
  const auto end_run = [&] {
    size_t i = 0;
    for (; sorted[i] != kEnd; ++i) {
      run = merge_places(sorted[i], run);
      sorted[i] = kEnd;
    }
    sorted[i] = run;
  };
  // Plans let the results of a chain of calls take turns in a few places.
  constexpr size_t kRecent = ET_SHORTCUTS ? 4 : 1;
  PlannedRange recent[kRecent];
  size_t written = 0;
  const auto is_listed = [&](const PlannedRange& own) {
    for (const PlannedRange& listed : recent) {
      if (listed.begin == own.begin && listed.end == own.end && listed.buffer == own.buffer) {
        return true;
      }
    }
    recent[written++ % kRecent] = own;
    return false;
  };
  for (uint32_t i = 0; i < block_.flags.size(); ++i) {
    Node& node = nodes_[i];
    if (!node.has(Node::kNearInput)) {
      continue;
    }
    const PlannedRange own = range(i);
    if (ET_SHORTCUTS && (block_.flags[i] & kInputValue) == 0 && is_listed(own)) {
      continue;
    }
    node.set_words(own.begin);
    node.use = kEnd;
    if (run != kEnd && nodes_[last].words() <= own.begin) {
      nodes_[last].use = i;
    } else {
      if (run != kEnd) {
        end_run();
      }
      run = i;
    }
    last = i;
  }
  for (const uint32_t list : sorted) {
    run = merge_places(list, run);
  }
  return run;
}

/// Marks the inputs whose planned memory is written to for another value.
void AliasModel::consume_inputs() {
  // The largest end of the written values so far, and the first place that may still overlap.
  uint64_t written = 0;
  uint32_t first = list_places();
  for (uint32_t i = first; i != kEnd; i = nodes_[i].use) {
    const PlannedRange own = range(i);
    uint8_t& flags = block_.flags[i];
    flags |= own.begin < written ? kConsumedInput : 0;
    if ((flags & kWrittenValue) == 0) {
      continue;
    }
    // A place that ends before this one overlaps no later one.
    for (; first != i; first = nodes_[first].use) {
      if (range(first).overlaps(own)) {
        block_.flags[first] |= kConsumedInput;
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
