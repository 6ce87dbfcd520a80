// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// Schemas of the operators of the kernel libraries, read from their functions.yaml.
#pragma once

#include <string>
#include <vector>

namespace executorch::fuzz {

enum class ArgumentType {
  Tensor,
  TensorList,
  OptionalTensorList,
  Int,
  IntList,
  Double,
  DoubleList,
  Bool,
  BoolList,
  Scalar,
  ScalarType,
  String,
  None,
};

struct Parameter {
  ArgumentType type;
  std::string name;
  bool is_optional;
  bool is_written;
  /// The length of a list with a fixed length, else 0.
  size_t length;
};

struct Signature {
  /// Name of the registered kernel and its overload: "aten::add", "out".
  std::string name;
  std::string overload;
  std::vector<Parameter> parameters;

  std::string text() const { return overload.empty() ? name : name + "." + overload; }
};

/// The registered operators of kernels/*/functions.yaml, and primitive ones.
const std::vector<Signature>& signatures();

/// Null if there is none of that name, as "aten::add.out".
const Signature* find_signature(const std::string& text);

}  // namespace executorch::fuzz
