// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// Well-formed programs that try to access memory outside their tensors. Each row is a class of
// attacks.
#pragma once

#include <stdint.h>

#include <functional>
#include <ostream>
#include <string>
#include <vector>

#include "runtime/executor/program_builder.h"

namespace executorch::testing {

using Type = fb::ScalarType;
using Kind = fb::KernelTypes;
using Dynamism = fb::TensorShapeDynamism;
using Sizes = std::vector<int32_t>;

/// One program, and the expected result of loading it.
struct HostileProgram {
  std::string name;
  std::function<TestProgram()> make;
  /// A part of the message with which loading refuses it; empty: it loads, and its executions end
  /// with or without an error.
  std::string refused;
};

/// Aliases by views, moves, lists, jumps and frees; values that change their sizes.
std::vector<HostileProgram> hostile_relations();
/// Places of constants, initial data and planned tensors; shapes; parametric plans; names.
std::vector<HostileProgram> hostile_files();
/// Tensors without bound: freed, moved, listed, viewed; methods and names that repeat.
std::vector<HostileProgram> hostile_growth();
/// Arguments of kernels that do not fit together.
std::vector<HostileProgram> hostile_calls();
/// Mismatched arguments of language-model, quantized, linear-algebra and grouped GEMM operators.
std::vector<HostileProgram> hostile_library_calls();
/// Transposed convolutions of 65,536 places, each of which takes a fraction of a second.
std::vector<HostileProgram> hostile_windows();
/// Delegates that share arguments with kernels, views, moves and each other.
std::vector<HostileProgram> hostile_delegates();
/// Views and conditions in loops and branches; results whose sizes change.
std::vector<HostileProgram> hostile_flow();
/// Tensors without elements that have a billion rows.
std::vector<HostileProgram> hostile_empty_calls();
/// Tensors without elements as arguments of quantized, linear-algebra, language-model and
/// windowed operators.
std::vector<HostileProgram> hostile_empty_library_calls();
/// Small operands that stand for many elements: broadcasts, batches of empty matrices, windows.
std::vector<HostileProgram> hostile_expansions();
/// NaN, infinities and huge numbers in every kind of argument; bools of any byte.
std::vector<HostileProgram> hostile_reals();
/// Numbers that a program computes, at the limits of their type.
std::vector<HostileProgram> hostile_numbers();
/// Moves in chains; lists and methods that share their memory.
std::vector<HostileProgram> hostile_sharing();
/// Several relations at a time: outputs, frees, conditions, states.
std::vector<HostileProgram> hostile_combinations();
/// Parametric plans that place moved, viewed, repeated and consumed tensors.
std::vector<HostileProgram> hostile_placements();

/// For googletest, which prints an object's bytes otherwise.
inline void PrintTo(const HostileProgram& program, std::ostream* out) { *out << program.name; }

/// Makes the method "forward", value by value. Tensors lie one after the other in planned buffer 1,
/// unless they say otherwise.
class MethodWriter final {
 public:
  MethodWriter() {
    program_.plans.resize(1);
    plan().chains.resize(1);
    // Entry 0 is reserved.
    program_.constant_buffer = {"", std::string(256, '\1')};
  }

  TestPlan& plan() { return program_.plans[0]; }
  TestProgram& program() { return program_; }
  std::vector<TestInstruction>& code() { return plan().chains[0]; }
  TestTensor& tensor_at(int32_t value) { return plan().values[static_cast<size_t>(value)].tensor; }

  int32_t value(TestValue value) {
    plan().values.push_back(std::move(value));
    return static_cast<int32_t>(plan().values.size() - 1);
  }
  /// Adds a tensor in planned memory.
  int32_t planned(Type type, Sizes sizes, Dynamism dynamism = Dynamism::STATIC);
  /// In planned buffer 1 at that byte.
  int32_t at(uint64_t offset, Type type, Sizes sizes, Dynamism dynamism = Dynamism::STATIC);
  /// Without memory: for the caller to give, or a view.
  int32_t given(Type type, Sizes sizes, Dynamism dynamism = Dynamism::STATIC);
  int32_t constant(Type type, Sizes sizes);
  int32_t input(int32_t value) {
    plan().inputs.push_back(value);
    return value;
  }
  int32_t output(int32_t value) {
    plan().outputs.push_back(value);
    return value;
  }
  /// A list of numbers, each a value of its own.
  int32_t ints(const std::vector<int64_t>& numbers);

  void call(const std::string& op, std::vector<int32_t> arguments);
  void view(int32_t base, const std::vector<int64_t>& sizes, int32_t shown) {
    const int32_t list = ints(sizes);
    call("executorch_prim::et_view.default", {base, list, shown, shown});
  }
  /// out = a + b
  void add(int32_t a, int32_t b, int32_t out) {
    call("aten::add.out", {a, b, value(integer(1)), out, out});
  }
  void run(TestInstruction instruction) { code().push_back(std::move(instruction)); }

  TestProgram finish();

 private:
  TestProgram program_;
  uint64_t end_ = 0;
};

/// The bytes of a tensor of these sizes, 0 if they do not fit.
uint64_t planned_bytes(Type type, const Sizes& sizes);

}  // namespace executorch::testing
