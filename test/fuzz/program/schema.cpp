// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
#include "fuzz/program/schema.h"
#include "test_paths.h"

#include <stdio.h>
#include <stdlib.h>

#include <algorithm>
#include <fstream>
#include <map>
#include <string_view>

#include <executorch/runtime/kernel/operator_registry.h>

namespace executorch::fuzz {
namespace {

/// Primitive operators have no functions.yaml.
constexpr const char* kPrimitives[] = {
    "executorch_prim::et_view.default(Tensor self, int[] size, Tensor(a!) out) -> ()",
    "executorch_prim::et_copy_index.tensor(Tensor(a!) to, Tensor from, int index) -> ()",
    "aten::sym_size.int(Tensor self, int dim, int out) -> ()",
    "aten::sym_stride.int(Tensor self, int dim, int out) -> ()",
    "aten::sym_numel(Tensor self, int out) -> ()",
    "aten::_local_scalar_dense(Tensor self, int out) -> ()",
    "executorch_prim::add.Scalar(int a, int b, int out) -> ()",
    "executorch_prim::mul.Scalar(int a, int b, int out) -> ()",
    "executorch_prim::floordiv.Scalar(int a, int b, int out) -> ()",
    "executorch_prim::mod.Scalar(int a, int b, int out) -> ()",
    "executorch_prim::sub.Scalar(int a, int b, int out) -> ()",
    "executorch_prim::sym_max.Scalar(int a, int b, int out) -> ()",
    "executorch_prim::eq.Scalar(int a, int b, bool out) -> ()",
    "executorch_prim::lt.Scalar(int a, int b, bool out) -> ()",
    "executorch_prim::sym_not.Scalar(bool a, bool out) -> ()",
    "executorch_prim::sym_float.Scalar(int a, float out) -> ()",
};

const std::map<std::string_view, ArgumentType>& types() {
  static const std::map<std::string_view, ArgumentType> types = {
      {"Tensor", ArgumentType::Tensor},
      {"Tensor[]", ArgumentType::TensorList},
      {"Tensor?[]", ArgumentType::OptionalTensorList},
      {"int", ArgumentType::Int},
      {"SymInt", ArgumentType::Int},
      {"int[]", ArgumentType::IntList},
      {"SymInt[]", ArgumentType::IntList},
      {"float", ArgumentType::Double},
      {"float[]", ArgumentType::DoubleList},
      {"bool", ArgumentType::Bool},
      {"bool[]", ArgumentType::BoolList},
      {"Scalar", ArgumentType::Scalar},
      {"ScalarType", ArgumentType::ScalarType},
      {"Layout", ArgumentType::Int},
      {"Device", ArgumentType::None},
      {"MemoryFormat", ArgumentType::ScalarType},
      {"Generator", ArgumentType::None},
      {"str", ArgumentType::String},
  };
  return types;
}

/// One parameter, as `Tensor(a!) out`, `SymInt[2] kernel=1`.
Parameter read_parameter(std::string text) {
  Parameter parameter{ArgumentType::None, "", false, text.find("!)") != std::string::npos, 0};
  for (size_t open = text.find('('); open != std::string::npos; open = text.find('(')) {
    text.erase(open, text.find(')', open) - open + 1);
  }
  const size_t space = text.find(' ');
  std::string type = text.substr(0, space);
  parameter.name = text.substr(space + 1, text.find('=', space) - space - 1);
  if (type.back() == '?') {
    parameter.is_optional = true;
    type.pop_back();
  }
  const size_t open = type.find('[');
  if (open != std::string::npos && type[open + 1] != ']') {
    parameter.length = strtoul(type.c_str() + open + 1, nullptr, 10);
    type = type.substr(0, open) + "[]";
  }
  const auto known = types().find(type);
  if (known == types().end()) {
    fprintf(stderr, "functions.yaml: no type '%s'\n", type.c_str());
    abort();
  }
  parameter.type = known->second;
  return parameter;
}

/// `name.Overload(parameters) -> returns`.
Signature read_signature(const std::string& text) {
  Signature signature;
  const size_t open = text.find('(');
  // Types have parentheses, too: the last one before the arrow closes.
  const size_t close = text.rfind(')', text.rfind("->"));
  signature.name = text.substr(0, open);
  if (signature.name.find("::") == std::string::npos) {
    signature.name = "aten::" + signature.name;
  }
  const size_t dot = signature.name.find('.');
  if (dot != std::string::npos) {
    signature.overload = signature.name.substr(dot + 1);
    signature.name.resize(dot);
  }
  std::string rest = text.substr(open + 1, close - open - 1) + ", ";
  for (size_t comma = rest.find(", "); comma != std::string::npos; comma = rest.find(", ")) {
    const std::string parameter = rest.substr(0, comma);
    rest.erase(0, comma + 2);
    if (!parameter.empty() && parameter != "*") {
      signature.parameters.push_back(read_parameter(parameter));
    }
  }
  return signature;
}

std::vector<Signature> read_all() {
  std::vector<Signature> all;
  for (const char* library :
       {"portable", "optimized", "quantized", "linalg", "../extension/llm/custom_ops"}) {
    const std::string path = std::string(KERNELS_DIR "/") + library + "/functions.yaml";
    std::ifstream file(path);
    for (std::string line; std::getline(file, line);) {
      constexpr std::string_view kMark = "- func: ";
      if (line.rfind(kMark, 0) == 0) {
        all.push_back(read_signature(line.substr(kMark.size())));
      }
    }
  }
  for (const char* text : kPrimitives) {
    all.push_back(read_signature(text));
  }
  // A build may have a part of the kernels.
  all.erase(std::remove_if(all.begin(), all.end(),
                           [](const Signature& signature) {
                             return !runtime::find_kernel(signature.text().c_str()).ok();
                           }),
            all.end());
  std::stable_sort(all.begin(), all.end(),
                   [](const auto& a, const auto& b) { return a.text() < b.text(); });
  all.erase(std::unique(all.begin(), all.end(),
                        [](const auto& a, const auto& b) { return a.text() == b.text(); }),
            all.end());
  return all;
}

}  // namespace

const std::vector<Signature>& signatures() {
  static const std::vector<Signature> all = read_all();
  return all;
}

const Signature* find_signature(const std::string& text) {
  static const std::map<std::string, const Signature*> by_text = [] {
    std::map<std::string, const Signature*> texts;
    for (const Signature& signature : signatures()) {
      texts[signature.text()] = &signature;
    }
    return texts;
  }();
  const auto entry = by_text.find(text);
  return entry == by_text.end() ? nullptr : entry->second;
}

}  // namespace executorch::fuzz
