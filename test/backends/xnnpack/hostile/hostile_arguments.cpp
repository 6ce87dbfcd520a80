// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
#include <utility>

#include <backends/xnnpack/hostile/hostile_payloads.h>

namespace executorch::backends::xnnpack {
namespace {

using Kind = fb_xnnpack::XNodeUnion;
using P = TestPayload;
using testing::Dynamism;
using testing::Type;
using Writer = MethodWriter;
constexpr Dynamism kBound = Dynamism::DYNAMIC_BOUND;

/// Two inputs [2, 4], whose sum and product are outputs.
P arithmetic() {
  P p;
  p.values = {input(0, {2, 4}), input(1, {2, 4}), output(2, {2, 4}), output(3, {2, 4})};
  p.nodes = {{Kind::Add, {0, 1, 2}}, {Kind::Multiply, {0, 1, 3}}};
  return p;
}

HostilePayload row(std::string name, std::function<void(Writer&)> write, std::string refused = "") {
  return {std::move(name),
          [write] {
            Writer w;
            write(w);
            return w.finish();
          },
          std::move(refused)};
}

/// One call with arguments that `change` has changed.
HostilePayload call(std::string name, std::function<void(Writer&, std::vector<int32_t>&)> change,
                    std::string refused = "") {
  return row(
      std::move(name),
      [change](Writer& w) {
        const int32_t delegate_id = add_delegate(w, arithmetic());
        std::vector<int32_t> arguments = add_arguments(w, arithmetic(), Dynamism::STATIC);
        change(w, arguments);
        w.run(testing::delegate(delegate_id, arguments));
      },
      std::move(refused));
}

using Arguments = std::vector<int32_t>;

}  // namespace

std::vector<HostilePayload> hostile_arguments() {
  return {
      call("ACallIsValid", [](Writer&, Arguments&) {}),
      call("ACallHasFewArguments", [](Writer&, Arguments& a) { a.pop_back(); }),
      call(
          "ACallHasNoArguments", [](Writer&, Arguments& a) { a.clear(); },
          "expected at most the call's 0 arguments"),
      call(
          "ACallHasManyArguments", [](Writer&, Arguments& a) { a.push_back(a[0]); },
          "may be the same"),
      call("AnInputIsTwoInputs", [](Writer&, Arguments& a) { a[1] = a[0]; }),
      call(
          "AnInputIsAnOutput", [](Writer&, Arguments& a) { a[2] = a[0]; }, "may be the same"),
      call(
          "TwoOutputsAreOne", [](Writer&, Arguments& a) { a[2] = a[3]; }, "may be the same"),
      call(
          "AnOutputIsAConstant",
          [](Writer& w, Arguments& a) { a[2] = w.constant(Type::FLOAT, {2, 4}); },
          "may be a constant"),
      call("AnInputIsAConstant",
           [](Writer& w, Arguments& a) { a[0] = w.constant(Type::FLOAT, {2, 4}); }),
      call(
          "OutputsOverlap",
          [](Writer& w, Arguments& a) { w.tensor_at(a[3]).offset = w.tensor_at(a[2]).offset + 16; },
          "shares bytes"),
      call(
          "AnOutputOverlapsAnInput", [](Writer& w, Arguments& a) { w.tensor_at(a[2]).offset = 4; },
          "shares bytes"),
      call("AnArgumentIsAList",
           [](Writer& w, Arguments& a) {
             a[0] = w.value(testing::list(testing::Kind::TensorList, {a[1]}));
           }),
      call("AnArgumentIsNone", [](Writer& w, Arguments& a) { a[1] = w.value(testing::none()); }),
      call("AnOutputIsANumber",
           [](Writer& w, Arguments& a) { a[2] = w.value(testing::integer(7)); }),
      call("AnInputIsOfAnotherDtype",
           [](Writer& w, Arguments& a) { a[0] = w.input(w.planned(Type::DOUBLE, {2, 4})); }),
      call("AnInputIsOfAnotherRank",
           [](Writer& w, Arguments& a) { a[0] = w.input(w.planned(Type::FLOAT, {8})); }),
      call("AnInputIsLargerThanDeclared",
           [](Writer& w, Arguments& a) { a[0] = w.input(w.planned(Type::FLOAT, {16, 4})); }),
      call("AnInputIsBroadcast",
           [](Writer& w, Arguments& a) { a[0] = w.input(w.planned(Type::FLOAT, {1, 4})); }),
      call("AnInputGrowsBeyondWhatIsDeclared",
           [](Writer& w, Arguments& a) {
             a[0] = w.input(w.planned(Type::FLOAT, {16, 4}, kBound));
             a[1] = w.input(w.planned(Type::FLOAT, {16, 4}, kBound));
             a[2] = w.output(w.planned(Type::FLOAT, {16, 4}, kBound));
             a[3] = w.output(w.planned(Type::FLOAT, {16, 4}, kBound));
           }),
      call(
          "AnOutputIsSmallerThanTheResult",
          [](Writer& w, Arguments& a) { a[2] = w.output(w.planned(Type::FLOAT, {1, 4}, kBound)); }),
      call(
          "AnOutputHasTheSameElementsInOtherSizes",
          [](Writer& w, Arguments& a) { a[2] = w.output(w.planned(Type::FLOAT, {4, 2}, kBound)); }),
      call("InputsHaveNoElements",
           [](Writer& w, Arguments& a) {
             a[0] = w.input(w.planned(Type::FLOAT, {0, 4}));
             a[1] = w.input(w.planned(Type::FLOAT, {0, 4}));
           }),
      call("AnInputIsInAnotherDimOrder",
           [](Writer& w, Arguments& a) { w.tensor_at(a[0]).dim_order = {1, 0}; }),
      call("AnOutputIsInAnotherDimOrder",
           [](Writer& w, Arguments& a) { w.tensor_at(a[2]).dim_order = {1, 0}; }),
      call(
          "AnInputIsAViewOfAnOutput",
          [](Writer& w, Arguments& a) {
            const int32_t view = w.given(Type::FLOAT, {2, 4});
            w.view(a[2], {2, 4}, view);
            a[0] = view;
          },
          "may be the same"),
      call(
          "AnInputIsMovedFromAnOutput",
          [](Writer& w, Arguments& a) {
            const int32_t target = w.planned(Type::FLOAT, {2, 4});
            w.run(testing::move(a[3], target));
            a[0] = target;
          },
          "may be the same"),
      call("AnInputHasNoMemory",
           [](Writer& w, Arguments& a) { a[0] = w.given(Type::FLOAT, {2, 4}); }),
      call("ArgumentsWithoutBoundHaveNeitherElementsNorMemory",
           [](Writer& w, Arguments& a) {
             for (size_t i = 0; i < 4; ++i) {
               a[i] = w.given(Type::FLOAT, {0, 4}, Dynamism::DYNAMIC_UNBOUND);
             }
             w.run(testing::free_value(a[0]));
           }),
      row("OneBlobIsTwoDelegatesOfOtherSizes",
          [](Writer& w) {
            const int32_t first = add_delegate(w, arithmetic());
            w.plan().delegates.push_back(w.plan().delegates[0]);
            const Arguments large = add_arguments(w, arithmetic(), kBound);
            Arguments small;
            for (size_t i = 0; i < 4; ++i) {
              const int32_t id = w.planned(Type::FLOAT, {1, 4}, kBound);
              small.push_back(i < 2 ? w.input(id) : w.output(id));
            }
            w.run(testing::delegate(first, large));
            w.run(testing::delegate(first + 1, small));
            w.run(testing::delegate(first + 1, large));
            w.run(testing::delegate(first, small));
          }),
      row("ADelegateIsRepeatedByAJump",
          [](Writer& w) {
            const int32_t delegate_id = add_delegate(w, arithmetic());
            const Arguments a = add_arguments(w, arithmetic(), kBound);
            const int32_t condition = w.input(w.planned(Type::BOOL, {1}));
            w.run(testing::delegate(delegate_id, a));
            w.run(testing::delegate(delegate_id, {a[0], a[1], a[3], a[2]}));
            w.run(testing::jump_false(condition, 0));
          }),
      row("APayloadLiesInASegmentOfConstants",
          [](Writer& w) {
            const int32_t delegate_id = add_delegate(w, arithmetic());
            w.run(testing::delegate(delegate_id, add_arguments(w, arithmetic(), Dynamism::STATIC)));
            TestProgram& program = w.program();
            const std::string bytes = program.inline_data[0];
            program.inline_data.clear();
            program.constant_buffer.clear();
            program.segments = {{0, bytes.size()}, {8, 64}};
            program.segment_data = bytes;
            program.constants = {1, {0, 0}};
            program.named_data = {{"payload", 0}};
            w.plan().delegates[0].location = testing::fb::DataLocation::SEGMENT;
            w.output(w.constant(Type::FLOAT, {4}));
          }),
      row(
          "APayloadHasNoBytes",
          [](Writer& w) {
            const int32_t delegate_id = add_delegate(w, arithmetic());
            w.run(testing::delegate(delegate_id, add_arguments(w, arithmetic(), Dynamism::STATIC)));
            w.program().inline_data[0].clear();
          },
          "0 bytes"),
      row("ADelegateIsNeverCalled",
          [](Writer& w) {
            add_delegate(w, arithmetic());
            w.output(w.input(w.planned(Type::FLOAT, {4})));
          }),
      row(
          "ADelegateHasUnknownOptions",
          [](Writer& w) {
            const int32_t delegate_id = add_delegate(w, arithmetic());
            w.plan().delegates[0].compile_specs = {{"compute_precision", std::string(300, 'x')},
                                                   {"", ""}};
            w.run(testing::delegate(delegate_id, add_arguments(w, arithmetic(), Dynamism::STATIC)));
          },
          "compute_precision"),
  };
}

}  // namespace executorch::backends::xnnpack
