// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// Two or three relations at a time: outputs that repeat or show inputs, views of states, planned
// views whose base the caller replaces, frees of any value, plans that place moved or viewed
// tensors.
#include "fuzz/hostile/four_floats.h"

namespace executorch::testing {
namespace {

int32_t growing(W& w) { return unmade(w, {0}, Dynamism::DYNAMIC_UNBOUND); }

/// A planned view of `base`: at its first byte.
int32_t planned_view(W& w, int32_t base, Sizes sizes, Dynamism dynamism = Dynamism::STATIC) {
  return w.at(w.tensor_at(base).offset, kFloat, std::move(sizes), dynamism);
}

Rows outputs() {
  return {
      row("AnOutputOfTheCallerIsListedTwice",
          [](W& w, int32_t a, int32_t out) {
            const int32_t given = w.output(w.output(unmade(w)));
            negate(w, a, given);
            w.add(given, a, out);
          }),
      row("AnOutputIsThePlannedViewOfAnother",
          [](W& w, int32_t a, int32_t out) {
            const int32_t view = w.output(planned_view(w, out, {2, 2}));
            negate(w, a, out);
            w.view(out, {2, 2}, view);
          }),
      row("AnOutputIsAPlannedViewOfAnInnerTensor",
          [](W& w, int32_t a, int32_t out) {
            const int32_t base = planned(w), view = w.output(planned_view(w, base, {2}));
            negate(w, a, base);
            w.view(base, {4}, view);
            w.add(base, a, out);
          }),
      row("AnOutputsViewsAreReadAfterItsMemoryIsReplaced",
          [](W& w, int32_t a, int32_t out) {
            const int32_t first = planned_view(w, out, {2, 2}), second = unmade(w, {4});
            negate(w, a, out);
            w.view(out, {2, 2}, first);
            w.view(first, {4}, second);
            negate(w, second, w.output(planned(w)));
          }),
      row("AnOutputIsAState",
          [](W& w, int32_t a, int32_t out) {
            const int32_t kept = w.output(state(w));
            w.add(kept, a, out);
            w.add(kept, a, kept);
          }),
      row("AnOutputIsAViewOfAState",
          [](W& w, int32_t a, int32_t out) {
            const int32_t kept = state(w), view = w.output(unmade(w, {2, 2}));
            w.view(kept, {2, 2}, view);
            w.add(kept, a, out);
            w.add(out, a, kept);
          }),
      row("AnOutputGrowsInTheCallersMemory",
          [](W& w, int32_t a, int32_t out) {
            const int32_t grown = w.output(growing(w));
            cat(w, {a, a}, grown);
            negate(w, a, out);
          }),
      row("AnOutputIsFreed",
          [](W& w, int32_t a, int32_t out) {
            const int32_t grown = w.output(growing(w));
            cat(w, {a, a}, grown);
            w.run(free_value(grown));
            negate(w, a, out);
            w.run(free_value(out));
          }),
      row("AnInputOfTheCallerIsAnOutputToo",
          [](W& w, int32_t a, int32_t out) {
            const int32_t given = w.output(w.input(unmade(w)));
            w.add(given, a, out);
            negate(w, a, given);
          }),
      row("AnInputOfTheCallerThatIsResizedIsAnOutputToo",
          [](W& w, int32_t a, int32_t out) {
            const int32_t given = w.output(w.input(unmade(w, {4}, kBound)));
            w.add(given, a, out);
            cat(w, {a}, given);
          }),
      row("AnOutputIsMovedToAnotherAndBack",
          [](W& w, int32_t a, int32_t out) {
            const int32_t given = w.output(unmade(w)), target = w.output(planned(w));
            negate(w, a, given);
            w.run(move(given, target));
            w.add(target, a, out);
            w.run(jump_false(condition(w), 0));
          }),
      row("AnOutputIsANumberThatIsMoved",
          [](W& w, int32_t a, int32_t out) {
            const int32_t from = w.output(number(w, 3)), to = w.output(number(w, 5));
            w.run(move(from, to));
            w.run(move(to, from));
            negate(w, a, out);
          }),
      row("AnOutputIsAListOfViews",
          [](W& w, int32_t a, int32_t out) {
            const int32_t view = unmade(w, {2, 2});
            w.output(tensors(w, {view, a, out, view}));
            w.run(jump_false(condition(w), 2));
            w.view(a, {2, 2}, view);
            negate(w, a, out);
          }),
      row("AnOutputIsAConstantThatAViewShows",
          [](W& w, int32_t a, int32_t out) {
            const int32_t constant = w.output(w.constant(kFloat, {4})), view = w.output(unmade(w));
            w.view(constant, {4}, view);
            w.add(view, a, out);
          }),
      row("InputsLieOverEachOther",
          [](W& w, int32_t a, int32_t out) {
            const int32_t b = w.input(w.at(w.tensor_at(a).offset + 4, kFloat, {2}));
            const int32_t c = w.input(w.at(w.tensor_at(a).offset, Type::LONG, {2}));
            negate(w, a, out);
            w.call("aten::neg.out", {b, w.output(planned(w, {2})), w.plan().outputs.back()});
            w.call("aten::neg.out",
                   {c, w.output(w.planned(Type::LONG, {2})), w.plan().outputs.back()});
          }),
      row("AnInputLiesUnderAnOutputThatIsNeverWritten",
          [](W& w, int32_t a, int32_t out) {
            w.input(w.at(w.tensor_at(out).offset + 8, kFloat, {2}));
            w.output(w.at(w.tensor_at(a).offset + 4, kFloat, {2}));
          }),
  };
}

Rows frees() {
  const auto frees = [](std::string name, std::function<int32_t(W&, int32_t)> value,
                        std::string refused = "") {
    return row(
        std::move(name),
        [value](W& w, int32_t a, int32_t out) {
          const int32_t freed = value(w, a);
          w.run(free_value(freed));
          negate(w, a, out);
          w.run(free_value(freed));
          w.run(jump_false(condition(w), 0));
        },
        std::move(refused));
  };
  return {
      frees("AConstantIsFreed", [](W& w, int32_t) { return w.constant(kFloat, {4}); }),
      frees("AStateIsFreed", [](W& w, int32_t) { return state(w); }),
      frees(
          "ANumberIsFreed", [](W& w, int32_t) { return number(w, 3); },
          "FreeCall on value 2 of kind 2"),
      frees(
          "AListIsFreed", [](W& w, int32_t a) { return tensors(w, {a}); },
          "FreeCall on value 2 of kind 10"),
      frees("AnInputOfTheCallerIsFreed", [](W& w, int32_t) { return w.input(unmade(w)); }),
      frees("AGrowingInputIsFreed", [](W& w, int32_t) { return w.input(growing(w)); }),
      row("AViewIsFreed",
          [](W& w, int32_t a, int32_t out) {
            const int32_t view = unmade(w);
            w.view(a, {4}, view);
            w.run(free_value(view));
            w.add(view, a, out);
          }),
      row("ATargetsSourceIsFreed",
          [](W& w, int32_t a, int32_t out) {
            const int32_t grown = growing(w), target = growing(w);
            cat(w, {a, a}, grown);
            w.run(move(grown, target));
            w.run(free_value(grown));
            cat(w, {target, a}, out);
            w.run(jump_false(condition(w), 0));
          }),
      row("ATargetIsFreedAndItsSourceRead",
          [](W& w, int32_t a, int32_t out) {
            const int32_t grown = growing(w), target = growing(w);
            cat(w, {a, a}, grown);
            w.run(move(grown, target));
            w.run(free_value(target));
            cat(w, {grown}, out);
            w.run(free_value(grown));
          }),
      row("AListsItemGrowsAndIsFreed",
          [](W& w, int32_t a, int32_t out) {
            const int32_t grown = growing(w), list = tensors(w, {grown, grown});
            cat(w, {a}, grown);
            w.call("aten::cat.out", {list, number(w, 0), growing(w), 0});
            w.code().back().arguments[3] = w.code().back().arguments[2];
            w.run(free_value(grown));
            w.call("aten::cat.out", {list, number(w, 0), out, out});
          }),
      row("AConditionGrowsAndIsFreed",
          [](W& w, int32_t a, int32_t out) {
            const int32_t flag = w.given(Type::BOOL, {0}, Dynamism::DYNAMIC_UNBOUND);
            w.call("aten::eq.Tensor_out", {a, a, flag, flag});
            w.run(jump_false(flag, 2));
            w.run(free_value(flag));
            w.run(jump_false(flag, 0));
            negate(w, a, out);
          }),
  };
}

Rows conditions() {
  const auto on = [](std::string name, std::function<int32_t(W&, int32_t)> value,
                     std::string refused = "") {
    return row(
        std::move(name),
        [value](W& w, int32_t a, int32_t out) {
          w.run(jump_false(value(w, a), 2));
          negate(w, a, out);
        },
        std::move(refused));
  };
  return {
      on("AConditionIsAConstantOfOtherBytes",
         [](W& w, int32_t) {
           w.program().constant_buffer.push_back(std::string(16, '\7'));
           const int32_t id = w.constant(Type::BOOL, {1});
           w.tensor_at(id).data_buffer_idx = 2;
           return id;
         }),
      on("AConditionHasTwoElements", [](W& w, int32_t) { return w.planned(Type::BOOL, {2}); }),
      on("AConditionHasNoElements", [](W& w, int32_t) { return w.planned(Type::BOOL, {0}); }),
      on("AConditionIsAFloatsBytes",
         [](W& w, int32_t a) { return w.at(w.tensor_at(a).offset + 3, Type::BOOL, {1}); }),
      on(
          "AConditionIsADouble", [](W& w, int32_t) { return w.value(real(1)); },
          "JumpFalseCall on value 2 of kind 4"),
      on(
          "AConditionIsNone", [](W& w, int32_t) { return w.value(none()); },
          "JumpFalseCall on value 2 of kind 1"),
      on("AConditionIsAnUnmadeTensor", [](W& w, int32_t) { return w.given(Type::BOOL, {1}); }),
      row("AConditionIsAViewOfItsOwnLoop",
          [](W& w, int32_t a, int32_t out) {
            const int32_t flags = w.planned(Type::BOOL, {4}), view = w.given(Type::BOOL, {1});
            w.call("aten::eq.Tensor_out", {a, out, flags, flags});
            w.view(flags, {1}, view);
            w.add(out, a, out);
            w.run(jump_false(view, 0));
          }),
  };
}

Rows operands() {
  return {
      row(
          "ATargetOfTwoSourcesIsOperandAndAnotherSourceResult",
          [](W& w, int32_t a, int32_t out) {
            const int32_t first = planned(w), second = planned(w), target = planned(w);
            w.run(move(first, target));
            w.run(move(second, target));
            w.call("aten::flip.out", {target, w.ints({0}), first, first});
            negate(w, a, out);
          },
          "may be the same tensor"),
      row("ResultsOfTwoDtypesLieAtOnePlaceWithoutElements",
          [](W& w, int32_t a, int32_t out) {
            const int32_t values = w.at(0, kFloat, {0}), indices = w.at(0, Type::LONG, {0});
            w.call("aten::topk.values", {a, number(w, 0), number(w, 0), w.value(boolean(true)),
                                         w.value(boolean(true)), values, indices, values});
            negate(w, a, out);
          }),
      row(
          "ResultsThatMayBeResizedLieAtOnePlaceWithoutElements",
          [](W& w, int32_t a, int32_t out) {
            const int32_t values = w.at(0, kFloat, {4}, kBound);
            const int32_t indices = w.at(16, Type::LONG, {0}, kBound);
            w.call("aten::topk.values", {a, number(w, 4), number(w, 0), w.value(boolean(true)),
                                         w.value(boolean(true)), values, indices, values});
            negate(w, a, out);
          },
          "shares bytes"),
      row("AResultLiesUnderTheInputThatItNeeds",
          [](W& w, int32_t a, int32_t out) {
            const int32_t inner = w.at(w.tensor_at(a).offset, kFloat, {4});
            w.add(a, a, inner);
            w.add(inner, a, out);
          }),
      row(
          "AnIndexLiesInTheResult",
          [](W& w, int32_t a, int32_t out) {
            const int32_t index = w.at(w.tensor_at(out).offset, Type::LONG, {2});
            w.call("aten::index_select.out", {a, number(w, 0), index, out, out});
          },
          "shares bytes"),
      row(
          "AnIndexIsAViewOfTheResultOfAnotherDtype",
          [](W& w, int32_t a, int32_t out) {
            const int32_t index = w.given(Type::LONG, {2}), result = planned(w, {2});
            w.view(result, {2}, index);
            w.call("aten::index_select.out", {a, number(w, 0), index, result, result});
            negate(w, a, out);
          },
          "may be the same tensor"),
      row(
          "AnIndexIsItsOwnCallsResult",
          [](W& w, int32_t a, int32_t out) {
            const int32_t index = w.planned(Type::LONG, {4});
            const int32_t list = w.value(testing::list(Kind::OptionalTensorList, {index}));
            w.call("aten::index_put.out",
                   {index, list, index, w.value(boolean(true)), index, index});
            negate(w, a, out);
          },
          "may be the same tensor"),
      row(
          "AListRepeatsTheResultsNeighbor",
          [](W& w, int32_t a, int32_t out) {
            const int32_t wide = w.at(w.tensor_at(out).offset, kFloat, {8}, kBound);
            cat(w, {a, a}, wide);
            cat(w, {wide}, out);
          },
          "shares bytes"),
      row(
          "AStateIsMovedInto",
          [](W& w, int32_t a, int32_t out) {
            const int32_t kept = state(w);
            w.run(move(a, kept));
            w.add(kept, a, out);
          },
          "expected none"),
      row("AStateIsMovedOutOfAndWritten",
          [](W& w, int32_t a, int32_t out) {
            const int32_t kept = state(w), target = planned(w);
            w.run(move(kept, target));
            w.add(a, a, target);
            w.add(kept, target, out);
          }),
      row(
          "AStatesViewIsReadWhereTheStateIsWritten",
          [](W& w, int32_t a, int32_t out) {
            const int32_t kept = state(w), view = unmade(w);
            w.view(kept, {4}, view);
            w.call("aten::flip.out", {view, w.ints({0}), kept, kept});
            negate(w, a, out);
          },
          "may be the same tensor"),
      row("APlannedViewsBaseIsMovedTo",
          [](W& w, int32_t a, int32_t out) {
            const int32_t base = planned(w), view = planned_view(w, base, {2, 2});
            const int32_t given = w.input(unmade(w));
            w.run(move(given, base));
            w.view(base, {4}, view);
            w.call("aten::sum.IntList_out", {view, w.ints({0, 1}), w.value(boolean(false)),
                                             w.value(none()), planned(w, {}), planned(w, {})});
            w.add(base, a, out);
          }),
      row("APlannedViewOfADynamicBaseOutlivesItsShrinking",
          [](W& w, int32_t a, int32_t out) {
            const int32_t base = planned(w, {4}, kBound);
            const int32_t view = planned_view(w, base, {4}, kBound);
            w.add(a, a, base);
            w.view(base, {-1}, view);
            cat(w, {}, base);
            w.add(view, a, out);
            w.run(jump_false(condition(w), 1));
          }),
      row("AViewOfAnEmptyTensorAtTheEndOfABuffer",
          [](W& w, int32_t a, int32_t out) {
            w.plan().buffer_sizes = {0, 64};
            const int32_t base = w.at(64, kFloat, {0}), view = unmade(w, {0, 7});
            w.view(base, {0, 7}, view);
            w.call("aten::sum.IntList_out", {view, w.ints({0}), w.value(boolean(false)),
                                             w.value(none()), planned(w, {7}), 0});
            w.code().back().arguments[5] = w.code().back().arguments[4];
            negate(w, a, out);
          }),
      row("AViewsSizesAreComputedFromItsOwnBytes",
          [](W& w, int32_t a, int32_t out) {
            const int32_t longs = w.planned(Type::LONG, {1}), size = number(w, 4);
            const int32_t sizes = w.value(list(Kind::IntList, {size})),
                          view = unmade(w, {4}, kBound);
            w.view(a, {4}, view);
            w.code().back().arguments[1] = sizes;
            w.call("aten::_local_scalar_dense", {longs, size});
            w.add(view, a, out);
            w.run(jump_false(condition(w), 0));
          }),
  };
}

}  // namespace

Rows hostile_combinations() {
  Rows rows = outputs();
  for (const auto& more : {frees(), conditions(), operands()}) {
    rows.insert(rows.end(), more.begin(), more.end());
  }
  return rows;
}

}  // namespace executorch::testing
