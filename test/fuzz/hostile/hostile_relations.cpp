// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
#include "fuzz/hostile/hostile_programs.h"

namespace executorch::testing {
namespace {

using W = MethodWriter;
using Rows = std::vector<HostileProgram>;
constexpr Type kFloat = Type::FLOAT;

/// The values of a program: two inputs and an output of 2 floats each. `change` connects them.
struct Three {
  int32_t a;
  int32_t b;
  int32_t out;
};
HostileProgram row(std::string name, std::function<void(W&, Three)> change,
                   std::string refused = "") {
  const auto make = [change] {
    W w;
    const int32_t a = w.input(w.planned(kFloat, {2}));
    const int32_t b = w.input(w.planned(kFloat, {2}));
    const int32_t out = w.output(w.planned(kFloat, {2}));
    change(w, {a, b, out});
    return w.finish();
  };
  return {std::move(name), make, std::move(refused)};
}
/// The same with inputs whose memory is the caller's.
HostileProgram given_row(std::string name, std::function<void(W&, Three)> change,
                         std::string refused = "") {
  const auto make = [change] {
    W w;
    const int32_t a = w.input(w.given(kFloat, {2}));
    const int32_t b = w.input(w.given(kFloat, {2}));
    const int32_t out = w.output(w.planned(kFloat, {2}));
    change(w, {a, b, out});
    return w.finish();
  };
  return {std::move(name), make, std::move(refused)};
}

int32_t condition(W& w) { return w.input(w.given(Type::BOOL, {1})); }

Rows views() {
  return {
      given_row("AViewOfAnInputIsSkippedTheNextTime",
                [](W& w, Three t) {
                  const int32_t view = w.given(kFloat, {2});
                  w.run(jump_false(condition(w), 2));
                  w.view(t.a, {2}, view);
                  w.add(view, t.b, t.out);
                }),
      given_row("AViewOfAViewIsSkippedTheNextTime",
                [](W& w, Three t) {
                  const int32_t first = w.given(kFloat, {2});
                  const int32_t second = w.given(kFloat, {1, 2});
                  w.view(t.a, {2}, first);
                  w.run(jump_false(condition(w), 3));
                  w.view(first, {1, 2}, second);
                  w.add(second, t.b, w.output(w.planned(kFloat, {1, 2})));
                }),
      given_row("AViewIsAnOutputThatNothingMakes",
                [](W& w, Three t) {
                  const int32_t view = w.output(w.given(kFloat, {2}));
                  w.run(jump_false(condition(w), 2));
                  w.view(t.a, {2}, view);
                  w.add(t.a, t.b, t.out);
                }),
      row(
          "AViewHasMemoryElsewhere",
          [](W& w, Three t) { w.view(t.a, {2}, w.planned(kFloat, {2})); }, "memory of its own"),
      row(
          "AViewAtItsBaseIsLonger", [](W& w, Three t) { w.view(t.a, {4}, w.at(0, kFloat, {4})); },
          "memory of its own"),
      row(
          "AViewIsAnInput", [](W& w, Three t) { w.view(t.a, {2}, t.b); }, "memory of its own"),
      given_row(
          "AViewIsAnInputOfTheCaller", [](W& w, Three t) { w.view(t.a, {2}, t.b); },
          "but is an input"),
      row(
          "AViewShowsItself",
          [](W& w, Three) {
            const int32_t view = w.given(kFloat, {2});
            w.view(view, {2}, view);
          },
          "but is the same"),
      row("TwoViewsShowEachOther",
          [](W& w, Three t) {
            const int32_t first = w.given(kFloat, {2});
            const int32_t second = w.given(kFloat, {2});
            w.view(second, {2}, first);
            w.view(first, {2}, second);
            w.add(second, t.b, t.out);
          }),
      row("AViewShowsOneBaseOrTheOther",
          [](W& w, Three t) {
            const int32_t view = w.given(kFloat, {2});
            w.view(t.a, {2}, view);
            w.run(jump_false(condition(w), 3));
            w.view(t.b, {2}, view);
            w.add(view, t.b, t.out);
          }),
      row(
          "AViewOfAConstantIsWritten",
          [](W& w, Three t) {
            const int32_t view = w.given(kFloat, {2});
            w.view(w.constant(kFloat, {2}), {2}, view);
            w.add(t.a, t.b, view);
          },
          "may be a constant"),
      row(
          "AViewOfTheResultIsRead",
          [](W& w, Three t) {
            const int32_t view = w.given(kFloat, {2});
            w.view(t.out, {2}, view);
            w.call("aten::flip.out", {view, w.ints({0}), t.out, t.out});
          },
          "may be the same tensor"),
      row("AViewIsOfAnotherDtype",
          [](W& w, Three t) { w.view(t.a, {2}, w.output(w.given(Type::LONG, {2}))); }),
      row("AViewOfAViewIsOfAnotherDtype",
          [](W& w, Three t) {
            const int32_t first = w.given(kFloat, {2});
            w.view(t.a, {2}, first);
            w.view(first, {1}, w.output(w.given(Type::DOUBLE, {2})));
          }),
      row("AViewHasMoreElementsThanItsBase",
          [](W& w, Three t) { w.view(t.a, {64}, w.output(w.given(kFloat, {64}))); }),
      row("AViewInfersTwoSizes",
          [](W& w, Three t) { w.view(t.a, {-1, -1}, w.output(w.given(kFloat, {1, 2}))); }),
      row("AViewHasNegativeSizes",
          [](W& w, Three t) { w.view(t.a, {-2, -1}, w.output(w.given(kFloat, {1, 2}))); }),
      row("AViewsSizesOverflow",
          [](W& w, Three t) {
            w.view(t.a, {INT64_C(1) << 32, INT64_C(1) << 32}, w.output(w.given(kFloat, {1, 2})));
          }),
      row("AViewsSizesMultiplyToTwo",
          [](W& w, Three t) {
            // 2^33 * (2^31 + ...) wraps around to small numbers.
            w.view(t.a, {INT64_C(0x4000000000000001), 2}, w.output(w.given(kFloat, {1, 2})));
          }),
      row("AViewHasAnotherRank",
          [](W& w, Three t) { w.view(t.a, {1, 1, 2}, w.output(w.given(kFloat, {2}))); }),
      row("AViewHasSeventeenSizes",
          [](W& w, Three t) {
            w.view(t.a, std::vector<int64_t>(17, 1), w.output(w.given(kFloat, Sizes(16, 1))));
          }),
      row("AViewOfADynamicTensorIsMadeBeforeThatIsResized",
          [](W& w, Three t) {
            const int32_t base = w.planned(kFloat, {2}, Dynamism::DYNAMIC_BOUND);
            const int32_t view = w.given(kFloat, {2}, Dynamism::DYNAMIC_BOUND);
            w.add(t.a, t.b, base);
            w.view(base, {-1}, view);
            w.call("aten::slice_copy.Tensor_out",
                   {t.a, w.value(integer(0)), w.value(integer(0)), w.value(integer(1)),
                    w.value(integer(1)), base, base});
            w.add(view, t.b, t.out);
          }),
      row(
          "AViewIsWithoutBound",
          [](W& w, Three t) { w.view(t.a, {2}, w.given(kFloat, {0}, Dynamism::DYNAMIC_UNBOUND)); },
          "no bound"),
      row(
          "AViewsNameIsAllInOneField",
          [](W& w, Three t) {
            const int32_t view = w.given(kFloat, {2});
            w.view(w.constant(kFloat, {2}), {2}, view);
            w.plan().operators[0] = {"executorch_prim::et_view.default", ""};
            w.add(t.a, t.b, view);
          },
          "may be a constant"),
  };
}

Rows moves() {
  return {
      given_row("AnInputIsMovedAndItsMemoryIsGone",
                [](W& w, Three t) {
                  const int32_t target = w.planned(kFloat, {2});
                  w.run(jump_false(condition(w), 2));
                  w.run(move(t.a, target));
                  w.add(target, t.b, t.out);
                }),
      given_row("AViewIsMovedAndNotMadeAgain",
                [](W& w, Three t) {
                  const int32_t view = w.given(kFloat, {2});
                  const int32_t target = w.planned(kFloat, {2});
                  w.run(jump_false(condition(w), 3));
                  w.view(t.a, {2}, view);
                  w.run(move(view, target));
                  w.add(target, t.b, t.out);
                }),
      given_row("AnOutputIsMovedToTheCallersInput",
                [](W& w, Three t) {
                  const int32_t out = w.output(w.given(kFloat, {2}));
                  w.add(t.a, t.b, t.out);
                  w.run(move(t.a, out));
                }),
      row(
          "AConstantIsMovedToAResult",
          [](W& w, Three t) {
            const int32_t target = w.planned(kFloat, {2});
            w.run(move(w.constant(kFloat, {2}), target));
            w.add(t.a, t.b, target);
          },
          "may be a constant"),
      row(
          "AConstantIsMovedThroughTwoTargets",
          [](W& w, Three t) {
            const int32_t first = w.planned(kFloat, {2});
            const int32_t second = w.planned(kFloat, {2});
            w.run(move(first, second));
            w.add(t.a, t.b, second);
            w.run(move(w.constant(kFloat, {2}), first));
          },
          "may be a constant"),
      row(
          "AMoveGoesToAnInput", [](W& w, Three t) { w.run(move(t.out, t.a)); }, "an input"),
      row(
          "AMoveGoesToAConstant", [](W& w, Three t) { w.run(move(t.a, w.constant(kFloat, {2}))); },
          "expected none"),
      row(
          "AMoveGoesToItself", [](W& w, Three t) { w.run(move(t.out, t.out)); }, "the same"),
      row(
          "AMoveGoesToAnotherDtype",
          [](W& w, Three t) { w.run(move(t.a, w.planned(Type::LONG, {2}))); }, "the same type"),
      row(
          "AMoveGoesToAnotherRank",
          [](W& w, Three t) { w.run(move(t.a, w.planned(kFloat, {2, 1}))); }, "the same type"),
      row("AMoveGoesToALargerTensor",
          [](W& w, Three t) {
            const int32_t target = w.planned(kFloat, {64});
            const int32_t sum = w.output(w.planned(kFloat, {64}));
            w.run(move(t.a, target));
            w.add(target, target, sum);
          }),
      row("AMoveGoesToASmallerTensorThatIsWritten",
          [](W& w, Three t) {
            const int32_t target = w.planned(kFloat, {1});
            const int32_t large = w.planned(kFloat, {64});
            w.run(move(target, t.out));
            w.add(large, large, t.out);
          }),
      row(
          "AListIsMoved",
          [](W& w, Three t) {
            const int32_t from = w.value(list(Kind::TensorList, {t.a}));
            w.run(move(from, w.value(list(Kind::TensorList, {t.b}))));
          },
          "expected a tensor, a number or None"),
      row(
          "ANumberIsMovedToATensor", [](W& w, Three t) { w.run(move(w.value(integer(1)), t.out)); },
          "expected kind"),
      row(
          "ADynamicResultIsMovedToItsOperand",
          [](W& w, Three t) {
            const int32_t dynamic = w.planned(kFloat, {2}, Dynamism::DYNAMIC_BOUND);
            const int32_t target = w.planned(kFloat, {2});
            w.run(move(dynamic, target));
            w.add(target, t.b, dynamic);
          },
          "or resized"),
      row("ASizeIsMovedBetweenTwoExecutions",
          [](W& w, Three t) {
            const int32_t size = w.value(integer(2));
            w.run(jump_false(condition(w), 2));
            w.run(move(w.value(integer(INT64_C(1) << 40)), size));
            const int32_t sizes = w.value(list(Kind::IntList, {size}));
            w.call("aten::full.out", {sizes, w.value(integer(1)), t.out, t.out});
          }),
  };
}

Rows control() {
  return {
      row("ALoopHasNoEnd",
          [](W& w, Three t) {
            w.add(t.a, t.b, t.out);
            w.run(jump_false(w.value(boolean(false)), 0));
          }),
      row(
          "AJumpGoesBeyondTheEnd",
          [](W& w, Three) { w.run(jump_false(w.value(boolean(false)), 7)); },
          "jump to instruction"),
      row(
          "AJumpGoesBeforeTheStart",
          [](W& w, Three) { w.run(jump_false(w.value(boolean(false)), -1)); },
          "jump to instruction"),
      row(
          "AJumpGoesToItself", [](W& w, Three) { w.run(jump_false(w.value(boolean(false)), 0)); },
          "expected another"),
      row(
          "AConditionIsOfFloats", [](W& w, Three t) { w.run(jump_false(t.a, 1)); },
          "expected BOOL"),
      row(
          "AConditionIsAList",
          [](W& w, Three t) { w.run(jump_false(w.value(list(Kind::TensorList, {t.a})), 1)); },
          "JumpFalseCall on value"),
      row("AConditionHasNoElements",
          [](W& w, Three t) {
            w.run(jump_false(w.input(w.given(Type::BOOL, {0})), 2));
            w.add(t.a, t.b, t.out);
            w.add(t.b, t.b, t.out);
          }),
      row("AConditionHasNoMemory",
          [](W& w, Three t) {
            w.run(jump_false(w.given(Type::BOOL, {4}), 2));
            w.add(t.a, t.b, t.out);
          }),
      row("FreesAreRepeated",
          [](W& w, Three t) {
            w.add(t.a, t.b, t.out);
            for (const int32_t value : {t.a, t.out, w.constant(kFloat, {2}), t.out}) {
              w.run(free_value(value));
            }
            w.run(jump_false(w.value(boolean(false)), 0));
          }),
      row(
          "AnInputIsTwoInputs", [](W& w, Three t) { w.input(t.a); }, "two inputs"),
      row(
          "AConstantIsAnInput", [](W& w, Three) { w.input(w.constant(kFloat, {2})); },
          "is a constant"),
      row("OutputsAreInputsAndConstantsAndLists",
          [](W& w, Three t) {
            w.add(t.a, t.b, t.out);
            w.output(t.a);
            w.output(t.out);
            w.output(w.constant(kFloat, {2}));
            w.output(w.value(list(Kind::TensorList, {t.out})));
            w.output(w.value(none()));
          }),
      given_row("AnOutputIsAnInputOfTheCaller",
                [](W& w, Three t) {
                  w.output(t.a);
                  w.add(t.a, t.b, t.out);
                }),
      row("AnInputIsAResult", [](W& w, Three t) { w.add(t.a, t.b, t.a); }),
      given_row("AnInputOfTheCallerIsAResult", [](W& w, Three t) { w.add(t.b, t.b, t.a); }),
      row(
          "AnOperatorIsBeyondTheList", [](W& w, Three t) { w.run(kernel(3, {t.a})); },
          "operator 3 of 0"),
      row(
          "AnArgumentIsBeyondTheValues", [](W& w, Three t) { w.add(t.a, 1000, t.out); },
          "argument: value 1000"),
      row(
          "ADelegateIsBeyondTheList", [](W& w, Three t) { w.run(delegate(0, {t.a, t.out})); },
          "delegate 0 of 0"),
      row(
          "ADelegatesDataIsBeyondTheProgram",
          [](W& w, Three t) {
            w.plan().delegates = {{"XnnpackBackend", fb::DataLocation::INLINE, 4, {}}};
            w.run(delegate(0, {t.a, t.out}));
          },
          "data 4 of 0"),
  };
}

Rows lists() {
  const auto split = [](W& w, Three t, int32_t outs) {
    w.call("aten::split_copy.Tensor_out",
           {t.a, w.value(integer(1)), w.value(integer(0)), outs, outs});
  };
  return {
      row(
          "AListOfResultsHasOneTwice",
          [=](W& w, Three t) {
            const int32_t one = w.planned(kFloat, {1});
            split(w, t, w.value(list(Kind::TensorList, {one, one})));
          },
          "may be the same tensor"),
      row(
          "AListOfResultsHasAConstant",
          [=](W& w, Three t) {
            const int32_t one = w.planned(kFloat, {1});
            split(w, t, w.value(list(Kind::TensorList, {w.constant(kFloat, {1}), one})));
          },
          "may be a constant"),
      row("AListOfResultsIsTooShort",
          [=](W& w, Three t) {
            split(w, t, w.value(list(Kind::TensorList, {w.planned(kFloat, {1})})));
          }),
      row("AListOfResultsIsTooLong",
          [=](W& w, Three t) {
            std::vector<int64_t> items;
            for (int i = 0; i < 9; ++i) items.push_back(w.planned(kFloat, {1}));
            split(w, t, w.value(list(Kind::TensorList, items)));
          }),
      row(
          "AListOfResultsHasResultsThatOverlap",
          [=](W& w, Three t) {
            const int32_t one = w.planned(kFloat, {1});
            const int32_t same = w.at(w.tensor_at(one).offset, kFloat, {1});
            split(w, t, w.value(list(Kind::TensorList, {one, same})));
          },
          "shares bytes"),
      row(
          "AListOfResultsLiesWhereTheOperandIs",
          [=](W& w, Three t) {
            split(w, t,
                  w.value(list(Kind::TensorList, {w.at(0, kFloat, {1}), w.at(4, kFloat, {1})})));
          },
          "shares bytes"),
      row(
          "AListHasNone", [](W& w, Three) { w.value(list(Kind::TensorList, {-1})); },
          "list item -1"),
      row(
          "AListHasAList",
          [](W& w, Three t) {
            const int32_t inner = w.value(list(Kind::TensorList, {t.a}));
            w.value(list(Kind::TensorList, {inner}));
          },
          "has kind"),
      row(
          "AListHasItself",
          [](W& w, Three) {
            const auto own = static_cast<int64_t>(w.plan().values.size());
            w.value(list(Kind::OptionalTensorList, {own}));
          },
          "has kind"),
      row(
          "AListHasAValueThatIsNotThere",
          [](W& w, Three) { w.value(list(Kind::TensorList, {INT32_MAX})); }, "list item"),
      row(
          "AListOfNumbersHasATensor", [](W& w, Three t) { w.value(list(Kind::IntList, {t.a})); },
          "has kind"),
      row("AnOptionalListHasNoneInTwoWays",
          [](W& w, Three t) {
            const int32_t index = w.input(w.given(Type::LONG, {2}));
            const int32_t items =
                w.value(list(Kind::OptionalTensorList, {index, -1, w.value(none())}));
            w.call("aten::index.Tensor_out", {t.a, items, t.out, t.out});
          }),
      row(
          "CatReadsItsResult",
          [](W& w, Three t) {
            const int32_t items = w.value(list(Kind::TensorList, {t.a, t.out}));
            w.call("aten::cat.out", {items, w.value(integer(0)), t.out, t.out});
          },
          "may be the same tensor"),
      row(
          "CatReadsAPartOfItsResult",
          [](W& w, Three t) {
            const int32_t result = w.planned(kFloat, {4});
            const int32_t part = w.at(w.tensor_at(result).offset + 8, kFloat, {2});
            const int32_t items = w.value(list(Kind::TensorList, {t.a, part}));
            w.call("aten::cat.out", {items, w.value(integer(0)), result, result});
          },
          "shares bytes"),
      row(
          "ADynamicTensorIsOperandAndResult",
          [](W& w, Three t) {
            const int32_t dynamic = w.planned(kFloat, {2}, Dynamism::DYNAMIC_BOUND);
            w.add(dynamic, t.a, dynamic);
          },
          "or resized"),
      row(
          "ADynamicResultIsItsListsItem",
          [](W& w, Three t) {
            const int32_t dynamic = w.planned(kFloat, {4}, Dynamism::DYNAMIC_BOUND);
            const int32_t items = w.value(list(Kind::TensorList, {t.a, dynamic}));
            w.call("aten::cat.out", {items, w.value(integer(0)), dynamic, dynamic});
          },
          "may be the same tensor"),
  };
}

}  // namespace

Rows hostile_relations() {
  Rows rows = views();
  for (const auto& more : {moves(), control(), lists()}) {
    rows.insert(rows.end(), more.begin(), more.end());
  }
  return rows;
}

}  // namespace executorch::testing
