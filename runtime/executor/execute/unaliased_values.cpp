// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
#include <executorch/runtime/executor/execute/unaliased_values.h>

#include <stdint.h>

#include <algorithm>

#include <executorch/runtime/executor/plan/optional_vector.h>
#include <executorch/runtime/executor/plan/plan_values.h>
#include <executorch/runtime/executor/plan/planned_range.h>
#include <executorch/runtime/executor/plan/tensor_source.h>

namespace executorch {
namespace ET_RUNTIME_NAMESPACE {
namespace internal {

namespace fb = executorch_flatbuffer;
using executorch::runtime::internal::arguments_of;
using executorch::runtime::internal::count;
using executorch::runtime::internal::is_view;
using executorch::runtime::internal::items;
using executorch::runtime::internal::planned_range;
using executorch::runtime::internal::PlannedRange;
using executorch::runtime::internal::tensor_at;
using executorch::runtime::internal::tensor_source;
using executorch::runtime::internal::tensors_in;
using executorch::runtime::internal::TensorSource;
using executorch::runtime::internal::value_at;
using executorch::runtime::internal::value_count;

namespace {

// How instructions use a value, in the two bits of the flags that are computed here.
constexpr uint8_t kOneResult = kUnaliasedOutput;
constexpr uint8_t kDelegateOperand = kUnaliasedInput;
constexpr uint8_t kOtherUse = kUnaliasedOutput | kUnaliasedInput;

/// An input or output that may be unaliased.
struct Candidate {
  PlannedRange range;
  uint32_t value;
  /// The index of the next candidate that may still be unaliased; its own index if it may be
  /// itself.
  uint32_t next;
};
constexpr size_t kCandidatesOnStack = 16;

class Marker final {
 public:
  Marker(const fb::ExecutionPlan& plan, const MethodBlock& block) : plan_(plan), block_(block) {}

  Error mark(MemoryAllocator& temp) {
    clear_uses();
    bool is_straight = true;
    for (uint32_t c = 0; c < count(plan_.chains()); ++c) {
      const auto* instructions = plan_.chains()->Get(c)->instructions();
      for (uint32_t i = 0; i < count(instructions); ++i) {
        is_straight = is_straight && use(*instructions->Get(i));
      }
    }
    if (is_straight) {
      exclude_listed();
    }
    const size_t limit = is_straight ? find_candidates(nullptr) : 0;
    Candidate on_stack[kCandidatesOnStack];
    Candidate* candidates = on_stack;
    if (limit > kCandidatesOnStack) {
      candidates = temp.allocateList<Candidate>(limit);
    }
    const size_t listed = candidates == nullptr || limit == 0 ? 0 : find_candidates(candidates);
    const size_t left = keep_apart({candidates, listed});
    compare_all({candidates, left});
    clear_uses();
    for (size_t i = 0; i < left; ++i) {
      if (candidates[i].next == i) {
        uint8_t& flags = block_.flags[candidates[i].value];
        flags |= (flags & kInputValue) != 0 ? kUnaliasedInput : kUnaliasedOutput;
      }
    }
    return candidates == nullptr ? Error::MemoryAllocationFailed : Error::Ok;
  }

 private:
  void clear_uses() {
    for (uint8_t& flags : block_.flags) {
      flags &= static_cast<uint8_t>(~kOtherUse);
    }
  }
  uint8_t uses(size_t value) const { return block_.flags[value] & kOtherUse; }
  void set_uses(int32_t value, uint8_t uses) {
    uint8_t& flags = block_.flags[static_cast<size_t>(value)];
    flags = static_cast<uint8_t>((flags & ~kOtherUse) | uses);
  }

  /// Records the uses of an instruction. False for jumps, moves and frees: a program with one of
  /// these gets no marks.
  bool use(const fb::Instruction& instruction) {
    const fb::KernelCall* const call = instruction.instr_args_as_KernelCall();
    if (call == nullptr && instruction.instr_args_as_DelegateCall() == nullptr) {
      return false;
    }
    const auto values = arguments_of(instruction);
    if (values.empty()) {
      return true;
    }
    // A kernel call has its result twice: as the `out` argument and as the return value.
    const int32_t result = values[values.size() - 1];
    size_t operands = values.size() - 1;
    while (operands > 0 && values[operands - 1] == result) {
      --operands;
    }
    const bool makes_view =
        call != nullptr &&
        is_view(*plan_.operators()->Get(static_cast<uint32_t>(call->op_index())));
    const bool is_first = uses(static_cast<size_t>(result)) == 0;
    set_uses(result, is_first && !makes_view ? kOneResult : kOtherUse);
    for (size_t i = 0; i < operands; ++i) {
      const uint8_t known = uses(static_cast<size_t>(values[i]));
      const bool is_operand = call == nullptr && (known | kDelegateOperand) == kDelegateOperand;
      set_uses(values[i], is_operand ? kDelegateOperand : kOtherUse);
    }
    return true;
  }

  /// Excludes tensors that are items of lists, and inputs that are outputs too.
  void exclude_listed() {
    for (uint32_t i = 0; i < value_count(plan_); ++i) {
      for (const int32_t item : tensors_in(value_at(plan_, i))) {
        if (item >= 0) {
          set_uses(item, kOtherUse);
        }
      }
    }
    for (const int32_t output : items(plan_.outputs())) {
      if ((block_.flags[static_cast<size_t>(output)] & kInputValue) != 0) {
        set_uses(output, kOtherUse);
      }
    }
  }

  /// Returns the number of inputs and outputs that have planned memory and are used as unaliased
  /// values must be. Writes them to `candidates` unless that is null.
  size_t find_candidates(Candidate* candidates) const {
    size_t listed = 0;
    const auto add = [&](int32_t value, uint8_t wanted) {
      const auto index = static_cast<size_t>(value);
      const fb::Tensor* const tensor = tensor_at(plan_, index);
      if (tensor == nullptr || uses(index) != wanted ||
          tensor_source(*tensor) != TensorSource::Planned) {
        return;
      }
      const bool is_input = wanted == kDelegateOperand;
      if (is_input && (tensor->shape_dynamism() != fb::TensorShapeDynamism::STATIC ||
                       (block_.flags[index] & kWrittenValue) != 0)) {
        return;
      }
      if (planned_range(*tensor).buffer == 0) {
        return;
      }
      if (candidates != nullptr) {
        // GCC mistakes a copy of a local range for a pointer to it (-Wdangling-pointer).
        candidates[listed] = {planned_range(*tensor), static_cast<uint32_t>(value), 0};
      }
      ++listed;
    };
    for (const int32_t input : items(plan_.inputs())) {
      add(input, kDelegateOperand);
    }
    for (const int32_t output : items(plan_.outputs())) {
      add(output, kOneResult);
    }
    return listed;
  }

  /// Sorts candidates by place and removes those that overlap another one, or are listed twice.
  static size_t keep_apart(Span<Candidate> candidates) {
    std::sort(candidates.begin(), candidates.end(), [](const Candidate& a, const Candidate& b) {
      return a.range.buffer != b.range.buffer ? a.range.buffer < b.range.buffer
                                              : a.range.begin < b.range.begin;
    });
    size_t kept = 0;
    PlannedRange before;
    for (size_t i = 0; i < candidates.size(); ++i) {
      const Candidate own = candidates[i];
      // `before` reaches to the largest end of all earlier candidates.
      const bool is_apart =
          !own.range.overlaps(before) &&
          (i + 1 == candidates.size() || !own.range.overlaps(candidates[i + 1].range));
      if (before.buffer != own.range.buffer || before.end < own.range.end) {
        before = {own.range.buffer, 0, own.range.end};
      }
      if (is_apart) {
        candidates[kept] = own;
        candidates[kept].next = static_cast<uint32_t>(kept);
        ++kept;
      }
    }
    return kept;
  }

  /// Marks candidates that share bytes with any other tensor: their `next` is a later one.
  void compare_all(Span<Candidate> candidates) const {
    for (uint32_t i = 0; !candidates.empty() && i < value_count(plan_); ++i) {
      const fb::Tensor* const tensor = tensor_at(plan_, i);
      const PlannedRange range = tensor == nullptr ? PlannedRange() : planned_range(*tensor);
      if (range.buffer == 0) {
        continue;
      }
      const Candidate* const first = std::lower_bound(
          candidates.begin(), candidates.end(), range,
          [](const Candidate& candidate, const PlannedRange& other) {
            return candidate.range.buffer != other.buffer ? candidate.range.buffer < other.buffer
                                                          : candidate.range.end <= other.begin;
          });
      for (size_t c = left_from(candidates, static_cast<size_t>(first - candidates.begin()));
           c < candidates.size() && candidates[c].range.overlaps(range);
           c = left_from(candidates, c + 1)) {
        if (candidates[c].value != i) {
          candidates[c].next = static_cast<uint32_t>(c) + 1;
        }
      }
    }
  }

  /// The first unmarked candidate at `index` or later. Compresses the path, as union-find does.
  static size_t left_from(Span<Candidate> candidates, size_t index) {
    size_t end = index;
    while (end < candidates.size() && candidates[end].next != end) {
      end = candidates[end].next;
    }
    while (index < end) {
      const size_t next = candidates[index].next;
      candidates[index].next = static_cast<uint32_t>(end);
      index = next;
    }
    return end;
  }

  const fb::ExecutionPlan& plan_;
  const MethodBlock& block_;
};

}  // namespace

Error mark_unaliased_values(const fb::ExecutionPlan& plan, const MethodBlock& block,
                            MemoryAllocator& temp) {
  return Marker(plan, block).mark(temp);
}

}  // namespace internal
}  // namespace ET_RUNTIME_NAMESPACE
}  // namespace executorch
