// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// Moves in chains, lists that share items, and methods that share a program's constants and states.
#include "fuzz/hostile/four_floats.h"

namespace executorch::testing {
namespace {

void split(W& w, int32_t from, int64_t size, int32_t results) {
  w.call("aten::split_copy.Tensor_out", {from, number(w, size), number(w, 0), results, results});
}

Rows moves_and_lists() {
  const std::string same = "may be the same tensor";
  return {
      row("TwoTargetsAreMovedToEachOther",
          [](W& w, int32_t a, int32_t out) {
            const int32_t first = planned(w), second = planned(w);
            negate(w, a, first);
            w.run(move(first, second));
            w.run(move(second, first));
            w.add(first, second, out);
            w.run(jump_false(condition(w), 1));
          }),
      row("AMoveChainReachesTheResultInPlace",
          [](W& w, int32_t a, int32_t out) {
            const int32_t first = planned(w), second = planned(w);
            w.run(move(out, first));
            w.run(move(first, second));
            w.add(second, a, out);
          }),
      row(
          "AMoveChainReachesTheResult",
          [](W& w, int32_t, int32_t out) {
            const int32_t first = planned(w), second = planned(w);
            w.run(move(out, first));
            w.run(move(first, second));
            flip(w, second, out);
          },
          same),
      row(
          "ABranchThatIsNeverTakenMovesAConstant",
          [](W& w, int32_t a, int32_t) {
            const int32_t target = planned(w);
            w.run(jump_false(w.value(boolean(false)), 2));
            w.run(move(w.constant(kFloat, {4}), target));
            negate(w, a, target);
          },
          "may be a constant"),
      row(
          "AListsItemIsAMovedConstant",
          [](W& w, int32_t a, int32_t) {
            const int32_t target = planned(w, {2}), view = unmade(w, {2});
            w.view(w.constant(kFloat, {2}), {2}, view);
            w.run(move(view, target));
            split(w, a, 2, tensors(w, {planned(w, {2}), target}));
          },
          "may be a constant"),
      row(
          "AListOfResultsHasAView",
          [](W& w, int32_t a, int32_t out) {
            const int32_t view = unmade(w, {2});
            w.view(out, {2}, view);
            split(w, a, 2, tensors(w, {planned(w, {2}), view}));
          },
          "is a view"),
      row(
          "AListOfResultsHasTwoTargetsOfOneValue",
          [](W& w, int32_t a, int32_t) {
            const int32_t from = planned(w, {2}), first = planned(w, {2}), second = planned(w, {2});
            w.run(move(from, first));
            w.run(move(from, second));
            split(w, a, 2, tensors(w, {first, second}));
          },
          same),
      row(
          "AListOfResultsHasWhatItsOperandIsMovedTo",
          [](W& w, int32_t, int32_t) {
            const int32_t from = planned(w, {2}), target = planned(w, {2});
            w.run(move(from, target));
            split(w, from, 1, tensors(w, {planned(w, {2}), target}));
          },
          same),
      row(
          "ADynamicItemIsOperandAndResult",
          [](W& w, int32_t, int32_t) {
            const int32_t dynamic = planned(w, {4}, kBound);
            split(w, dynamic, 2, tensors(w, {planned(w, {2}), dynamic}));
          },
          "may be the same tensor"),
      row("AListOfResultsIsEmpty",
          [](W& w, int32_t a, int32_t) { split(w, a, 2, tensors(w, {})); }),
      row("AListOfResultsIsAListOfOperandsNext",
          [](W& w, int32_t a, int32_t out) {
            const int32_t halves = tensors(w, {planned(w, {2}), planned(w, {2})});
            split(w, a, 2, halves);
            w.call("aten::cat.out", {halves, number(w, 0), out, out});
            w.run(jump_false(condition(w), 0));
          }),
      row("AListOfResultsHasInputsOfTheCaller",
          [](W& w, int32_t a, int32_t) {
            const int32_t first = w.input(unmade(w, {2})), second = w.input(unmade(w, {2}));
            split(w, a, 2, tensors(w, {first, second}));
          }),
      row("AListOfResultsHasUnmadeTensors",
          [](W& w, int32_t a, int32_t) {
            split(w, a, 2, tensors(w, {unmade(w, {2}), unmade(w, {2})}));
          }),
      row("AListHasOneOperandManyTimes",
          [](W& w, int32_t a, int32_t) {
            cat(w, std::vector<int64_t>(16, a), w.output(planned(w, {64})));
          }),
      row("AnOptionalListHasASkippedView",
          [](W& w, int32_t a, int32_t out) {
            const int32_t index = w.input(w.given(Type::LONG, {4}));
            const int32_t view = w.given(Type::LONG, {4});
            w.run(jump_false(condition(w), 2));
            w.view(index, {4}, view);
            const int32_t items = w.value(list(Kind::OptionalTensorList, {view}));
            w.call("aten::index.Tensor_out", {a, items, out, out});
          }),
      row(
          "AnOptionalListHasTheResult",
          [](W& w, int32_t a, int32_t) {
            const int32_t indices = w.planned(Type::LONG, {4});
            const int32_t items = w.value(list(Kind::OptionalTensorList, {-1, indices}));
            w.call("aten::index.Tensor_out", {a, items, indices, indices});
          },
          same),
      row(
          "AnOptionalListIsGivenForAListOfTensors",
          [](W& w, int32_t a, int32_t out) {
            const int32_t items = w.value(list(Kind::OptionalTensorList, {a, -1}));
            w.call("aten::cat.out", {items, number(w, 0), out, out});
          },
          "does not take these arguments"),
      row(
          "AListIsGivenForATensor",
          [](W& w, int32_t a, int32_t out) { negate(w, tensors(w, {a}), out); },
          "does not take these arguments"),
      row(
          "NoneIsGivenForAResult", [](W& w, int32_t a, int32_t) { negate(w, a, w.value(none())); },
          "does not take these arguments"),
      row(
          "ADoubleIsMovedToASize",
          [](W& w, int32_t, int32_t) { w.run(move(w.value(real(2.5)), number(w, 1))); },
          "expected kind"),
      row(
          "NoneIsMovedToASize",
          [](W& w, int32_t, int32_t) { w.run(move(w.value(none()), number(w, 1))); },
          "expected kind"),
      row(
          "ABoolListHasOtherBytes",
          [](W& w, int32_t, int32_t) { w.value(list(Kind::BoolList, {0, 1, 2})); },
          "bool 2 in a list"),
      row("ASizesItemIsMovedInALoop",
          [](W& w, int32_t a, int32_t) {
            const int32_t size = number(w, 2);
            const int32_t out = w.output(planned(w, {2, 2}, kBound));
            w.call("aten::expand_copy.out", {a, w.value(list(Kind::IntList, {size, number(w, -1)})),
                                             w.value(boolean(false)), out, out});
            w.run(move(number(w, -7), size));
            w.run(jump_false(condition(w), 0));
          }),
      row("ACallHasMoreArgumentsThanItsOperator",
          [](W& w, int32_t a, int32_t out) {
            w.call("aten::neg.out", {a, out, a, w.constant(kFloat, {4}), number(w, 1), out});
          }),
      row("ACallRepeatsAConstantAsItsResult",
          [](W& w, int32_t a, int32_t out) {
            w.call("aten::neg.out", {a, out, w.constant(kFloat, {4})});
          }),
      row(
          "ACallRepeatsAPartOfItsResult",
          [](W& w, int32_t a, int32_t out) {
            w.call("aten::flip.out",
                   {a, w.ints({0}), out, w.at(w.tensor_at(out).offset + 4, kFloat, {2})});
          },
          "shares bytes"),
      row(
          "AListAfterTheResultHasAPartOfIt",
          [](W& w, int32_t a, int32_t out) {
            const int32_t part = w.at(w.tensor_at(out).offset + 8, kFloat, {2});
            w.call("aten::flip.out", {a, w.ints({0}), out, tensors(w, {out, part})});
          },
          "shares bytes"),
  };
}

/// Two methods with the same planned memory, constants and states.
HostileProgram two(
    std::string name, std::function<void(W&, int32_t, int32_t)> second,
    std::function<void(TestProgram&)> change = [](TestProgram&) {}, std::string refused = "") {
  const auto make = [second, change] {
    W w, other;
    const int32_t a = w.input(planned(w));
    w.add(a, w.constant(kFloat, {4}), w.output(planned(w)));
    const int32_t b = other.input(planned(other));
    second(other, b, other.output(planned(other)));
    TestProgram program = w.finish();
    program.plans.push_back(other.finish().plans[0]);
    program.plans[1].name = "second";
    change(program);
    return program;
  };
  return {std::move(name), make, std::move(refused)};
}

Rows methods() {
  const auto copy = [](W& w, int32_t a, int32_t out) { negate(w, a, out); };
  const auto state_in = [](uint64_t offset, uint32_t entry, Sizes sizes) {
    return [offset, entry, sizes](W& w, int32_t a, int32_t out) {
      const int32_t id = w.at(offset, kFloat, sizes);
      w.tensor_at(id).data_buffer_idx = entry;
      w.tensor_at(id).name = "state";
      w.add(id, a, out);
      w.add(id, a, id);
    };
  };
  const auto states = [](TestProgram& p) {
    p.segments = {{0, 32}};
    p.segment_data = std::string(32, '\0');
    p.mutable_data = {{0, {0, 0, 16}}};
    p.plans[0].values[2].tensor.data_buffer_idx = 1;
    p.plans[0].values[2].tensor.memory_id = 1;
    p.plans[0].values[2].tensor.offset = 32;
    p.plans[0].values[2].tensor.name = "state";
    p.plans[0].buffer_sizes = {0, 48};
  };
  return {
      two("TwoMethodsReadOneConstant",
          [](W& w, int32_t a, int32_t out) {
            const int32_t wide = w.constant(kFloat, {8, 8});
            const int32_t bytes = w.constant(Type::BYTE, {256});
            w.add(a, w.constant(kFloat, {1}), out);
            w.add(wide, wide, w.output(planned(w, {8, 8})));
            w.add(bytes, bytes, w.output(w.planned(Type::BYTE, {256})));
          }),
      two("TwoMethodsHaveBuffersOfOtherNumbers", copy,
          [](TestProgram& p) { p.plans[1].buffer_sizes = {0, 64, 0, 1, 4096}; }),
      two("TwoMethodsShareAState", state_in(32, 1, {4}), states),
      two("TwoMethodsShareAStateAtOtherPlaces", state_in(48, 2, {4}), states),
      two("TwoMethodsShareAStateOfOtherSizes", state_in(32, 2, {2, 1}), states),
      two(
          "TwoMethodsShareAStateOfOtherDtypes",
          [](W& w, int32_t a, int32_t out) {
            const int32_t id = w.at(32, Type::SHORT, {8});
            w.tensor_at(id).data_buffer_idx = 1;
            w.tensor_at(id).name = "state";
            w.add(id, id, id);
            w.add(a, a, out);
          },
          states),
      two("AStateHasTheBytesOfTwoStatesOfTheOtherMethod", state_in(32, 1, {8}), states),
      two("AMethodsNameIsThatOfAPlan", copy,
          [](TestProgram& p) {
            p.plans[1].name = "executorch.plan.forward";
            p.segments = {{0, 0}};
            p.named_data = {{"executorch.plan.executorch.plan.forward", 0}};
          }),
      two("NamesOfDataAreRepeated", copy,
          [](TestProgram& p) {
            p.segments = {{0, 16}, {8, 8}};
            p.segment_data = std::string(16, '\0');
            p.named_data = {{"w", 0}, {"w", 1}, {"", 0}, {"w", 0}};
          }),
      two("AnOperatorIsListedTwice", copy,
          [](TestProgram& p) {
            p.plans[1].operators.push_back(p.plans[1].operators[0]);
            p.plans[1].chains[0].push_back(p.plans[1].chains[0][0]);
            p.plans[1].chains[0][1].first = 1;
          }),
      two("AnOperatorIsListedInTwoSpellings", copy,
          [](TestProgram& p) {
            p.plans[1].operators.push_back({"aten::neg.out", ""});
            p.plans[1].chains[0].push_back(p.plans[1].chains[0][0]);
            p.plans[1].chains[0][1].first = 1;
          }),
      two(
          "ASecondMethodsConstantIsTooLong",
          [](W& w, int32_t a, int32_t out) { w.add(a, w.constant(kFloat, {65}), out); },
          [](TestProgram&) {}, "of its constant"),
      two(
          "ASecondMethodsInputIsAConstant",
          [](W& w, int32_t, int32_t out) { negate(w, w.input(w.constant(kFloat, {4})), out); },
          [](TestProgram&) {}, "is a constant"),
      two(
          "ASecondMethodsDelegateIsBeyondTheFirsts",
          [](W& w, int32_t a, int32_t out) { w.run(delegate(0, {a, out})); },
          [](TestProgram& p) {
            p.inline_data = {"1"};
            p.plans[0].delegates = {{"XnnpackBackend", fb::DataLocation::INLINE, 0, {}}};
          },
          "delegate 0 of 0"),
      two(
          "ASecondMethodsPlaceIsBeyondItsBuffer", copy,
          [](TestProgram& p) { p.plans[1].buffer_sizes = {0, 20}; }, "its planned buffer"),
      two(
          "ASecondMethodsBufferIsOneOfTheFirst", copy,
          [](TestProgram& p) {
            p.plans[0].buffer_sizes.push_back(4096);
            p.plans[1].values[0].tensor.memory_id = 2;
          },
          "planned buffer 2 of 2"),
      two("ASecondMethodsStateIsBeyondItsSegment", state_in(32, 2, {5}), states,
          "its mutable data segment"),
  };
}

}  // namespace

Rows hostile_sharing() {
  Rows rows = moves_and_lists();
  const Rows more = methods();
  rows.insert(rows.end(), more.begin(), more.end());
  return rows;
}

}  // namespace executorch::testing
