// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
#pragma once

#include <stddef.h>
#include <stdint.h>

#include <atomic>
#include <string_view>

#include <executorch/runtime/core/exec_aten/exec_aten.h>
#include <executorch/runtime/core/portable_type/device.h>
#include <executorch/runtime/core/result.h>
#include <executorch/runtime/core/span.h>
#include <executorch/runtime/core/tag.h>

namespace executorch_flatbuffer {
struct EValue;
struct ExecutionPlan;
struct Tensor;
}  // namespace executorch_flatbuffer

namespace executorch {
namespace ET_RUNTIME_NAMESPACE {

/// Metadata of one tensor of a program. A view: the Program must outlive it.
class TensorInfo final {
 public:
  TensorInfo() = delete;

  /// The sizes; for a dynamic tensor, the largest ones. 0 stands for an unbounded size.
  Span<const int32_t> sizes() const { return sizes_; }
  Span<const uint8_t> dim_order() const { return dim_order_; }
  executorch::aten::ScalarType scalar_type() const { return scalar_type_; }
  /// Returns true if a size has no bound. Such an input accepts any size; other such tensors get
  /// their memory from MemoryManager's dynamic allocator.
  bool is_unbounded() const { return is_unbounded_; }
  /// False if the caller provides the memory.
  bool is_memory_planned() const { return is_memory_planned_; }
  /// Bytes at the sizes above.
  size_t nbytes() const { return nbytes_; }
  /// The name, if the tensor is a parameter or buffer; else empty.
  std::string_view name() const { return name_; }

 private:
  friend class MethodMeta;
  explicit TensorInfo(const executorch_flatbuffer::Tensor& tensor, bool is_output = false);

  Span<const int32_t> sizes_;
  Span<const uint8_t> dim_order_;
  std::string_view name_;
  size_t nbytes_;
  executorch::aten::ScalarType scalar_type_;
  bool is_memory_planned_;
  bool is_unbounded_;
};

/// Namespace and name, as "aten::add", and overload, as "out" or "". Lives as long as the Program.
struct OperatorName {
  const char* name;
  const char* overload;
};

/// The place at which the last search ended, as two numbers; the next search continues there.
/// Threads may use it at the same time, because one atomic word has both numbers. Drops numbers
/// that do not fit half a word.
class SearchPosition final {
 public:
  /// Bits of each number.
  static constexpr unsigned kHalf = sizeof(uintptr_t) * 4;

  struct Numbers {
    size_t first;
    size_t second;
  };

  SearchPosition() = default;
  SearchPosition(const SearchPosition& other) noexcept : word_(other.load()) {}
  SearchPosition& operator=(const SearchPosition& other) noexcept {
    word_.store(other.load(), std::memory_order_relaxed);
    return *this;
  }

  Numbers get() const {
    const uintptr_t word = load();
    return {word >> kHalf, word & kMaxNumber};
  }
  void set(Numbers numbers) {
    if (numbers.first <= kMaxNumber && numbers.second <= kMaxNumber) {
      word_.store(numbers.first << kHalf | numbers.second, std::memory_order_relaxed);
    }
  }

 private:
  static constexpr uintptr_t kMaxNumber = (uintptr_t{1} << kHalf) - 1;

  uintptr_t load() const { return word_.load(std::memory_order_relaxed); }

  std::atomic<uintptr_t> word_{0};
};

/// Metadata of one method of a program, available without loading it. A view: the Program must
/// outlive it. Indices that are out of range give Error::InvalidArgument.
class MethodMeta final {
 public:
  MethodMeta() = delete;

  const char* name() const;

  size_t num_inputs() const;
  Result<Tag> input_tag(size_t index) const;
  /// InvalidArgument if the input is not a tensor.
  Result<TensorInfo> input_tensor_meta(size_t index) const;

  size_t num_outputs() const;
  Result<Tag> output_tag(size_t index) const;
  /// InvalidArgument if the output is not a tensor.
  Result<TensorInfo> output_tensor_meta(size_t index) const;

  /// Tensors of the method that have a name.
  size_t num_attributes() const;
  Result<TensorInfo> attribute_tensor_meta(size_t index) const;

  // Memory that a MemoryManager must provide.

  size_t num_memory_planned_buffers() const;
  /// In bytes. Buffer 0 of a method that is planned parametric in shape: the largest size.
  Result<int64_t> memory_planned_buffer_size(size_t index) const;
  /// Returns true if the size of buffer 0 depends on the inputs' sizes:
  /// Method::memory_planned_buffer_size() returns it once they are set.
  bool is_memory_plan_parametric() const { return plan_words_ > 0; }
  /// Returns true if the buffer has tensors that keep their values between executions. The program
  /// marks them by an initial value or a name; state that starts with zeros has only a name. False
  /// for an index out of range. One walk over the values covers 32 buffers.
  bool memory_planned_buffer_has_state(size_t index) const;
  /// Bytes of initial data that loading copies to planned memory. States in one place count each.
  uint64_t initial_state_bytes() const;
  Result<etensor::Device> memory_planned_buffer_device(size_t index) const;
  /// Number of unbounded tensors that are not inputs: above 0, the MemoryManager needs a dynamic
  /// allocator.
  size_t num_unbounded_tensors() const;
  /// The bytes, aligned to 8, that loading the method takes from the method allocator; backends
  /// take theirs in addition.
  size_t method_allocator_size() const;

  bool uses_backend(const char* backend_name) const;
  /// Number of delegates; a backend with several delegates counts for each of them.
  size_t num_backends() const;
  Result<const char*> get_backend_name(size_t index) const;

  // Older names of the functions on planned buffers.
  size_t num_non_const_buffers() const { return num_memory_planned_buffers(); }
  Result<int64_t> non_const_buffer_size(size_t index) const {
    return memory_planned_buffer_size(index);
  }

  size_t num_instructions() const;
  size_t num_operators() const;
  Result<OperatorName> operator_name(size_t index) const;

 private:
  friend class Program;
  friend class Method;
  MethodMeta(const executorch_flatbuffer::ExecutionPlan* plan, size_t plan_words)
      : plan_(plan), plan_words_(plan_words) {}

  /// The value whose index is interface[index].
  const executorch_flatbuffer::EValue& value(Span<const int32_t> interface, size_t index) const;
  Result<Tag> tag(Span<const int32_t> interface, size_t index) const;
  Result<TensorInfo> tensor_meta(Span<const int32_t> interface, size_t index) const;

  const executorch_flatbuffer::ExecutionPlan* plan_;
  /// Number of words of the parametric plan.
  size_t plan_words_;
  /// The last value searched, and the number of attributes before it.
  mutable SearchPosition attribute_;
  /// The number of attributes plus 1; 0 before they are counted.
  mutable SearchPosition attributes_;
  /// The number of a group of 32 planned buffers, from 1, and a bit for each buffer with state.
  mutable SearchPosition states_;
};

}  // namespace ET_RUNTIME_NAMESPACE
}  // namespace executorch

// Documented names of the same things.
namespace torch::executor {
using ::executorch::runtime::MethodMeta;
using ::executorch::runtime::TensorInfo;
}  // namespace torch::executor
