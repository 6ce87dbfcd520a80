// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// Views and conditions in loops and branches; results whose sizes change.
#include "fuzz/hostile/four_floats.h"

namespace executorch::testing {
namespace {

void slice(W& w, int32_t from, int64_t begin, int64_t end, int32_t to) {
  w.call("aten::slice_copy.Tensor_out",
         {from, number(w, 0), number(w, begin), number(w, end), number(w, 1), to, to});
}

Rows views_in_loops() {
  return {
      row("AViewOfAResultThatALoopShrinks",
          [](W& w, int32_t a, int32_t out) {
            const int32_t base = planned(w, {4}, kBound), view = unmade(w, {4}, kBound);
            w.add(a, a, base);
            w.view(base, {-1}, view);
            w.add(view, a, out);
            slice(w, a, 0, 1, base);
            w.run(jump_false(condition(w), 2));
          }),
      row("AViewOfAResultThatALoopEmpties",
          [](W& w, int32_t a, int32_t out) {
            const int32_t base = planned(w, {4}, kBound), view = unmade(w, {2, 2}, kBound);
            slice(w, a, 0, 0, base);
            w.view(base, {2, -1}, view);
            w.call("aten::sum.IntList_out", {view, w.ints({0, 1}), w.value(boolean(false)),
                                             w.value(none()), planned(w, {}), planned(w, {})});
            negate(w, a, out);
            w.run(jump_false(condition(w), 0));
          }),
      row("AViewIsLongerThanWhatItsBaseHasBecome",
          [](W& w, int32_t a, int32_t out) {
            const int32_t base = planned(w, {4}, kBound), view = unmade(w);
            slice(w, a, 0, 1, base);
            w.view(base, {4}, view);
            negate(w, view, out);
          }),
      row("BothBranchesMakeAViewOfOtherSizes",
          [](W& w, int32_t a, int32_t out) {
            const int32_t view = unmade(w, {4}, kBound), small = w.input(planned(w, {2}));
            w.run(jump_false(condition(w), 3));
            w.view(a, {4}, view);
            w.run(jump_false(w.value(boolean(false)), 4));
            w.view(small, {2}, view);
            negate(w, view, out);
          }),
      row("AViewOfATargetThatIsMovedToAgain",
          [](W& w, int32_t a, int32_t out) {
            const int32_t given = w.input(unmade(w)), target = planned(w), view = unmade(w);
            w.run(move(given, target));
            w.view(target, {4}, view);
            w.run(move(a, target));
            w.add(view, target, out);
            w.run(jump_false(condition(w), 2));
          }),
      row("AJumpGoesBetweenAMoveAndAView",
          [](W& w, int32_t a, int32_t out) {
            const int32_t given = w.input(unmade(w)), target = planned(w), view = unmade(w);
            w.run(jump_false(condition(w), 2));
            w.run(move(given, target));
            w.view(target, {4}, view);
            w.add(view, a, out);
          }),
      row("AViewOfAViewIsMadeBeforeItsBase",
          [](W& w, int32_t a, int32_t out) {
            const int32_t first = unmade(w), second = unmade(w, {2, 2}), flat = unmade(w);
            w.view(first, {2, 2}, second);
            w.view(a, {4}, first);
            w.view(second, {4}, flat);
            negate(w, flat, out);
            w.run(jump_false(condition(w), 0));
          }),
      row("AViewOutlivesAFree",
          [](W& w, int32_t a, int32_t out) {
            const int32_t base = unmade(w, {0}, Dynamism::DYNAMIC_UNBOUND), view = unmade(w);
            negate(w, a, base);
            w.view(base, {4}, view);
            w.run(free_value(base));
            negate(w, view, out);
          }),
      row("AViewOutlivesGrowth",
          [](W& w, int32_t a, int32_t out) {
            const int32_t base = unmade(w, {0}, Dynamism::DYNAMIC_UNBOUND), view = unmade(w);
            negate(w, a, base);
            w.view(base, {4}, view);
            cat(w, {a, a, a, a, a, a, a, a}, base);
            negate(w, view, out);
          }),
      row("AConditionIsAViewThatIsSkipped",
          [](W& w, int32_t a, int32_t out) {
            const int32_t flag = condition(w), view = w.given(Type::BOOL, {1, 1});
            w.run(jump_false(flag, 2));
            w.view(flag, {1, 1}, view);
            w.run(jump_false(view, 4));
            negate(w, a, out);
          }),
      row("AConditionLiesWhereAResultIs",
          [](W& w, int32_t a, int32_t out) {
            const int32_t flag = w.at(w.tensor_at(out).offset, Type::BOOL, {1});
            negate(w, a, out);
            w.run(jump_false(flag, 3));
            negate(w, a, out);
          }),
      row("AConditionIsMovedTo",
          [](W& w, int32_t a, int32_t out) {
            const int32_t flag = condition(w), target = w.planned(Type::BOOL, {1});
            w.run(jump_false(flag, 2));
            w.run(move(flag, target));
            w.run(jump_false(target, 4));
            negate(w, a, out);
          }),
      row("ASecondChainUsesAViewOfTheFirst",
          [](W& w, int32_t a, int32_t out) {
            const int32_t view = unmade(w);
            w.run(jump_false(condition(w), 2));
            w.view(a, {4}, view);
            const int32_t stop = condition(w);
            negate(w, view, out);
            auto& chains = w.plan().chains;
            chains.push_back({chains[0].back(), jump_false(stop, 0)});
            chains[0].pop_back();
          }),
      row(
          "ASecondChainJumpsBeyondItsEnd",
          [](W& w, int32_t a, int32_t out) {
            const int32_t stop = condition(w);
            negate(w, a, out);
            negate(w, a, out);
            w.plan().chains.push_back({jump_false(stop, 2)});
          },
          "jump to instruction 2 of 1"),
      row("AViewRepeatsAnotherResult",
          [](W& w, int32_t a, int32_t out) {
            const int32_t view = unmade(w);
            w.call("executorch_prim::et_view.default", {a, w.ints({4}), view, out});
            negate(w, view, out);
          }),
      row("AViewsSizesAreMoved",
          [](W& w, int32_t a, int32_t out) {
            const int32_t view = unmade(w), size = number(w, 4);
            w.run(jump_false(condition(w), 2));
            w.run(move(number(w, INT64_MIN), size));
            w.call("executorch_prim::et_view.default",
                   {a, w.value(list(Kind::IntList, {size})), view, view});
            negate(w, view, out);
          }),
      row(
          "AViewIsOfAList",
          [](W& w, int32_t a, int32_t) { w.view(tensors(w, {a}), {4}, unmade(w)); },
          "does not take these arguments"),
      row(
          "AViewIsOfNone", [](W& w, int32_t, int32_t) { w.view(w.value(none()), {4}, unmade(w)); },
          "does not take these arguments"),
      row(
          "AViewHasNoResult",
          [](W& w, int32_t a, int32_t) {
            w.call("executorch_prim::et_view.default", {a, w.ints({4})});
          },
          "does not take these arguments"),
      row(
          "AViewsResultIsANumber", [](W& w, int32_t a, int32_t) { w.view(a, {4}, number(w, 4)); },
          "does not take these arguments"),
      row(
          "APlannedViewIsMovedTo",
          [](W& w, int32_t a, int32_t out) {
            const int32_t view = w.at(0, kFloat, {4});
            w.view(a, {4}, view);
            w.run(move(out, view));
          },
          "but is a view"),
      row(
          "AResultsPlannedViewIsRead",
          [](W& w, int32_t, int32_t out) {
            const int32_t view = w.at(w.tensor_at(out).offset, kFloat, {4});
            w.view(out, {4}, view);
            flip(w, view, out);
          },
          "may be the same tensor"),
      row(
          "AViewOfAMovedConstantIsWritten",
          [](W& w, int32_t a, int32_t) {
            const int32_t target = planned(w), view = unmade(w);
            w.view(target, {4}, view);
            w.run(jump_false(condition(w), 3));
            w.run(move(w.constant(kFloat, {4}), target));
            cat(w, {a}, view);
          },
          "may be a constant"),
  };
}

Rows sizes_that_change() {
  return {
      row("AResultIsLargerThanItsBound",
          [](W& w, int32_t a, int32_t) { cat(w, {a, a, a}, w.output(planned(w, {4}, kBound))); }),
      row("AnOperandIsShrunkAndReadByALargerCall",
          [](W& w, int32_t a, int32_t out) {
            const int32_t dynamic = planned(w, {4}, kBound);
            w.add(a, a, dynamic);
            slice(w, a, 1, 3, dynamic);
            w.add(dynamic, a, out);
            cat(w, {dynamic, dynamic}, out);
          }),
      row("AResultsPlaceIsThatOfAnEmptyTensor",
          [](W& w, int32_t a, int32_t out) {
            const int32_t empty = w.at(w.tensor_at(out).offset, kFloat, {0});
            cat(w, {a, empty}, out);
          }),
      row(
          "ADynamicResultOverlapsAtItsBound",
          [](W& w, int32_t a, int32_t) { slice(w, a, 0, 1, w.at(12, kFloat, {4}, kBound)); },
          "shares bytes"),
      row("ADynamicOutputOfTheCallerIsResized",
          [](W& w, int32_t a, int32_t) {
            const int32_t given = w.output(unmade(w, {4}, kBound));
            slice(w, a, 0, 2, given);
            cat(w, {a, a}, given);
          }),
      row("ADynamicTensorOfAHugeBoundIsEmpty",
          [](W& w, int32_t a, int32_t) {
            const int32_t huge = w.output(planned(w, {0, INT32_MAX}, kBound));
            w.call("aten::expand_copy.out",
                   {a, w.ints({INT32_MAX, 4}), w.value(boolean(false)), huge, huge});
          }),
      row("ADynamicResultHasAnotherDimOrder",
          [](W& w, int32_t, int32_t) {
            const int32_t in = w.input(planned(w, {1, 2, 2, 2}, kBound));
            const int32_t result = w.output(planned(w, {1, 2, 2, 2}, kBound));
            w.tensor_at(result).dim_order = {0, 2, 3, 1};
            w.call("aten::permute_copy.out", {in, w.ints({0, 3, 1, 2}), result, result});
            w.call("dim_order_ops::_to_dim_order_copy.out",
                   {in, w.value(boolean(false)), w.ints({0, 2, 3, 1}), result, result});
          }),
      row("ADynamicScalarIsResized",
          [](W& w, int32_t a, int32_t) {
            const int32_t scalar = w.output(planned(w, {}, kBound));
            w.call("aten::select_copy.int_out", {a, number(w, 0), number(w, 1), scalar, scalar});
            cat(w, {a}, scalar);
          }),
      row("AStaticTargetHasADynamicTensorsSizes",
          [](W& w, int32_t a, int32_t out) {
            const int32_t dynamic = planned(w, {4}, kBound), target = planned(w);
            slice(w, a, 0, 1, dynamic);
            w.run(move(dynamic, target));
            cat(w, {target, target}, out);
            w.add(target, a, out);
          }),
      row("ADynamicInputIsEmpty",
          [](W& w, int32_t, int32_t) {
            const int32_t in = w.input(unmade(w, {0, 4}, kBound));
            negate(w, in, w.output(planned(w, {0, 4}, kBound)));
            w.call("aten::max.unary_out", {in, planned(w, {}), planned(w, {})});
          }),
  };
}

}  // namespace

Rows hostile_flow() {
  Rows rows = views_in_loops();
  const Rows more = sizes_that_change();
  rows.insert(rows.end(), more.begin(), more.end());
  return rows;
}

}  // namespace executorch::testing
