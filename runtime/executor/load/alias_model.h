// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// Relations between the values of a method: which may share memory, and who may write to it. A
// method that breaks a rule of docs/alias-model.md is refused when it is loaded, in every build.
#pragma once

#include <stddef.h>

#include <executorch/runtime/core/exec_aten/exec_aten.h>
#include <executorch/runtime/executor/plan/method_layout.h>
#include <executorch/runtime/executor/plan/planned_range.h>
#include <executorch/runtime/executor/verify/program_verifier.h>
#include <executorch/schema/program_generated.h>

namespace executorch {
namespace ET_RUNTIME_NAMESPACE {
namespace internal {

/// Checks a method whose instructions and delegates are loaded. Values that may show the same
/// memory, by a view or because a MoveCall passes a tensor on, are one class; in which order
/// instructions run is not considered. The work is linear in the program's size.
class AliasModel final {
 public:
  /// `program_size` in bytes bounds the work. `is_loaded`: the method has passed the check before,
  /// and planned memory has moved since.
  AliasModel(const executorch_flatbuffer::ExecutionPlan& plan, const MethodBlock& block,
             size_t program_size, bool is_loaded = false)
      : plan_(plan), block_(block), budget_{kWorkPerByte * program_size}, is_loaded_(is_loaded) {}

  /// Adds to block.flags, which marks inputs; fills Input::is_consumed,
  /// Instruction::has_late_memory, and Instruction::kernel from what is there before, source. The
  /// memory of block.values serves as working memory: values are again what the program says
  /// afterwards.
  /// @retval Error::InvalidProgram After a message with method, instruction and value.
  Error check();

  /// Whether a view that an execution has made could be used in the next one before it is made
  /// again: then every execution begins with views that show nothing.
  bool unbinds_views() const { return has_views_ && views_outlive_; }

 private:
  using Indices = Span<const int32_t>;
  using PlannedRange = executorch::runtime::internal::PlannedRange;

  /// Values that are looked at beyond each argument once: those of a class, pairs of places.
  static constexpr size_t kWorkPerByte = 2;

  /// What is known of a value while the method is checked.
  struct Node {
    /// Another value of the class, nearer to the one that stands for it; itself for that one.
    uint32_t root;
    /// The values of a class are a ring.
    uint32_t next;
    /// Bits of Role: what it is to the instruction.
    uint32_t role : 3;
    /// The next of the values that the instruction has to do with. A flatbuffer, of less than 2^31
    /// bytes, has fewer than 2^29 values.
    uint32_t link : 29;
    /// The tensor may be resized.
    uint32_t is_resizable : 1;
    /// Its memory is the caller's.
    uint32_t is_given : 1;
    /// The tensor's place in block.tensors; kNoTensor for other values.
    uint32_t slot : 30;
  };
  static constexpr uint32_t kNoTensor = (1u << 30) - 1;
  /// Where a value begins in planned memory.
  struct Place {
    uintptr_t begin;
    uint32_t value;
    uint32_t slot;
  };
  struct Role;

  Error check_all();
  void set_up();
  Error for_each_instruction(Error (AliasModel::*visit)(Instruction& loaded));

  Error link(Instruction& loaded);
  Error check_shown(uint32_t base, uint32_t view) const;
  Error check_instruction(Instruction& loaded);
  Error check_call(Span<EValue*> arguments, uint64_t written, size_t first_written);
  Error touch_all(size_t argument, uint32_t value, uint32_t role, uint32_t returned);
  Error touch(size_t argument, uint32_t value, uint32_t role);
  void use(uint32_t value);
  Error check_places();
  size_t list_places(Place* places) const;
  void consume_inputs();

  uint32_t find(uint32_t value);
  bool is_view_call(const Instruction& loaded) const;
  bool is_tensor(uint32_t value) const;
  /// The number of an argument's value.
  uint32_t index_of(const EValue* value) const {
    return static_cast<uint32_t>(value - block_.values.data());
  }
  /// Where the tensor is now. Memory that is given later, by a parametric plan, counts as it is in
  /// the file.
  PlannedRange range(uint32_t value) const {
    const Node& node = nodes_[value];
    return node.is_given != 0 ? PlannedRange() : range(value, node.slot);
  }
  PlannedRange range(uint32_t value, uint32_t slot) const;
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
