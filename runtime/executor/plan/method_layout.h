// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// All arrays of a loaded method, in one block of memory. The walk over the program that computes
// the block's size also lays it out.
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <optional>
#include <type_traits>

#include <executorch/runtime/backend/interface.h>
#include <executorch/runtime/core/evalue.h>
#include <executorch/runtime/core/exec_aten/exec_aten.h>
#include <executorch/runtime/core/exec_aten/util/tensor_growth.h>
#include <executorch/runtime/core/exec_aten/util/tensor_over_memory.h>
#include <executorch/runtime/core/freeable_buffer.h>
#include <executorch/runtime/core/overflow.h>
#include <executorch/runtime/core/span.h>
#include <executorch/runtime/kernel/operator_registry.h>

namespace executorch_flatbuffer {
struct ExecutionPlan;
struct Tensor;
}  // namespace executorch_flatbuffer

namespace executorch {
namespace ET_RUNTIME_NAMESPACE {
namespace internal {

/// A delegate: the handle that a backend made from its payload.
struct Delegate {
  const BackendInterface* backend;
  DelegateHandle* handle;
  FreeableBuffer processed;
  Span<CompileSpec> compile_specs;
};

enum class Opcode : uint8_t {
  /// kernel(arguments)
  Kernel,
  /// delegate->execute(arguments)
  Delegate,
  /// *arguments[1] = *arguments[0]
  Move,
  /// Continue at instruction `number` if *arguments[0] is false.
  JumpFalse,
  /// Frees the memory of tensor *arguments[0] if it is unbounded; planned memory is not freed.
  Free,
};

struct Instruction {
  union {
    OpFunction kernel;
    Delegate* delegate;
    /// While loading: the registered kernel that has `kernel`.
    const Kernel* source;
  };
  EValue** arguments;
  /// The number of arguments, or the destination of a jump.
  uint32_t number;
  Opcode opcode;
  /// Some tensor argument gets its memory at run time: check that it has some.
  bool has_late_memory;
  /// The index of the operator that a kernel call names.
  uint16_t op;
};

/// An input of the method.
struct Input {
  EValue* value;
  /// Its table in the program; null if it is not a tensor.
  const executorch_flatbuffer::Tensor* tensor;
  /// The tensor itself, wherever a MoveCall has pointed the value to.
  executorch::aten::TensorImpl* impl;
  bool is_set;
  /// Execution overwrites it: the plan reuses its memory for other values.
  bool is_consumed;
  /// Its planned memory while the tensor points elsewhere; else null.
  void* planned;
};

/// Results of AliasModel for a value.
enum ValueFlag : uint8_t {
  /// May show memory that must not be written to: data of the program's file, which may be mapped
  /// read-only, or data from outside of it.
  kConstantValue = 1,
  /// The result of a view: shows another value's memory from when it is made.
  kViewValue = 2,
  kInputValue = 4,
  /// Destination of a MoveCall of a tensor, which is not a view.
  kMovedValue = 8,
  /// A view that may show an input whose memory is the caller's.
  kGivenView = 8,
  // Bit 16 has several meanings, one after the other. kShowsGivenInput is cleared for every value
  // before kMadeView is set. kMadeView stays, but only views have it, and kConsumedInput is read
  // for
  // inputs only.
  /// Until AliasModel::set_up(): the tensor may be resized.
  kResizableValue = 16,
  /// Until AliasModel has all classes, of the representative of a class: the class has an input
  /// whose memory is the caller's.
  kShowsGivenInput = 16,
  /// While AliasModel checks instructions, of views: an earlier instruction makes the view.
  kMadeView = 16,
  /// In AliasModel::consume_inputs(), of inputs (never views): the plan reuses the planned memory
  /// for another value.
  kConsumedInput = 16,
  /// Once mark_unaliased_values() has run: no value depends on where the output is.
  kUnaliasedOutput = 16,
  /// A call writes to it, or to a value that may be the same tensor.
  kWrittenValue = 32,
  /// While loading: a call writes to it, or to a value that may be the same tensor, and may resize
  /// it.
  kResizedValue = 64,
  /// Once mark_unaliased_values() has run: no value depends on where the input is.
  kUnaliasedInput = 64,
  /// Has no memory until an execution gives it some.
  kLateValue = 128,
};

/// Results of AliasModel for all views.
struct ViewFacts {
  /// A view of one execution could be used in the next one before it is made again. Then every
  /// execution starts with empty views.
  uint32_t outlive : 1;
  /// The number of values up to the last one with kGivenView.
  uint32_t given_end : 31;
};

/// The arrays of a method. Elements are not constructed by laying the block out.
struct MethodBlock {
  Span<EValue> values;
  Span<Instruction> instructions;
  Span<Input> inputs;
  Span<Delegate> delegates;
  /// Data from outside of the program.
  Span<FreeableBuffer> external;
  Span<TensorSlot> tensors;
  Span<CompileSpec> compile_specs;
  /// The kernel found for each operator: the strictest one if several accept its dtypes.
  Span<const Kernel*> kernels;

  // Lists; their items as pointers to values, and memory into which the items are read.
  Span<executorch::aten::ArrayRef<char>> strings;
  Span<executorch::aten::ArrayRef<double>> double_lists;
  Span<executorch::aten::ArrayRef<bool>> bool_lists;
  Span<BoxedEvalueList<int64_t>> int_lists;
  Span<BoxedEvalueList<executorch::aten::Tensor>> tensor_lists;
  Span<BoxedEvalueList<std::optional<executorch::aten::Tensor>>> optional_lists;
  Span<int64_t> int_items;
  Span<executorch::aten::Tensor> tensor_items;
  Span<std::optional<executorch::aten::Tensor>> optional_items;
  /// Pointers of all lists, then of all instructions.
  Span<EValue*> pointers;

  /// Memory of tensors without bound, with their sizes.
  Span<TensorGrowth> growths;
  /// Sizes of tensors that may be resized.
  Span<executorch::aten::SizesType> sizes;
  Span<executorch::aten::StridesType> strides;
  /// For each value, bits of ValueFlag.
  Span<uint8_t> flags;
  /// The method's parametric plan as the program has it, and room for the results of its steps.
  Span<uint32_t> plan_words;
  Span<int64_t> plan_values;
};

constexpr size_t kMethodBlockAlignment = 8;

/// Lengths of the arrays in a method's block.
struct MethodCounts {
  size_t values = 0;
  size_t inputs = 0;
  size_t operators = 0;
  size_t delegates = 0;
  size_t tensors = 0;
  size_t external = 0;
  size_t dims = 0;
  size_t changing_dims = 0;
  size_t growths = 0;
  size_t strings = 0;
  size_t double_lists = 0;
  size_t bool_lists = 0;
  size_t int_lists = 0;
  size_t tensor_lists = 0;
  size_t optional_lists = 0;
  size_t int_items = 0;
  size_t tensor_items = 0;
  size_t optional_items = 0;
  size_t instructions = 0;
  size_t arguments = 0;
  size_t compile_specs = 0;
  size_t plan_words = 0;
};

/// Counts the bytes of arrays that lie one after the other.
class BlockSize {
 public:
  template <typename T>
  constexpr void take(size_t count, Span<T>*) {
    static_assert(alignof(T) <= kMethodBlockAlignment, "the block's alignment is not enough");
    advance(count, sizeof(T), alignof(T));
  }

  constexpr size_t size() const { return overflow_ ? SIZE_MAX : used_; }

 protected:
  /// The start of the next array.
  ET_NOINLINE constexpr size_t advance(size_t count, size_t size, size_t alignment) {
    size_t bytes = 0;
    overflow_ |= executorch::runtime::mul_overflows(count, size, &bytes);
    // Padding is needed where an array of wider elements follows one of narrower.
    overflow_ |= executorch::runtime::add_overflows(used_, alignment - 1, &used_);
    used_ &= ~(alignment - 1);
    const size_t start = used_;
    overflow_ |= executorch::runtime::add_overflows(used_, bytes, &used_);
    return start;
  }

 private:
  size_t used_ = 0;
  bool overflow_ = false;
};

/// Points the arrays of a MethodBlock into the block of memory at an address, one after the other,
/// in the order in which they are declared. Nothing is read or written at the address.
class BlockCursor final : public BlockSize {
 public:
  BlockCursor(uintptr_t address, MethodBlock* block)
      : address_(address), next_(reinterpret_cast<uint8_t*>(block)) {}

  template <typename T>
  void take(size_t count, Span<T>* array) {
    static_assert(alignof(T) <= kMethodBlockAlignment, "the block's alignment is not enough");
    static_assert(sizeof(Span<T>) == sizeof(Array) && std::is_trivially_copyable_v<Span<T>>,
                  "an array is copied to the span");
    ET_DCHECK(reinterpret_cast<uint8_t*>(array) == next_);
    take_next(count, sizeof(T) * kAlignments | alignof(T));
  }

 private:
  struct Array {
    void* data;
    size_t size;
  };
  static constexpr size_t kAlignments = 2 * kMethodBlockAlignment;

  /// One function for all arrays, with few arguments: a third of the code. `item` has the size and
  /// alignment of an item.
  ET_NOINLINE void take_next(size_t count, size_t item) {
    const size_t start = advance(count, item / kAlignments, item % kAlignments);
    const Array array{reinterpret_cast<void*>(address_ + start), count};
    memcpy(next_, &array, sizeof(array));
    next_ += sizeof(array);
  }

  uintptr_t address_;
  uint8_t* next_;
};

/// Takes every array of `block`; `Cursor` is one of the two above.
template <typename Cursor>
constexpr void lay_out(const MethodCounts& counts, Cursor* cursor, MethodBlock* block) {
  cursor->take(counts.values, &block->values);
  cursor->take(counts.instructions, &block->instructions);
  cursor->take(counts.inputs, &block->inputs);
  cursor->take(counts.delegates, &block->delegates);
  cursor->take(counts.external, &block->external);
  cursor->take(counts.tensors, &block->tensors);
  cursor->take(counts.compile_specs, &block->compile_specs);
  cursor->take(counts.operators, &block->kernels);
  cursor->take(counts.strings, &block->strings);
  cursor->take(counts.double_lists, &block->double_lists);
  cursor->take(counts.bool_lists, &block->bool_lists);
  cursor->take(counts.int_lists, &block->int_lists);
  cursor->take(counts.tensor_lists, &block->tensor_lists);
  cursor->take(counts.optional_lists, &block->optional_lists);
  cursor->take(counts.int_items, &block->int_items);
  cursor->take(counts.tensor_items, &block->tensor_items);
  cursor->take(counts.optional_items, &block->optional_items);
  cursor->take(counts.int_items + counts.tensor_items + counts.optional_items + counts.arguments,
               &block->pointers);
  cursor->take(counts.growths, &block->growths);
  cursor->take(counts.changing_dims, &block->sizes);
  cursor->take(counts.dims, &block->strides);
  cursor->take(counts.values, &block->flags);
  cursor->take(counts.plan_words, &block->plan_words);
  // A step takes three words.
  cursor->take(counts.plan_words / 3, &block->plan_values);
}

/// Bytes of the block of a method with these counts, on the target that this is compiled for;
/// SIZE_MAX if they do not fit size_t. With it, a build that knows the program can make the memory
/// static.
constexpr size_t method_block_size(const MethodCounts& counts) {
  BlockSize cursor;
  MethodBlock unused;
  lay_out(counts, &cursor, &unused);
  return cursor.size();
}

/// Counts the items of the method's arrays. `plan_words` is the length of its parametric plan (see
/// parametric_plan.h).
MethodCounts count_method(const executorch_flatbuffer::ExecutionPlan& plan, size_t plan_words);

/// Points the arrays of `block` into `memory`, which is aligned to kMethodBlockAlignment, and
/// returns the bytes that they take; SIZE_MAX if these do not fit size_t. Call it with a null
/// `memory` to find the size.
size_t lay_out_method(const MethodCounts& counts, uint8_t* memory, MethodBlock* block);

/// Construct, and destroy, the items that need it: growth states, and, in ATen mode, tensors and
/// values, which count references.
void construct_references(const MethodBlock& block);
void destroy_references(const MethodBlock& block);

/// Frees the memory of unbounded tensors.
void release_growing(const MethodBlock& block);

}  // namespace internal
}  // namespace ET_RUNTIME_NAMESPACE
}  // namespace executorch
