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

  /// Adds to block.flags, which marks inputs; fills Input::is_consumed and
  /// Instruction::has_late_memory; replaces Instruction::source by Instruction::kernel. Uses the
  /// memory of block.values as working memory and then restores the values of the
  /// program.
  /// @retval Error::InvalidProgram After a message with method, instruction and value.
  Error check();

  /// Returns true if a view of one execution could be used in the next one before it is made
  /// again. Then every execution starts with empty views.
  bool unbinds_views() const { return has_views_ && views_outlive_; }

 private:
  using Indices = Span<const int32_t>;
  using PlannedRange = executorch::runtime::internal::PlannedRange;

  /// Budget of visits beyond one for each argument: values of a class, pairs of places.
  static constexpr size_t kWorkPerByte = 2;

  /// State of a value while the method is checked.
  struct Node {
    /// Parent in the union-find tree of the class; the representative is its own parent.
    uint32_t root;
    /// The values of a class are a ring.
    uint32_t next;
    /// How the current instruction uses it, in the low bits (see Role), and above them the next
    /// value that the instruction uses. A flatbuffer, of less than 2^31 bytes, has fewer than 2^29
    /// values. One word, because loading a word after storing a bit field of it stalls.
    uint32_t use;
    /// The tensor may be resized.
    uint32_t is_resizable : 1;
    /// Its memory is the caller's.
    uint32_t is_given : 1;
    /// The tensor's place in block.tensors; for other values one of the two numbers below.
    uint32_t slot : 30;
  };
  static constexpr uint32_t kNoTensor = (1u << 30) - 1;
  static constexpr uint32_t kTensorList = kNoTensor - 1;
  /// Buffer number of address ranges; ranges of the file have the file's buffer numbers.
  static constexpr uint32_t kAddresses = UINT32_MAX;
  /// Where a value begins in planned memory.
  struct Place {
    uintptr_t begin;
    uint32_t value;
    uint32_t slot;
  };
  struct Role;

  Error check_all();
  void set_up();

  Error link(Instruction& loaded);
  Error check_shown(uint32_t base, uint32_t view) const;
  Error check_instruction(Instruction& loaded);
  Error check_call(Span<EValue*> arguments, uint64_t written, size_t first_written);
  Error touch_list(size_t argument, uint32_t value, uint32_t role, uint32_t returned);
  Error touch(size_t argument, uint32_t value, uint32_t role);
  void use(uint32_t value);
  Error check_places();
  size_t list_places(Place* places) const;
  void consume_inputs();

  uint32_t find(uint32_t value);
  bool is_view_call(const Instruction& loaded) const;
  bool is_tensor(uint32_t value) const { return nodes_[value].slot < kTensorList; }
  /// The index of an argument's value.
  uint32_t index_of(const EValue* value) const {
    return static_cast<uint32_t>(value - block_.values.data());
  }
  /// The tensor's current bytes. Memory that a parametric plan assigns later is taken from the plan
  /// in the file.
  PlannedRange range(uint32_t value) const {
    const Node& node = nodes_[value];
    return node.is_given != 0 ? PlannedRange() : range(value, node.slot);
  }
  ET_INLINE_OR_SHARED PlannedRange range(uint32_t value, uint32_t slot) const {
    const auto& tensor = tensor_in(block_.tensors[slot]);
    const auto begin = reinterpret_cast<uintptr_t>(tensor.const_data_ptr());
    if (begin == 0) {
      namespace lean = executorch::runtime::internal;  // in builds for at::Tensor, another one
      return lean::planned_range(*lean::tensor_at(plan_, value));
    }
    const size_t bytes = tensor.nbytes();
    return bytes == 0 ? PlannedRange() : PlannedRange{kAddresses, begin, begin + bytes};
  }
  bool spend() { return budget_.spend(1); }

  const executorch_flatbuffer::ExecutionPlan& plan_;
  const MethodBlock& block_;
  executorch::runtime::internal::WorkBudget budget_;
  Node* nodes_ = nullptr;
  /// The first of the instruction's values, and the first of those that are written to, which come
  /// after all others.
  uint32_t list_ = 0;
  uint32_t written_ = 0;
  size_t index_ = 0;
  bool is_loaded_;
  bool late_ = false;
  bool has_views_ = false;
  bool views_outlive_ = false;
};

}  // namespace internal
}  // namespace ET_RUNTIME_NAMESPACE
}  // namespace executorch
