// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// Programs of an input and an output of 4 floats, and the values and calls that their rows repeat.
#pragma once

#include "fuzz/hostile/hostile_programs.h"

namespace executorch::testing {

using W = MethodWriter;
using Rows = std::vector<HostileProgram>;
constexpr Type kFloat = Type::FLOAT;
constexpr Dynamism kBound = Dynamism::DYNAMIC_BOUND;

/// A program of an input `a` and an output `out` of 4 floats.
inline HostileProgram row(std::string name, std::function<void(W&, int32_t, int32_t)> write,
                          std::string refused = "") {
  const auto make = [write] {
    W w;
    const int32_t a = w.input(w.planned(kFloat, {4}));
    write(w, a, w.output(w.planned(kFloat, {4})));
    return w.finish();
  };
  return {std::move(name), make, std::move(refused)};
}

inline int32_t planned(W& w, Sizes sizes = {4}, Dynamism dynamism = Dynamism::STATIC) {
  return w.planned(kFloat, std::move(sizes), dynamism);
}
inline int32_t unmade(W& w, Sizes sizes = {4}, Dynamism dynamism = Dynamism::STATIC) {
  return w.given(kFloat, std::move(sizes), dynamism);
}
inline int32_t number(W& w, int64_t n) { return w.value(integer(n)); }
inline int32_t condition(W& w) { return w.input(w.given(Type::BOOL, {1})); }
inline int32_t tensors(W& w, std::vector<int64_t> items) {
  return w.value(list(Kind::TensorList, std::move(items)));
}
inline void negate(W& w, int32_t from, int32_t to) { w.call("aten::neg.out", {from, to, to}); }
inline void flip(W& w, int32_t from, int32_t to) {
  w.call("aten::flip.out", {from, w.ints({0}), to, to});
}
inline void cat(W& w, std::vector<int64_t> items, int32_t to) {
  w.call("aten::cat.out", {tensors(w, std::move(items)), number(w, 0), to, to});
}

/// A tensor with 16 bytes of initial data, in planned memory.
inline int32_t state(W& w, Sizes sizes = {4}) {
  TestProgram& p = w.program();
  p.segments = {{0, 64}};
  p.segment_data = std::string(64, '\0');
  p.mutable_data = {{0, {0, 0}}};
  const int32_t id = planned(w, std::move(sizes));
  w.tensor_at(id).data_buffer_idx = 1;
  w.tensor_at(id).name = "state";
  return id;
}

}  // namespace executorch::testing
