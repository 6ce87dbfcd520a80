// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
#include "fuzz/program/mutate_program.h"

#include <algorithm>
#include <iterator>
#include <string>
#include <utility>

namespace executorch::fuzz {

using namespace executorch::testing;
using Call = fb::InstructionArguments;
using Kind = fb::KernelTypes;

namespace {

TestInstruction* any_instruction(ProgramEditor& e) {
  auto& chain = e.chain();
  return chain.empty() ? nullptr : &e.random.pick(chain);
}

/// A call of a kernel or delegate that has arguments.
TestInstruction* any_call(ProgramEditor& e) {
  for (int attempt = 0; attempt < 8; ++attempt) {
    TestInstruction* const instruction = any_instruction(e);
    if (instruction != nullptr && !instruction->arguments.empty()) {
      return instruction;
    }
  }
  return nullptr;
}

// ---- memory of tensors

/// Moves a tensor to the place of another one.
void move_to(TestTensor& moved, const TestTensor& other) {
  moved.memory_id = other.memory_id;
  moved.offset = other.offset;
}

void share_memory(ProgramEditor& e) {
  const std::vector<int32_t> planned = e.planned();
  if (planned.size() < 2) {
    return;
  }
  TestTensor& moved = e.tensor_at(e.random.pick(planned));
  move_to(moved, e.tensor_at(e.random.pick(planned)));
  if (e.random.one_in(3)) {
    moved.offset += 8 * e.random.below(4);
  }
  e.fit(moved);
}

/// Puts two tensors of one call, such as an operand and the result, in the same memory.
void share_in_call(ProgramEditor& e) {
  TestInstruction* const call = any_call(e);
  if (call == nullptr) {
    return;
  }
  std::vector<int32_t> tensors;
  for (const int32_t argument : call->arguments) {
    if (e.is_tensor(argument) && e.tensor_at(argument).memory_id != 0) {
      tensors.push_back(argument);
    }
  }
  if (tensors.size() > 1) {
    TestTensor& moved = e.tensor_at(e.random.one_in(2) ? tensors.back() : e.random.pick(tensors));
    move_to(moved, e.tensor_at(e.random.pick(tensors)));
    e.fit(moved);
  }
}

void change_memory(ProgramEditor& e) {
  TestTensor& tensor = e.tensor_at(e.any_tensor());
  switch (e.random.below(4)) {
    case 0:
      tensor.memory_id = 0;
      tensor.data_buffer_idx = 0;
      break;
    case 1:
      e.plan_alone(tensor);
      break;
    case 2:
      e.make_constant(tensor);
      break;
    default: {
      // The constant of another tensor.
      const TestTensor& other = e.tensor_at(e.any_tensor());
      tensor.data_buffer_idx = other.data_buffer_idx;
      tensor.memory_id = other.memory_id == 0 ? 0 : tensor.memory_id;
    }
  }
}

/// Adds a second tensor in a tensor's memory, of other sizes or another dtype.
void add_twin(ProgramEditor& e) {
  const int32_t original = e.any_tensor();
  TestTensor twin = e.tensor_at(original);
  if (e.random.one_in(2)) {
    twin.type = any_type(e.random);
  } else {
    e.set_sizes(twin, any_sizes(e.random));
  }
  e.fit(twin);
  const int32_t id = e.add(tensor(std::move(twin)));
  if (TestInstruction* call = any_call(e)) {
    for (int32_t& argument : call->arguments) {
      argument = argument == original ? id : argument;
    }
  }
}

// ---- tensors

void change_sizes(ProgramEditor& e) {
  TestTensor& tensor = e.tensor_at(e.any_tensor());
  std::vector<int32_t> sizes = tensor.sizes;
  if (sizes.empty() || e.random.one_in(4)) {
    sizes = any_sizes(e.random);
  } else {
    e.random.pick(sizes) = static_cast<int32_t>(e.random.between(0, 6));
  }
  e.set_sizes(tensor, std::move(sizes));
  e.fit(tensor);
}

void change_type(ProgramEditor& e) {
  TestTensor& tensor = e.tensor_at(e.any_tensor());
  tensor.type = any_type(e.random);
  e.fit(tensor);
}

void change_dynamism(ProgramEditor& e) {
  e.tensor_at(e.any_tensor()).dynamism = e.random.pick(
      {fb::TensorShapeDynamism::STATIC, fb::TensorShapeDynamism::DYNAMIC_BOUND,
       fb::TensorShapeDynamism::DYNAMIC_BOUND, fb::TensorShapeDynamism::DYNAMIC_UNBOUND});
}

// ---- other values

void change_value(ProgramEditor& e) {
  if (e.plan.values.empty()) {
    return;
  }
  TestValue& value = e.random.pick(e.plan.values);
  switch (value.kind) {
    case Kind::Int:
      value.number = odd_number(e.random);
      break;
    case Kind::Bool:
      value.number = value.number == 0 ? 1 : 0;
      break;
    case Kind::Double:
      value.real = static_cast<double>(odd_number(e.random)) / 2;
      break;
    case Kind::DoubleList:
      value.reals.push_back(0.5);
      break;
    case Kind::BoolList:
      value.list.push_back(1);
      break;
    case Kind::Tensor:
      change_sizes(e);
      break;
    default:
      break;
  }
}

void change_list(ProgramEditor& e) {
  const Kind kind = e.random.pick({Kind::TensorList, Kind::OptionalTensorList, Kind::IntList});
  const std::vector<int32_t> lists = e.values_of(kind);
  if (lists.empty()) {
    return;
  }
  const int32_t item = e.any(kind == Kind::IntList ? Kind::Int : Kind::Tensor);
  std::vector<int64_t>& items = e.plan.values[static_cast<size_t>(e.random.pick(lists))].list;
  if (items.empty() || e.random.one_in(3)) {
    items.push_back(item);
  } else if (e.random.one_in(4)) {
    items.pop_back();
  } else {
    e.random.pick(items) = e.random.one_in(3) ? e.random.pick(items) : item;
  }
}

void change_interface(ProgramEditor& e) {
  std::vector<int32_t>& indices = e.random.one_in(2) ? e.plan.inputs : e.plan.outputs;
  if (indices.empty() || e.random.one_in(2)) {
    indices.push_back(e.any_tensor());
  } else if (e.random.one_in(2)) {
    indices.erase(indices.begin() + static_cast<ptrdiff_t>(e.random.below(indices.size())));
  } else {
    e.random.pick(indices) = e.any_tensor();
  }
}

// ---- instructions

void change_argument(ProgramEditor& e) {
  if (TestInstruction* call = any_call(e)) {
    const size_t at = e.random.below(call->arguments.size());
    const int32_t old = call->arguments[at];
    if (static_cast<size_t>(old) < e.plan.values.size()) {
      const int32_t other = e.any(e.plan.values[static_cast<size_t>(old)].kind);
      // A call has its result as the last two arguments.
      const bool everywhere = e.random.one_in(2);
      for (size_t i = 0; i < call->arguments.size(); ++i) {
        if (i == at || (everywhere && call->arguments[i] == old)) {
          call->arguments[i] = other;
        }
      }
    }
  }
}

/// Makes an operand the result, or the result an operand.
void write_operand(ProgramEditor& e) {
  TestInstruction* const call = any_call(e);
  if (call == nullptr) {
    return;
  }
  const int32_t result = call->arguments.back();
  int32_t& argument = e.random.pick(call->arguments);
  if (!e.is_tensor(result) || !e.is_tensor(argument)) {
    return;
  }
  if (e.random.one_in(2)) {
    argument = result;
  } else {
    const int32_t operand = argument;
    for (int32_t& other : call->arguments) {
      other = other == result ? operand : other;
    }
  }
  if (!e.random.one_in(4)) {
    e.tensor_at(argument).dynamism = fb::TensorShapeDynamism::DYNAMIC_BOUND;
  }
}

void change_order(ProgramEditor& e) {
  auto& chain = e.chain();
  if (chain.empty()) {
    return;
  }
  const size_t at = e.random.below(chain.size());
  switch (e.random.below(3)) {
    case 0:
      chain.erase(chain.begin() + static_cast<ptrdiff_t>(at));
      break;
    case 1:
      std::swap(chain[at], e.random.pick(chain));
      break;
    default:
      e.insert_anywhere(TestInstruction(chain[at]));
  }
}

void add_move(ProgramEditor& e) {
  const Kind kind = e.random.pick({Kind::Tensor, Kind::Tensor, Kind::TensorList, Kind::IntList,
                                   Kind::OptionalTensorList, Kind::Int, Kind::Bool});
  const int32_t from = e.any(kind);
  e.insert_anywhere(move(from, e.any(kind)));
}

void add_jump(ProgramEditor& e) {
  const size_t size = e.chain().size();
  const size_t at = e.random.below(size + 1);
  const std::vector<int32_t> bools = e.values_of(Kind::Bool);
  const int32_t condition =
      !bools.empty() && e.random.one_in(6) ? e.random.pick(bools) : e.add_condition();
  // Mostly forwards, so that one execution skips instructions that another one runs.
  const size_t to =
      e.random.one_in(6) ? e.random.below(size + 2) : at + 1 + e.random.below(size + 1);
  e.insert(jump_false(condition, static_cast<int32_t>(std::min(to, size + 1))), at);
}

/// Adds a view of a tensor, and lets calls use it in place of the tensor.
void add_view(ProgramEditor& e) {
  const int32_t viewed = e.any_tensor();
  const TestTensor& original = e.tensor_at(viewed);
  std::vector<int64_t> sizes;
  for (const int32_t size : original.sizes) {
    sizes.push_back(e.add_int(size));
  }
  const int32_t list = e.add_list(Kind::IntList, std::move(sizes));
  const TestTensor copy = e.tensor_at(viewed);
  const int32_t view = e.random.one_in(6)
                           ? e.any_tensor()
                           : e.add_tensor(copy.type, copy.sizes,
                                          e.random.one_in(6) ? Memory::Planned : Memory::Given);
  e.tensor_at(view).dynamism = e.tensor_at(viewed).dynamism;
  const int32_t op = e.operator_index("executorch_prim::et_view", "default");
  const size_t at = e.random.below(e.chain().size() + 1);
  for (size_t i = at; i < e.chain().size(); ++i) {
    for (int32_t& argument : e.chain()[i].arguments) {
      if (argument == viewed && e.random.one_in(2)) {
        argument = view;
      }
    }
  }
  e.insert(kernel(op, {viewed, list, view, view}), at);
  if (e.random.one_in(2)) {
    const int32_t condition = e.add_condition();
    e.insert(jump_false(condition, static_cast<int32_t>(at + 2)), at);
  }
}

void add_free(ProgramEditor& e) { e.insert_anywhere(free_value(e.any_tensor())); }

/// Names the same kernel by another split into name and overload.
void split_operator_name(ProgramEditor& e) {
  if (e.plan.operators.empty()) return;
  auto& [name, overload] = e.random.pick(e.plan.operators);
  if (!overload.empty()) {
    name += "." + overload;
    overload.clear();
  } else if (const size_t dot = name.find('.'); dot != std::string::npos) {
    overload = name.substr(dot + 1);
    name.resize(dot);
  }
}

/// Writes a number to any place, possibly an invalid one.
void break_number(ProgramEditor& e) {
  if (TestInstruction* instruction = any_instruction(e)) {
    switch (e.random.below(3)) {
      case 0:
        instruction->first = static_cast<int32_t>(odd_number(e.random));
        break;
      case 1:
        instruction->second = static_cast<int32_t>(odd_number(e.random));
        break;
      default:
        if (!instruction->arguments.empty()) {
          e.random.pick(instruction->arguments) = static_cast<int32_t>(odd_number(e.random));
        }
    }
  }
}

struct Mutation {
  void (*change)(ProgramEditor&);
  size_t weight;
};

constexpr Mutation kMutations[] = {
    {share_memory, 3},
    {share_in_call, 4},
    {change_memory, 3},
    {add_twin, 2},
    {change_sizes, 3},
    {change_type, 2},
    {change_dynamism, 3},
    {change_value, 3},
    {change_list, 3},
    {change_interface, 3},
    {change_argument, 5},
    {write_operand, 4},
    {change_order, 3},
    {add_move, 2},
    {add_jump, 3},
    {add_view, 3},
    {add_free, 1},
    {add_any_call, 4},
    {break_number, 1},
    {add_parametric_plan, 1},
    {split_operator_name, 1},
};

const Mutation& any_mutation(Random& random) {
  size_t total = 0;
  for (const Mutation& mutation : kMutations) {
    total += mutation.weight;
  }
  size_t chosen = random.below(total);
  for (const Mutation& mutation : kMutations) {
    if (chosen < mutation.weight) {
      return mutation;
    }
    chosen -= mutation.weight;
  }
  return kMutations[0];
}

}  // namespace

void mutate(TestProgram& program, Random& random) {
  if (program.plans.empty()) {
    program = generate_program(random);
  }
  ProgramEditor editor(program, random.pick(program.plans), random);
  for (size_t changes = 1 + random.below(4); changes > 0; --changes) {
    any_mutation(random).change(editor);
  }
  // With more instructions, programs take too long.
  constexpr size_t kMaxInstructions = 40;
  if (editor.chain().size() > kMaxInstructions) {
    editor.chain().resize(kMaxInstructions);
  }
}

}  // namespace executorch::fuzz
