// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// Programs of one call, described as data.
#pragma once

#include <utility>

#include "fuzz/hostile/hostile_programs.h"

namespace executorch::testing::calls {

constexpr Type F = Type::FLOAT;
constexpr Type L = Type::LONG;
constexpr Type B = Type::BOOL;
constexpr int64_t kMin = INT64_MIN;
constexpr int64_t kMax = INT64_MAX;
constexpr int64_t kHuge = INT64_C(1) << 40;

/// An argument of a call: a tensor, a list of arguments, or another value.
struct Arg {
  TestValue value;
  bool is_output = false;
  std::vector<Arg> items = {};
  /// A tensor that nobody sets: planned memory of zeros.
  bool is_blank = false;
};

inline Arg tensor_of(Type type, Sizes sizes, bool is_output) {
  TestTensor test_tensor;
  test_tensor.type = type;
  test_tensor.sizes = std::move(sizes);
  return {tensor(test_tensor), is_output};
}
/// An input, which has other sizes, and other bytes, at each execution.
inline Arg in(Type type, Sizes sizes) { return tensor_of(type, std::move(sizes), false); }
inline Arg out(Type type, Sizes sizes) { return tensor_of(type, std::move(sizes), true); }
/// A tensor of zeros, for example of valid indices.
inline Arg blank(Type type, Sizes sizes) {
  Arg argument = in(type, std::move(sizes));
  argument.is_blank = true;
  return argument;
}
inline Arg num(int64_t number) { return {integer(number)}; }
inline Arg dbl(double number) { return {real(number)}; }
inline Arg flag(bool value) { return {boolean(value)}; }
inline Arg nil() { return {none()}; }
inline Arg text(std::string value) { return {string(std::move(value))}; }
inline Arg all(Kind kind, std::vector<Arg> items) {
  return {list(kind, {}), false, std::move(items)};
}
inline Arg ints(const std::vector<int64_t>& numbers) {
  std::vector<Arg> items;
  for (const int64_t number : numbers) items.push_back(num(number));
  return all(Kind::IntList, std::move(items));
}
inline Arg tensors(std::vector<Arg> items) { return all(Kind::TensorList, std::move(items)); }
inline Arg optional(std::vector<Arg> items) {
  return all(Kind::OptionalTensorList, std::move(items));
}
inline Arg flags(std::vector<int64_t> items) { return {list(Kind::BoolList, std::move(items))}; }

struct Call {
  std::string name;
  std::string op;
  std::vector<Arg> arguments;
};

inline int32_t add(MethodWriter& w, const Arg& argument, Dynamism dynamism) {
  if (!argument.items.empty()) {
    TestValue test_value = argument.value;
    for (const Arg& item : argument.items) test_value.list.push_back(add(w, item, dynamism));
    return w.value(std::move(test_value));
  }
  if (argument.value.kind != Kind::Tensor) return w.value(argument.value);
  const int32_t id = w.planned(argument.value.tensor.type, argument.value.tensor.sizes, dynamism);
  return argument.is_output ? w.output(id) : argument.is_blank ? id : w.input(id);
}

inline TestProgram program_of(const Call& call, Dynamism dynamism) {
  MethodWriter w;
  std::vector<int32_t> arguments;
  for (const Arg& argument : call.arguments) arguments.push_back(add(w, argument, dynamism));
  // The last argument repeats the result, as the return value.
  arguments.push_back(arguments.back());
  w.call(call.op, std::move(arguments));
  return w.finish();
}

/// A row for each call: with its sizes, and with inputs of all sizes and results that are resized.
inline void add_rows(const std::vector<Call>& calls, std::vector<HostileProgram>* rows) {
  for (const Call& call : calls) {
    rows->push_back({call.name, [call] { return program_of(call, Dynamism::STATIC); }, ""});
    rows->push_back({call.name + "AtSizesThatVary",
                     [call] { return program_of(call, Dynamism::DYNAMIC_BOUND); }, ""});
  }
}

}  // namespace executorch::testing::calls
