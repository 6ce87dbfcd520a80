// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
#include <algorithm>

#include "fuzz/program/mutate_program.h"
#include "fuzz/program/recorded_seeds.h"

namespace executorch::fuzz {

using namespace executorch::testing;
using Kind = fb::KernelTypes;

namespace {

/// Makes arguments for one call: they share a shape and a dtype more often than not.
class CallMaker final {
 public:
  CallMaker(ProgramEditor& editor, const Signature& signature)
      : e_(editor),
        random_(editor.random),
        signature_(signature),
        type_(any_type(random_)),
        sizes_(any_sizes(random_)) {}

  void add() {
    std::vector<int32_t> arguments;
    for (const Parameter& parameter : signature_.parameters) {
      arguments.push_back(argument(parameter));
    }
    if (!signature_.parameters.empty()) {
      // Programs repeat an operator's result as the last argument.
      arguments.push_back(arguments.back());
    }
    if (!outputs_.empty() && random_.one_in(2)) {
      e_.plan.outputs.push_back(outputs_.back());
    }
    const int32_t op = e_.operator_index(signature_.name, signature_.overload);
    e_.insert(kernel(op, std::move(arguments)),
              random_.one_in(3) ? random_.below(e_.chain().size() + 1) : e_.chain().size());
  }

 private:
  int32_t argument(const Parameter& parameter) {
    if (parameter.is_optional && random_.one_in(2)) {
      return e_.add(none());
    }
    switch (parameter.type) {
      case ArgumentType::Tensor:
        return parameter.is_written ? output(parameter) : tensor_argument();
      case ArgumentType::TensorList:
        return e_.add_list(Kind::TensorList, tensors(parameter));
      case ArgumentType::OptionalTensorList: {
        std::vector<int64_t> items = tensors(parameter);
        if (random_.one_in(3)) {
          items.insert(items.begin() + static_cast<ptrdiff_t>(random_.below(items.size() + 1)), -1);
        }
        return e_.add_list(Kind::OptionalTensorList, std::move(items));
      }
      case ArgumentType::Int:
        return random_.one_in(8) ? e_.any(Kind::Int) : e_.add_int(number());
      case ArgumentType::IntList: {
        std::vector<int64_t> items(length(parameter));
        for (int64_t& item : items) {
          item = e_.add_int(number());
        }
        return e_.add_list(Kind::IntList, std::move(items));
      }
      case ArgumentType::Double:
        return e_.add(real(fraction()));
      case ArgumentType::DoubleList: {
        TestValue test_value = list(Kind::DoubleList, {});
        test_value.reals.assign(length(parameter), fraction());
        return e_.add(std::move(test_value));
      }
      case ArgumentType::Bool:
        return e_.add(boolean(random_.one_in(2)));
      case ArgumentType::BoolList: {
        std::vector<int64_t> items(length(parameter));
        for (int64_t& item : items) {
          item = static_cast<int64_t>(random_.below(2));
        }
        return e_.add_list(Kind::BoolList, std::move(items));
      }
      case ArgumentType::Scalar:
        return random_.one_in(2) ? e_.add(real(fraction())) : e_.add_int(number());
      case ArgumentType::ScalarType:
        return e_.add_int(static_cast<int64_t>(any_type(random_)));
      case ArgumentType::String:
        return e_.add(string(random_.pick({"none", "sum", "mean", "tanh", "floor", "trunc", ""})));
      case ArgumentType::None:
        return e_.add(none());
    }
    return e_.add(none());
  }

  size_t length(const Parameter& parameter) {
    if (parameter.length != 0 && !random_.one_in(8)) {
      return parameter.length;
    }
    return random_.one_in(2) ? sizes_.size() : random_.below(4);
  }

  int64_t number() { return random_.one_in(16) ? odd_number(random_) : random_.between(-1, 3); }

  double fraction() { return random_.pick({0.0, 0.5, 1.0, -1.0, 2.0, 1e-5, 1e30}); }

  std::vector<int64_t> tensors(const Parameter& parameter) {
    std::vector<int64_t> items(1 + random_.below(3));
    for (int64_t& item : items) {
      item = parameter.is_written ? output(parameter) : tensor_argument();
    }
    return items;
  }

  std::vector<int32_t> near_sizes() {
    std::vector<int32_t> sizes = sizes_;
    if (random_.one_in(4)) {
      return any_sizes(random_);
    }
    if (!sizes.empty() && random_.one_in(4)) {
      random_.pick(sizes) = static_cast<int32_t>(random_.between(1, 4));
    }
    if (!sizes.empty() && random_.one_in(6)) {
      sizes.erase(sizes.begin());
    }
    return sizes;
  }

  int32_t tensor_argument() {
    if (random_.one_in(3)) {
      return e_.any_tensor();
    }
    const fb::ScalarType type = random_.one_in(4) ? any_type(random_) : type_;
    const Memory memory =
        random_.pick({Memory::Planned, Memory::Planned, Memory::Given, Memory::Constant});
    const int32_t id = e_.add_tensor(type, near_sizes(), memory);
    TestTensor& tensor = e_.tensor_at(id);
    if (memory != Memory::Constant) {
      if (random_.one_in(3)) {
        tensor.dynamism = fb::TensorShapeDynamism::DYNAMIC_BOUND;
      }
      if (memory == Memory::Given || random_.one_in(2)) {
        e_.plan.inputs.push_back(id);
      }
    }
    return id;
  }

  int32_t output(const Parameter&) {
    const size_t how = random_.below(8);
    if (how == 0) {
      return e_.any_tensor();
    }
    const fb::ScalarType type = random_.one_in(4) ? any_type(random_) : type_;
    const int32_t id =
        e_.add_tensor(type, near_sizes(), random_.one_in(6) ? Memory::Given : Memory::Planned);
    TestTensor& tensor = e_.tensor_at(id);
    if (!random_.one_in(3)) {
      tensor.dynamism = fb::TensorShapeDynamism::DYNAMIC_BOUND;
      for (int32_t& size : tensor.sizes) {
        size = std::max(size, static_cast<int32_t>(random_.between(3, 6)));
      }
      e_.fit(tensor);
    }
    const std::vector<int32_t> planned = e_.planned();
    if (how == 1 && tensor.memory_id != 0 && !planned.empty()) {
      const TestTensor& other = e_.tensor_at(random_.pick(planned));
      tensor.memory_id = other.memory_id;
      tensor.offset = other.offset;
      e_.fit(tensor);
    }
    outputs_.push_back(id);
    if (tensor.memory_id == 0) {
      e_.plan.outputs.push_back(id);
    }
    return id;
  }

  ProgramEditor& e_;
  Random& random_;
  const Signature& signature_;
  fb::ScalarType type_;
  std::vector<int32_t> sizes_;
  std::vector<int32_t> outputs_;
};

}  // namespace

void add_call(ProgramEditor& editor, const Signature& signature) {
  CallMaker(editor, signature).add();
}

void add_any_call(ProgramEditor& editor) {
  const std::vector<oracle::Call>& recorded = recorded_calls();
  if (recorded.empty() || editor.random.one_in(3)) {
    add_call(editor, editor.random.pick(signatures()));
  } else {
    add_recorded_call(editor, editor.random.pick(recorded));
  }
}

TestProgram generate_program(Random& random) {
  TestProgram test_program;
  test_program.plans.emplace_back();
  TestPlan& plan = test_program.plans.front();
  plan.buffer_sizes = {0};
  plan.chains.emplace_back();
  test_program.constant_buffer.emplace_back();
  ProgramEditor editor(test_program, plan, random);
  for (size_t calls = random.one_in(3) ? 1 + random.below(4) : 1; calls > 0; --calls) {
    add_any_call(editor);
  }
  return test_program;
}

}  // namespace executorch::fuzz
