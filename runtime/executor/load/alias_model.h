// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// Relations between the values of a method: which may share memory, and which may be written to. A
// method that breaks a rule of docs/alias-model.md is refused when it is loaded, in every build.
#pragma once

#include <stddef.h>

#include <executorch/runtime/core/exec_aten/exec_aten.h>
#include <executorch/runtime/executor/plan/method_layout.h>
#include <executorch/runtime/executor/plan/plan_values.h>
#include <executorch/runtime/executor/plan/planned_range.h>
#include <executorch/runtime/executor/verify/program_verifier.h>
#include <executorch/schema/program_generated.h>

namespace executorch {
namespace ET_RUNTIME_NAMESPACE {
namespace internal {

/// Checks a method whose instructions and delegates are loaded. Values that may show the same
/// memory, by a view or because a MoveCall passes a tensor on, are one class. The order of
/// instructions is ignored. The work is linear in the program's size.
class AliasModel final {
 public:
  /// `program_size` in bytes bounds the work. `is_loaded`: the method has passed the check before,
  /// and planned memory has moved since.
  AliasModel(const executorch_flatbuffer::ExecutionPlan& plan, const MethodBlock& block,
             size_t program_size, bool is_loaded = false)
      : plan_(plan), block_(block), budget_{kWorkPerByte * program_size}, is_loaded_(is_loaded) {}

  /// Adds to block.flags, which marks inputs and has flags_of() each tensor; fills
  /// Input::is_consumed and Instruction::has_late_memory; replaces Instruction::source by
  /// Instruction::kernel. block.values are those of the program; uses their memory as working
  /// memory and then restores them.
  /// @retval Error::InvalidProgram After a message with method, instruction and value.
  Error check();

  ViewFacts view_facts() const { return {has_views_ && views_outlive_, given_views_end_}; }

 private:
  using Indices = Span<const int32_t>;
  using PlannedRange = executorch::runtime::internal::PlannedRange;

  /// Budget of visits beyond one for each argument: values of a class, pairs of places.
  static constexpr size_t kWorkPerByte = 2;

  /// State of a value while the method is checked. Other values than tensors have their payload in
  /// the first two words and their tag in the third.
  struct Node {
    /// Parent in the union-find tree of the class; the representative is its own parent.
    uint32_t root;
    /// The values of a class are a ring.
    uint32_t next;
    /// How the current instruction uses it, in the low bits (see Role), and above them the next
    /// value that the instruction uses. A flatbuffer, of less than 2^31 bytes, has fewer than 2^29
    /// values. One word, because loading a word after storing a bit field of it stalls.
    uint32_t use;
    /// Bits of Trait, and above them the slot. No bit fields, for the same reason.
    uint32_t traits;

    enum Trait : uint32_t {
      /// The tensor may be resized.
      kResizable = 1,
      /// Its memory is the caller's.
      kGiven = 2,
      /// It is written to and may overlap an input.
      kNearInput = 4,
    };
    static constexpr unsigned kTraitBits = 3;
    bool has(Trait trait) const { return (traits & trait) != 0; }
    void mark_near_input(bool is_near) { traits |= is_near ? kNearInput : uint32_t{0}; }
    /// The tensor's place in block.tensors; for other values one of the two numbers below.
    uint32_t slot() const { return traits >> kTraitBits; }

    /// The first two words as one. When all instructions are checked: where the tensor begins in
    /// planned memory. `use` is then the next tensor by place.
    uint64_t words() const { return uint64_t{next} << 32 | root; }
    void set_words(uint64_t words) {
      root = static_cast<uint32_t>(words);
      next = static_cast<uint32_t>(words >> 32);
    }
  };
  /// The end of a list of values.
  static constexpr uint32_t kEnd = (1u << 29) - 1;
  static constexpr uint32_t kNoTensor = kEnd;
  static constexpr uint32_t kTensorList = kNoTensor - 1;
  /// Buffer number of address ranges; ranges of the file have the file's buffer numbers.
  static constexpr uint32_t kAddresses = UINT32_MAX;
  struct Role;

  Error check_all();
  void set_up();
  void restore_values();

  Error link(Instruction& loaded);
  Error check_shown(uint32_t base, uint32_t view) const;
  Error check_instruction(Instruction& loaded);
  bool is_plain_call(Span<EValue*> arguments, uint64_t written, size_t first_written);
  const PlannedRange* around(uint32_t root);
  bool lies_apart(uint32_t root, const PlannedRange& others);
  bool may_overlap(uint32_t value, const PlannedRange& place) const;
  Error check_call(Span<EValue*> arguments, uint64_t written, size_t first_written);
  Error give_role(size_t argument, const EValue* tensors, uint32_t role, uint32_t returned);
  Error touch_list(size_t argument, uint32_t value, uint32_t role, uint32_t returned);
  Error touch(size_t argument, uint32_t value, uint32_t role);
  Error check_places();
  void complete_flags();
  uint32_t list_places();
  uint32_t merge_places(uint32_t left, uint32_t right);
  void consume_inputs();

  ET_INLINE_OR_SHARED uint32_t find(uint32_t value) {
    while (nodes_[value].root != value) {
      value = nodes_[value].root = nodes_[nodes_[value].root].root;
    }
    return value;
  }
  /// A view that is used before it is made may still refer to memory of the last execution.
  static bool is_unmade_view(uint8_t flags) {
    return (flags & (kViewValue | kMadeView)) == kViewValue;
  }
  bool makes_view(const Kernel& kernel) const;
  bool is_view_call(const Instruction& loaded) const;
  /// After loading, the strictest kernel that was found for the operator.
  const Kernel& kernel_of(const Instruction& call) const {
    return is_loaded_ ? *block_.kernels[call.op] : *call.source;
  }
  bool is_tensor(uint32_t value) const { return nodes_[value].slot() < kTensorList; }
  /// The index of an argument's value.
  uint32_t index_of(const EValue* value) const {
    return static_cast<uint32_t>(value - block_.values.data());
  }
  /// The tensor's current bytes. Memory that a parametric plan assigns later is taken from the plan
  /// in the file.
  ET_INLINE_UNLESS_SMALL PlannedRange range(uint32_t value) const {
    return nodes_[value].has(Node::kGiven) ? PlannedRange() : own_range(value);
  }
  ET_INLINE_OR_SHARED PlannedRange own_range(uint32_t value) const {
    const auto& tensor = tensor_in(block_.tensors[nodes_[value].slot()]);
    const auto begin = reinterpret_cast<uintptr_t>(tensor.const_data_ptr());
    if (begin == 0) {
      namespace lean = executorch::runtime::internal;  // in builds for at::Tensor, another one
      return lean::planned_range(*lean::tensor_at(plan_, value));
    }
    const size_t bytes = nbytes(tensor);
    return bytes == 0 ? PlannedRange() : PlannedRange{kAddresses, begin, begin + bytes};
  }
  size_t nbytes(const executorch::aten::Tensor& tensor) const {
#if ET_SHORTCUTS
    if (tensor.numel() != last_.numel || tensor.scalar_type() != last_.type) {
      last_ = {static_cast<ssize_t>(tensor.numel()), tensor.scalar_type(), tensor.nbytes()};
    }
    return last_.nbytes;
#else
    return tensor.nbytes();
#endif
  }
  bool spend() { return budget_.spend(1); }

  const executorch_flatbuffer::ExecutionPlan& plan_;
  const MethodBlock& block_;
  executorch::runtime::internal::WorkBudget budget_;
  Node* nodes_ = nullptr;
  /// Heads of the linked list of the instruction's values, and of its tail: the values that the
  /// instruction writes to.
  uint32_t list_ = 0;
  uint32_t written_ = 0;
  size_t index_ = 0;
  /// A range around all inputs with planned memory.
  PlannedRange inputs_{0, UINT64_MAX, 0};
#if ET_SHORTCUTS
  /// The size of the last tensor. The next one often has the same type and number of elements.
  struct Bytes {
    ssize_t numel;
    executorch::aten::ScalarType type;
    size_t nbytes;
  };
  mutable Bytes last_{0, executorch::aten::ScalarType::Byte, 0};
#endif
  /// Classes, and a range around the values of each: calls may read several large ones in turn.
  struct Around {
    uint32_t root = kEnd;
    PlannedRange range;
  };
  static constexpr size_t kArounds = ET_SHORTCUTS ? 8 : 1;
  Around arounds_[kArounds];
  size_t oldest_around_ = 0;
  /// A kernel that makes views; null if the method has none, and in builds for size.
  const Kernel* view_kernel_ = nullptr;
  bool is_loaded_;
  /// Flags of the instruction's values.
  uint8_t seen_flags_ = 0;
  bool has_views_ = false;
  bool views_outlive_ = false;
  uint32_t given_views_end_ = 0;
};

}  // namespace internal
}  // namespace ET_RUNTIME_NAMESPACE
}  // namespace executorch
