// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
#include "fuzz/program/recorded_seeds.h"
#include "test_paths.h"

#include <filesystem>
#include <string>

namespace executorch::fuzz {

using namespace executorch::testing;
using Kind = fb::KernelTypes;

namespace {

class CallWriter final {
 public:
  CallWriter(ProgramEditor& editor, const oracle::Call& call) : e_(editor), call_(call) {}

  void write() {
    std::vector<int32_t> arguments;
    for (size_t i = 0; i < call_.values.size(); ++i) {
      is_output_ = i + call_.outputs >= call_.values.size();
      arguments.push_back(argument(call_.values[i]));
    }
    if (!arguments.empty()) {
      arguments.push_back(arguments.back());
    }
    const std::string& name = call_.name;
    const size_t dot = name.find('.', name.find("::"));
    const int32_t op = e_.operator_index(
        name.substr(0, dot), dot == std::string::npos ? std::string() : name.substr(dot + 1));
    e_.insert(kernel(op, std::move(arguments)), e_.chain().size());
  }

 private:
  int32_t argument(const oracle::Value& value) {
    switch (value.kind) {
      case kInt:
        return e_.add_int(value.integer);
      case kBool:
        return e_.add(boolean(value.integer != 0));
      case kDouble:
        return e_.add(real(value.real));
      case kString:
        return e_.add(string(value.text));
      case kTensor:
        return tensor_of(value.tensor);
      case kIntList:
        return e_.add_list(Kind::IntList, items(value));
      case kTensorList:
        return e_.add_list(Kind::TensorList, items(value));
      case kOptionalTensorList:
        return e_.add_list(Kind::OptionalTensorList, items(value));
      case kDoubleList: {
        TestValue test_value = list(Kind::DoubleList, {});
        for (const oracle::Value& item : value.items) {
          test_value.reals.push_back(item.real);
        }
        return e_.add(std::move(test_value));
      }
      case kBoolList: {
        TestValue booleans = list(Kind::BoolList, {});
        for (const oracle::Value& item : value.items) {
          booleans.list.push_back(item.integer != 0 ? 1 : 0);
        }
        return e_.add(std::move(booleans));
      }
      default:
        return e_.add(none());
    }
  }

  std::vector<int64_t> items(const oracle::Value& value) {
    std::vector<int64_t> ids;
    for (const oracle::Value& item : value.items) {
      ids.push_back(item.kind == kNone ? -1 : argument(item));
    }
    return ids;
  }

  int32_t tensor_of(const oracle::Tensor& tensor) {
    const Memory memory =
        is_output_
            ? Memory::Planned
            : e_.random.pick({Memory::Planned, Memory::Planned, Memory::Given, Memory::Constant});
    const int32_t id =
        e_.add_tensor(static_cast<fb::ScalarType>(tensor.dtype), tensor.sizes, memory);
    TestTensor& added = e_.tensor_at(id);
    added.dim_order = tensor.dim_order;
    if (is_output_ ? !e_.random.one_in(4) : e_.random.one_in(3) && memory != Memory::Constant) {
      added.dynamism = fb::TensorShapeDynamism::DYNAMIC_BOUND;
    }
    if (is_output_) {
      e_.plan.outputs.push_back(id);
    } else if (memory != Memory::Constant) {
      e_.plan.inputs.push_back(id);
    }
    return id;
  }

  ProgramEditor& e_;
  const oracle::Call& call_;
  bool is_output_ = false;
};

}  // namespace

const std::vector<oracle::Call>& recorded_calls() {
  static const std::vector<oracle::Call> all = [] {
    const std::string path = FUZZ_CORPUS "/recorded.calls";
    return std::filesystem::exists(path) ? oracle::read_calls(path.c_str())
                                         : std::vector<oracle::Call>();
  }();
  return all;
}

void add_recorded_call(ProgramEditor& editor, const oracle::Call& call) {
  CallWriter(editor, call).write();
}

}  // namespace executorch::fuzz
