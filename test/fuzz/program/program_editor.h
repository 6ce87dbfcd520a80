// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// Changes of one method's values that leave the file well-formed: the parts of mutations.
#pragma once

#include <vector>

#include "fuzz/engine/random.h"
#include "fuzz/program/schema.h"
#include "runtime/executor/program_builder.h"

namespace executorch::fuzz {

namespace fb = executorch_flatbuffer;

/// Where a tensor's memory comes from.
enum class Memory { Given, Planned, Constant };

class ProgramEditor final {
 public:
  ProgramEditor(testing::TestProgram& program, testing::TestPlan& plan, Random& random)
      : program(program), plan(plan), random(random) {}

  /// Values of that kind; with `wanted` Tensor, tensors.
  std::vector<int32_t> values_of(fb::KernelTypes kind) const;
  std::vector<int32_t> planned() const;
  /// A value of that kind; adds one if there is none.
  int32_t any(fb::KernelTypes kind);
  int32_t any_tensor() { return any(fb::KernelTypes::Tensor); }
  testing::TestTensor& tensor_at(int32_t value) {
    return plan.values[static_cast<size_t>(value)].tensor;
  }
  bool is_tensor(int32_t value) const {
    const auto index = static_cast<size_t>(value);
    return index < plan.values.size() && plan.values[index].kind == fb::KernelTypes::Tensor;
  }

  int32_t add(testing::TestValue value);
  int32_t add_int(int64_t number) { return add(testing::integer(number)); }
  int32_t add_list(fb::KernelTypes kind, std::vector<int64_t> items) {
    return add(testing::list(kind, std::move(items)));
  }
  /// A tensor of these sizes, with memory.
  int32_t add_tensor(fb::ScalarType type, std::vector<int32_t> sizes, Memory memory);
  /// A bool tensor that is an input: what branches depend on.
  int32_t add_condition();

  /// Planned memory that no other tensor has.
  void plan_alone(testing::TestTensor& tensor);
  /// Constant data of its own, unless the tensor is large.
  void make_constant(testing::TestTensor& tensor);
  /// Makes the planned buffer as large as the tensor needs.
  void fit(const testing::TestTensor& tensor);
  void set_sizes(testing::TestTensor& tensor, std::vector<int32_t> sizes);

  /// The index of an operator, added if there is none.
  int32_t operator_index(const std::string& name, const std::string& overload);
  std::vector<testing::TestInstruction>& chain();
  /// Inserts before a place; jumps keep their destinations.
  void insert(testing::TestInstruction instruction, size_t at);
  void insert_anywhere(testing::TestInstruction instruction) {
    insert(std::move(instruction), random.below(chain().size() + 1));
  }
  /// The signature of a kernel call; null for other instructions and unknown operators.
  const Signature* signature_of(const testing::TestInstruction& instruction) const;

  testing::TestProgram& program;
  testing::TestPlan& plan;
  Random& random;
};

size_t bytes_of(const testing::TestTensor& tensor);
int64_t odd_number(Random& random);
fb::ScalarType any_type(Random& random);
/// Sizes of a tensor with few elements.
std::vector<int32_t> any_sizes(Random& random);

}  // namespace executorch::fuzz
