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
  // The largest end of the written values so far, the first place that may still overlap, and the
  // largest end from there on.
  uint64_t written = 0;
  uint32_t first = list_places();
  uint64_t end = 0;
  bool any_consumed = is_loaded_;
  for (uint32_t i = first; i != kEnd; i = nodes_[i].use) {
    const PlannedRange own = range(i);
    uint8_t& flags = block_.flags[i];
    if (own.begin < written) {
      flags |= kConsumedInput;
      any_consumed = true;
    }
    if ((flags & kWrittenValue) != 0) {
      // A place that ends before this one overlaps no later one.
      for (; first != i && own.begin < end; first = nodes_[first].use) {
        if (range(first).overlaps(own)) {
          block_.flags[first] |= kConsumedInput;
          any_consumed = true;
        }
      }
      first = i;
      end = 0;
      written = written < own.end ? own.end : written;
    }
    end = end < own.end ? own.end : end;
  }
  // Loading says that none is consumed, which is true of most methods.
  if (ET_SHORTCUTS && !any_consumed) {
    return;
  }
  for (Input& input : block_.inputs) {
    input.is_consumed = (block_.flags[index_of(input.value)] & kConsumedInput) != 0;
  }
}

}  // namespace internal
}  // namespace ET_RUNTIME_NAMESPACE
}  // namespace executorch
