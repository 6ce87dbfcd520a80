// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// A quick way to check most calls against the alias model. Builds for size omit it.
#include <executorch/runtime/executor/load/alias_model.h>
#include <executorch/runtime/executor/plan/inlining.h>
#include <executorch/runtime/platform/compiler.h>

namespace executorch {
namespace ET_RUNTIME_NAMESPACE {
namespace internal {

using executorch::runtime::internal::PlannedRange;

/// Returns true if the tensor shares bytes with `place`, or could share some.
inline bool AliasModel::may_overlap(uint32_t value, const PlannedRange& place) const {
  const auto& tensor = tensor_in(block_.tensors[nodes_[value].slot()]);
  const auto begin = reinterpret_cast<uintptr_t>(tensor.const_data_ptr());
  if (begin == 0 || place.buffer != kAddresses) {
    return range(value).overlaps(place);
  }
  // A tensor that begins after the place needs no size.
  return begin < place.end && place.begin < begin + nbytes(tensor);
}

/// Returns the range around all values of a class, or null if a value has no address yet or the
/// budget is spent. The new range replaces the oldest one in `arounds_`.
const AliasModel::PlannedRange* AliasModel::around(uint32_t root) {
  for (const Around& known : arounds_) {
    if (known.root == root) {
      return &known.range;
    }
  }
  Around& found = arounds_[oldest_around_];
  found = {kEnd, {kAddresses, UINT64_MAX, 0}};
  uint32_t member = root;
  do {
    const PlannedRange own = range(member);
    if (!spend() || (own.buffer != 0 && own.buffer != kAddresses)) {
      return nullptr;
    }
    found.range.extend(own);
    member = nodes_[member].next;
  } while (member != root);
  found.root = root;
  oldest_around_ = (oldest_around_ + 1) % kArounds;
  return &found.range;
}

/// Returns true for most correct calls, with the effects of check_call(), which would accept them:
/// one tensor is written to, whose class is that tensor and its views. Each class that is read lies
/// apart, or is one tensor, with its views, that the kernel may read where it writes.
bool AliasModel::is_plain_call(Span<EValue*> arguments, uint64_t written, size_t first_written) {
  const uint64_t bits = written << Kernel::kOptionBits >> Kernel::kOptionBits;
  size_t result = first_written;
  if (bits != 0) {
    for (result = 0; (bits >> result & 1) == 0;) {
      ++result;
    }
  }
  if (result >= arguments.size() || bits >> result > 1 || first_written + 1 < arguments.size()) {
    return false;
  }
  const EValue* const written_value = arguments[result];
  uint8_t* const all_flags = block_.flags.data();
  const uint32_t out = index_of(written_value);
  Node& out_node = nodes_[out];
  uint8_t seen_flags = all_flags[out];
  if (out_node.slot() >= kTensorList || out_node.root != out || out_node.next != out ||
      (seen_flags & (kConstantValue | kViewValue)) != 0) {
    return false;
  }
  const PlannedRange place = range(out);
  for (size_t i = 0; i < arguments.size(); ++i) {
    const EValue* const argument = arguments[i];
    const bool works_in_place = (written & Kernel::kDisjoint) == 0 ||
                                (i == 0 && (written & Kernel::kDisjointButFirst) != 0);
    if (argument == written_value) {
      const bool is_read = i != result && i + 1 != arguments.size();
      if (is_read && (!works_in_place || out_node.has(Node::kResizable))) {
        return false;
      }
      continue;
    }
    uint32_t value = index_of(argument);
    if (nodes_[value].slot() == kNoTensor) {
      continue;
    }
    if (nodes_[value].slot() == kTensorList) {
      return false;
    }
    if (ET_UNLIKELY(nodes_[value].root != value || nodes_[value].next != value)) {
      const uint32_t root = find(value);
      if (root == out) {
        return false;
      }
      views_outlive_ |= is_unmade_view(all_flags[value]);
      if (nodes_[root].next != root) {
        const PlannedRange* const whole = around(root);
        if (whole == nullptr || place.buffer != kAddresses || whole->overlaps(place)) {
          return false;
        }
        seen_flags |= all_flags[root];
        continue;
      }
      // A view's bytes are its base's.
      value = root;
    }
    const uint8_t flags = all_flags[value];
    if ((flags & kViewValue) != 0) {
      return false;
    }
    if (may_overlap(value, place)) {
      const PlannedRange own = range(value);
      const bool is_whole = own.begin == place.begin && own.end == place.end;
      if (own.overlaps(place) && !(works_in_place && is_whole)) {
        return false;
      }
    }
    seen_flags |= flags;
  }
  seen_flags_ = seen_flags;
  out_node.mark_near_input(place.overlaps(inputs_));
  all_flags[out] |= kWrittenValue | (out_node.has(Node::kResizable) ? kResizedValue : 0);
  return true;
}

}  // namespace internal
}  // namespace ET_RUNTIME_NAMESPACE
}  // namespace executorch
