// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
#include "fuzz/given/given_data_map.h"
#include "fuzz/hostile/hostile_programs.h"

namespace executorch::testing {
namespace {

using W = MethodWriter;
using Rows = std::vector<HostileProgram>;
constexpr Type kFloat = Type::FLOAT;
constexpr Dynamism kUnbound = Dynamism::DYNAMIC_UNBOUND;

HostileProgram row(std::string name, std::function<void(W&)> write, std::string refused = "") {
  const auto make = [write] {
    W w;
    write(w);
    return w.finish();
  };
  return {std::move(name), make, std::move(refused)};
}

int32_t growing(W& w, Sizes sizes = {0}) { return w.given(kFloat, std::move(sizes), kUnbound); }
int32_t input(W& w, Sizes sizes = {4}) { return w.input(w.planned(kFloat, std::move(sizes))); }
int32_t condition(W& w) { return w.input(w.given(Type::BOOL, {1})); }
int32_t number(W& w, int64_t n) { return w.value(integer(n)); }
void negate(W& w, int32_t from, int32_t to) { w.call("aten::neg.out", {from, to, to}); }
void cat(W& w, std::vector<int64_t> items, int32_t to) {
  w.call("aten::cat.out", {w.value(list(Kind::TensorList, items)), number(w, 0), to, to});
}
void full(W& w, const std::vector<int64_t>& sizes, int32_t to) {
  w.call("aten::full.out", {w.ints(sizes), number(w, 1), to, to});
}

Rows growth() {
  return {
      row("ATensorGrowsInALoop",
          [](W& w) {
            const int32_t x = input(w), a = growing(w), b = w.output(growing(w));
            negate(w, x, a);
            cat(w, {a, a, x}, b);
            cat(w, {b, b}, a);
            w.run(jump_false(condition(w), 1));
          }),
      row("ATensorIsReadAfterItsFree",
          [](W& w) {
            const int32_t x = input(w), a = growing(w), out = w.output(w.planned(kFloat, {4}));
            negate(w, x, a);
            w.run(free_value(a));
            w.add(a, x, out);
          }),
      row("ATensorIsReadBeforeItGrows",
          [](W& w) {
            const int32_t x = input(w), a = growing(w), out = w.output(w.planned(kFloat, {4}));
            w.add(a, x, out);
            negate(w, x, a);
          }),
      row("ATensorWithInitialSizesIsReadBeforeItGrows",
          [](W& w) {
            const int32_t x = input(w), a = growing(w, {4}), out = w.output(w.planned(kFloat, {4}));
            w.add(a, x, out);
          }),
      row("ATensorIsFreedAgainAndAgain",
          [](W& w) {
            const int32_t x = input(w), a = w.output(growing(w));
            negate(w, x, a);
            for (int i = 0; i < 5; ++i) w.run(free_value(a));
            w.run(jump_false(condition(w), 0));
          }),
      row("AJumpGoesIntoALoopPastItsStart",
          [](W& w) {
            const int32_t x = input(w), a = growing(w), b = w.output(growing(w));
            const int32_t stop = condition(w);
            w.run(jump_false(condition(w), 3));
            negate(w, x, a);
            w.run(free_value(b));
            cat(w, {a, x}, b);
            w.run(free_value(a));
            w.run(jump_false(stop, 2));
          }),
      row("AFreedTensorIsMovedFrom",
          [](W& w) {
            const int32_t x = input(w), a = growing(w), b = growing(w);
            const int32_t out = w.output(w.planned(kFloat, {4}));
            negate(w, x, a);
            w.run(move(a, b));
            w.run(free_value(a));
            w.add(b, x, out);
          }),
      row("AFreedTargetIsMovedFrom",
          [](W& w) {
            const int32_t x = input(w), a = growing(w), b = growing(w);
            negate(w, x, a);
            w.run(move(a, b));
            w.run(free_value(b));
            w.run(free_value(a));
            negate(w, x, b);
            negate(w, a, w.output(growing(w)));
          }),
      row("AGrowingTensorIsMovedToAPlannedOne",
          [](W& w) {
            const int32_t x = input(w), a = growing(w), b = w.planned(kFloat, {4});
            negate(w, x, a);
            w.run(move(a, b));
            w.run(free_value(a));
            w.add(b, x, w.output(w.planned(kFloat, {4})));
          }),
      row("APlannedTensorIsMovedToAGrowingOne",
          [](W& w) {
            const int32_t x = input(w), a = w.planned(kFloat, {4}), b = w.output(growing(w));
            negate(w, x, a);
            w.run(move(a, b));
            cat(w, {x, x, x}, b);
            w.run(free_value(b));
          }),
      row(
          "AGrowingTensorIsMovedToAnotherRank",
          [](W& w) { w.run(move(growing(w), growing(w, {0, 0}))); }, "the same type"),
      row(
          "AGrowingTensorIsOperandAndResult",
          [](W& w) {
            const int32_t a = growing(w);
            cat(w, {a, input(w)}, a);
          },
          "may be the same tensor"),
      row(
          "AGrowingOperandIsMovedToItsResult",
          [](W& w) {
            const int32_t x = input(w), a = growing(w), b = growing(w);
            w.run(move(a, b));
            w.add(b, x, a);
          },
          "or resized"),
      row("AGrowingTensorIsViewed",
          [](W& w) {
            const int32_t x = input(w), a = growing(w), view = w.given(kFloat, {4});
            negate(w, x, a);
            w.view(a, {4}, view);
            w.add(view, x, w.output(w.planned(kFloat, {4})));
          }),
      row(
          "AViewGrows", [](W& w) { w.view(input(w), {4}, growing(w)); }, "no bound"),
      row("SizesAreHuge", [](W& w) { full(w, {INT64_C(1) << 31, 1 << 30}, growing(w, {0, 0})); }),
      row("SizesWrapAround",
          [](W& w) { full(w, {INT64_C(1) << 62, 4}, w.output(growing(w, {0, 0}))); }),
      row("SizesAreNegative", [](W& w) { full(w, {-4, -4}, w.output(growing(w, {0, 0}))); }),
      row("ARowIsCopiedFarAway",
          [](W& w) {
            const int32_t a = w.output(growing(w, {0, 4}));
            w.call("executorch_prim::et_copy_index.tensor", {a, input(w), number(w, 1 << 30)});
          }),
      row("RowsAreCopiedBackwards",
          [](W& w) {
            const int32_t a = w.output(growing(w, {0, 4})), x = input(w);
            w.call("executorch_prim::et_copy_index.tensor", {a, x, number(w, 9)});
            w.call("executorch_prim::et_copy_index.tensor", {a, x, number(w, 0)});
            w.call("executorch_prim::et_copy_index.tensor", {a, x, number(w, -1)});
          }),
      row(
          "ARowIsCopiedToItsOwnRows",
          [](W& w) {
            const int32_t a = growing(w, {0, 4});
            w.call("executorch_prim::et_copy_index.tensor", {a, a, number(w, 0)});
          },
          "may be the same tensor"),
      row("GrowingTensorsAreAListOfResults",
          [](W& w) {
            const int32_t a = growing(w), b = growing(w);
            const int32_t both = w.value(list(Kind::TensorList, {a, b}));
            w.call("aten::split_copy.Tensor_out",
                   {input(w), number(w, 2), number(w, 0), both, both});
            w.run(free_value(a));
            cat(w, {a, b}, w.output(growing(w)));
          }),
      row("AnInputGrows",
          [](W& w) {
            const int32_t x = w.input(growing(w));
            cat(w, {x, x}, w.output(growing(w)));
            w.run(free_value(x));
            negate(w, x, w.output(growing(w)));
          }),
      row("AGrowingConditionIsEmpty",
          [](W& w) {
            const int32_t flag = w.given(Type::BOOL, {0}, kUnbound);
            w.run(jump_false(flag, 2));
            negate(w, input(w), w.output(growing(w)));
            w.run(free_value(flag));
          }),
      row("APlannedTensorHasNoBound",
          [](W& w) {
            const int32_t a = w.output(w.planned(kFloat, {0}, kUnbound));
            cat(w, {input(w)}, a);
          }),
      row("AConstantHasNoBound",
          [](W& w) {
            const int32_t a = w.constant(kFloat, {4});
            w.tensor_at(a).dynamism = kUnbound;
            negate(w, a, w.output(growing(w)));
            w.run(free_value(a));
            negate(w, a, w.output(growing(w)));
          }),
      row("ADynamicConstantIsRead",
          [](W& w) {
            const int32_t a = w.constant(kFloat, {4});
            w.tensor_at(a).dynamism = Dynamism::DYNAMIC_BOUND;
            negate(w, a, w.output(growing(w)));
          }),
  };
}

/// Two methods with planned memory of other sizes.
TestProgram two_methods(const std::string& first, const std::string& second) {
  W small, large;
  negate(small, input(small), small.output(small.planned(kFloat, {4})));
  negate(large, input(large, {400}), large.output(large.planned(kFloat, {400})));
  TestProgram program = small.finish();
  program.plans.push_back(large.finish().plans[0]);
  program.plans[0].name = first;
  program.plans[1].name = second;
  return program;
}

Rows names() {
  const auto extra = [](std::string name, std::function<void(TestTensor&)> change,
                        std::string refused = "") {
    return row(
        std::move(name),
        [change](W& w) {
          const int32_t x = input(w), a = w.planned(kFloat, {4});
          change(w.tensor_at(a));
          w.add(x, a, w.output(w.planned(kFloat, {4})));
        },
        std::move(refused));
  };
  return {
      {"TwoMethodsHaveOneName", [] { return two_methods("forward", "forward"); },
       "methods 0 and 1 have the name 'forward'"},
      {"TwoMethodsNamesAreEqualUpToAZeroByte",
       [] { return two_methods("forward", std::string("forward\0x", 9)); },
       "methods 0 and 1 have the name 'forward'"},
      {"TwoMethodsHaveNoName", [] { return two_methods("", ""); },
       "methods 0 and 1 have the name ''"},
      {"AMethodHasNoName", [] { return two_methods("forward", ""); }, ""},
      {"AMethodsNameContainsFormats", [] { return two_methods("%s%n", "%1000000d"); }, ""},
      {"AMethodsNameIsLong", [] { return two_methods("forward", std::string(1 << 16, 'x')); }, ""},
      extra("ANamedTensorHasALongName", [](TestTensor& t) { t.name = std::string(1 << 16, '%'); }),
      extra("ANamedTensorsSegmentIsFarAway",
            [](TestTensor& t) {
              t.name = "a";
              t.mutable_segment = UINT64_MAX;
            }),
      extra(
          "ANamedTensorIsExternalAndPlanned",
          [](TestTensor& t) {
            t.name = fuzz::kNameWithoutData;
            t.location = fb::TensorDataLocation::EXTERNAL;
          },
          "no data named"),
      row(
          "AnOperatorsNameIsLong",
          [](W& w) { w.call("aten::" + std::string(1 << 12, 'a') + ".out", {input(w)}); },
          "aten::aaa"),
      row(
          "AnOperatorsNameIsEmpty", [](W& w) { w.call(".", {input(w)}); }, "no kernel"),
      row(
          "AnOperatorsOverloadContainsFormats", [](W& w) { w.call("aten::add.%n%s", {input(w)}); },
          "no kernel"),
  };
}

}  // namespace

Rows hostile_growth() {
  Rows rows = growth();
  const Rows more = names();
  rows.insert(rows.end(), more.begin(), more.end());
  return rows;
}

}  // namespace executorch::testing
