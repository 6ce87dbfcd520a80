// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// Parametric plans that place moved, viewed, repeated and consumed tensors.
#include "fuzz/hostile/four_floats.h"

namespace executorch::testing {
namespace {

// Steps of a parametric plan: runtime/executor/execute/parametric_plan.cpp has the format.
constexpr uint32_t kNumber = 0, kInputSize = 1, kMultiply = 3;

/// A method of an input of at most 4 floats in the caller's memory. The plan places the values that
/// `write` returns at 0, 16, 32, … of a buffer of 64 bytes for 4 floats, and closer for fewer.
HostileProgram placed(std::string name, std::function<std::vector<int32_t>(W&, int32_t)> write,
                      std::string refused = "", std::vector<uint32_t> more = {}) {
  const auto make = [=] {
    W w;
    const int32_t a = w.input(w.given(kFloat, {4}, kBound));
    const std::vector<int32_t> values = write(w, a);
    TestProgram program = w.finish();
    program.plans[0].buffer_sizes[1] = 64;
    // size, 4, 4 * size, 0, then one offset for each value.
    std::vector<uint32_t> steps = {kInputSize, 0, 0, kNumber, 4, 0, kMultiply, 0, 1, kNumber, 0, 0};
    for (size_t i = 0; i < values.size(); ++i) {
      steps.insert(steps.end(), {kNumber, static_cast<uint32_t>(i), 0});
      steps.insert(steps.end(), {kMultiply, 2, static_cast<uint32_t>(4 + 2 * i)});
    }
    steps.insert(steps.end(), {kNumber, 64, 0});
    const auto count = static_cast<uint32_t>(steps.size() / 3);
    std::vector<uint32_t> words = {1, count, static_cast<uint32_t>(values.size()), count - 1};
    words.insert(words.end(), steps.begin(), steps.end());
    for (size_t i = 0; i < values.size(); ++i) {
      const bool is_static =
          program.plans[0].values[static_cast<size_t>(values[i])].tensor.dynamism ==
          Dynamism::STATIC;
      words.insert(words.end(), {static_cast<uint32_t>(values[i]), static_cast<uint32_t>(5 + 2 * i),
                                 is_static ? 0u : 1u});
      if (!is_static) words.push_back(0);
    }
    words.insert(words.end(), more.begin(), more.end());
    const std::string data = program.segment_data;
    program.segment_data = data + std::string(reinterpret_cast<const char*>(words.data()),
                                              words.size() * sizeof(uint32_t));
    program.segments.push_back({data.size(), words.size() * sizeof(uint32_t)});
    program.named_data = {
        {"executorch.plan.forward", static_cast<uint32_t>(program.segments.size() - 1)}};
    return program;
  };
  return {std::move(name), make, std::move(refused)};
}

}  // namespace

Rows hostile_placements() {
  const auto dynamic_at = [](W& w, uint64_t offset) { return w.at(offset, kFloat, {4}, kBound); };
  return {
      placed("APlanPlacesATargetAndItsSource",
             [dynamic_at](W& w, int32_t a) {
               const int32_t source = dynamic_at(w, 0), target = dynamic_at(w, 16);
               const int32_t out = w.output(dynamic_at(w, 32));
               negate(w, a, source);
               w.run(move(source, target));
               w.add(target, a, out);
               return std::vector<int32_t>{source, target, out};
             }),
      placed("APlanPlacesAViewsBase",
             [dynamic_at](W& w, int32_t a) {
               const int32_t base = dynamic_at(w, 0), out = w.output(dynamic_at(w, 16));
               const int32_t view = unmade(w, {4}, kBound);
               w.run(jump_false(condition(w), 3));
               negate(w, a, base);
               w.view(base, {-1}, view);
               w.add(view, a, out);
               return std::vector<int32_t>{base, out};
             }),
      placed("APlanPlacesAView",
             [dynamic_at](W& w, int32_t a) {
               const int32_t base = dynamic_at(w, 0), view = dynamic_at(w, 0);
               const int32_t out = w.output(dynamic_at(w, 16));
               negate(w, a, base);
               w.view(base, {-1}, view);
               w.add(view, a, out);
               return std::vector<int32_t>{base, view, out};
             }),
      placed(
          "APlanPlacesAnInput",
          [dynamic_at](W& w, int32_t a) {
            const int32_t second = w.input(dynamic_at(w, 0)), out = w.output(dynamic_at(w, 16));
            w.add(second, a, out);
            return std::vector<int32_t>{second, out};
          },
          "an input lies in planned buffer 1"),
      placed(
          "APlanPlacesAConsumedInput",
          [dynamic_at](W& w, int32_t a) {
            const int32_t second = w.input(dynamic_at(w, 0)), inner = dynamic_at(w, 0);
            const int32_t out = w.output(dynamic_at(w, 16));
            w.add(second, a, inner);
            w.add(inner, a, out);
            return std::vector<int32_t>{second, inner, out};
          },
          "an input lies in planned buffer 1"),
      placed(
          "APlanPlacesAState",
          [](W& w, int32_t a) {
            const int32_t kept = state(w), out = w.output(w.at(16, kFloat, {4}, kBound));
            w.add(kept, a, out);
            w.add(kept, kept, kept);
            return std::vector<int32_t>{kept, out};
          },
          "expected all tensors of planned buffer 1"),
      placed(
          "APlanPlacesATensorTwice",
          [dynamic_at](W& w, int32_t a) {
            const int32_t first = dynamic_at(w, 0), out = w.output(dynamic_at(w, 16));
            negate(w, a, first);
            w.add(first, a, out);
            return std::vector<int32_t>{first, first, out};
          },
          "expected all tensors of planned buffer 1"),
      placed("APlanPlacesAStaticOperandUnderADynamicResult",
             [dynamic_at](W& w, int32_t a) {
               const int32_t fixed = w.at(0, kFloat, {4}), out = w.output(dynamic_at(w, 16));
               w.call("aten::flip.out", {a, w.ints({0}), out, out});
               cat(w, {fixed}, w.output(dynamic_at(w, 32)));
               return std::vector<int32_t>{fixed, out, w.plan().outputs.back()};
             }),
      placed("APlanPlacesResultsOfALoop",
             [dynamic_at](W& w, int32_t a) {
               const int32_t first = dynamic_at(w, 0), second = dynamic_at(w, 16);
               const int32_t out = w.output(dynamic_at(w, 32)), flag = condition(w);
               negate(w, a, first);
               w.call("aten::flip.out", {first, w.ints({0}), second, second});
               w.call("aten::flip.out", {second, w.ints({0}), first, first});
               w.add(first, a, out);
               w.run(jump_false(flag, 1));
               return std::vector<int32_t>{first, second, out};
             }),
      placed("APlanPlacesAnItemOfAnOutputList",
             [dynamic_at](W& w, int32_t a) {
               const int32_t out = w.output(dynamic_at(w, 0));
               const int32_t list = tensors(w, {a, out});
               w.output(list);
               negate(w, a, out);
               return std::vector<int32_t>{out};
             }),
      placed("APlanHasWordsBehindItsTensors",
             [dynamic_at](W& w, int32_t a) {
               const int32_t out = w.output(dynamic_at(w, 0));
               negate(w, a, out);
               return std::vector<int32_t>{out};
             },
             "1 tensors in 32 words", {1, 2, 3}),
  };
}

}  // namespace executorch::testing
