// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
#include "fuzz/given/given_data_map.h"
#include "fuzz/hostile/hostile_programs.h"

namespace executorch::testing {
namespace {

using W = MethodWriter;
using Rows = std::vector<HostileProgram>;
constexpr Type kFloat = Type::FLOAT;

/// out = input + tensor, where `change` makes the tensor, and more.
HostileProgram row(std::string name, std::function<int32_t(W&)> change, std::string refused = "") {
  const auto make = [change] {
    W w;
    const int32_t a = w.input(w.planned(kFloat, {4}));
    const int32_t out = w.output(w.planned(kFloat, {4}));
    w.add(a, change(w), out);
    return w.finish();
  };
  return {std::move(name), make, std::move(refused)};
}

/// The same with a change of the finished program.
HostileProgram changed(std::string name, std::function<int32_t(W&)> tensor,
                       std::function<void(TestProgram&)> change, std::string refused = "") {
  const HostileProgram base = row("", std::move(tensor));
  const auto make = [base, change] {
    TestProgram program = base.make();
    change(program);
    return program;
  };
  return {std::move(name), make, std::move(refused)};
}

int32_t constant(W& w) { return w.constant(kFloat, {4}); }
int32_t planned(W& w) { return w.planned(kFloat, {4}); }

/// Constants in a segment of 64 bytes.
void use_segment(TestProgram& program) {
  program.constant_buffer.clear();
  program.segments = {{0, 64}};
  program.segment_data = std::string(64, '\0');
  program.constants = {0, {0, 16, 48}};
}

/// A planned tensor with initial data, entry `entry` of mutable segment 0.
int32_t state(W& w, uint32_t entry, uint64_t offset) {
  const int32_t id = w.at(offset, kFloat, {4});
  w.tensor_at(id).data_buffer_idx = entry;
  return id;
}
void use_states(TestProgram& program) {
  program.segments = {{0, 32}};
  program.segment_data = std::string(32, '\0');
  program.mutable_data = {{0, {0, 0, 16}}};
}

Rows constants() {
  return {
      changed(
          "ConstantsOverlapEachOther",
          [](W& w) {
            const int32_t second = w.constant(kFloat, {4});
            w.tensor_at(second).data_buffer_idx = 2;
            w.output(second);
            return constant(w);
          },
          [](TestProgram& p) {
            use_segment(p);
            p.constants.offsets = {0, 16, 20};
          }),
      changed(
          "AConstantEndsBeyondItsSegment",
          [](W& w) {
            const int32_t id = constant(w);
            w.tensor_at(id).data_buffer_idx = 2;
            return id;
          },
          [](TestProgram& p) {
            use_segment(p);
            p.constants.offsets = {0, 16, 52};
          },
          "the constant segment"),
      changed(
          "AConstantBeginsBeyondItsSegment", constant,
          [](TestProgram& p) {
            use_segment(p);
            p.constants.offsets = {0, 65};
          },
          "offset 65 in a segment of 64 bytes"),
      changed(
          "AConstantsPlaceWrapsAround", constant,
          [](TestProgram& p) {
            use_segment(p);
            p.constants.offsets = {0, UINT64_MAX - 7};
          },
          "in a segment of 64 bytes"),
      changed(
          "AConstantIsNotAligned", constant,
          [](TestProgram& p) {
            use_segment(p);
            p.constants.offsets = {0, 17};
          },
          "elements have 4"),
      changed(
          "ConstantsAreInASegmentThatIsNotThere", constant,
          [](TestProgram& p) {
            use_segment(p);
            p.constants.segment = 1;
          },
          "segment 1 of 1"),
      changed(
          "ConstantsAreInTwoPlaces", constant,
          [](TestProgram& p) {
            use_segment(p);
            p.constant_buffer = {"", std::string(16, '\0')};
          },
          "expected one of the two"),
      changed(
          "ASegmentEndsBeyondTheFile", constant,
          [](TestProgram& p) {
            use_segment(p);
            p.segments[0].second = 65;
          },
          "bytes of segments"),
      changed(
          "ASegmentWrapsAround", constant,
          [](TestProgram& p) {
            use_segment(p);
            p.segments[0] = {UINT64_MAX - 7, 64};
          },
          "bytes of segments"),
      changed("SegmentsOverlap", constant,
              [](TestProgram& p) {
                use_segment(p);
                p.segments.push_back({8, 56});
                p.named_data = {{"a", 0}, {"b", 1}};
              }),
      row(
          "AConstantIsShorterThanItsTensor",
          [](W& w) {
            w.constant(kFloat, {65});
            return constant(w);
          },
          "of its constant"),
      row(
          "AConstantIsNotInTheProgram",
          [](W& w) {
            const int32_t value_id = constant(w);
            w.tensor_at(value_id).data_buffer_idx = 9;
            return value_id;
          },
          "constant 9 of 2"),
      row("AConstantHasNoElements", [](W& w) { return w.constant(kFloat, {0}); }),
      row("ABoolConstantHasOtherBytes",
          [](W& w) {
            w.program().constant_buffer[1] = std::string(16, '\7');
            const int32_t mask = w.constant(Type::BOOL, {4});
            const int32_t zero = w.planned(kFloat, {4});
            const int32_t result = w.planned(kFloat, {4});
            w.call("aten::where.self_out", {mask, zero, zero, result, result});
            return result;
          }),
  };
}

Rows states() {
  return {
      changed(
          "TwoStatesShareTheirInitialData",
          [](W& w) {
            w.output(state(w, 1, 64));
            return state(w, 1, 96);
          },
          use_states),
      changed(
          "TwoStatesOverlap",
          [](W& w) {
            w.output(state(w, 1, 64));
            return state(w, 2, 72);
          },
          use_states),
      changed(
          "AStateLiesWhereTheResultIs", [](W& w) { return state(w, 1, 20); }, use_states,
          "shares bytes"),
      changed(
          "AStatesDataEndsBeyondTheSegment", [](W& w) { return state(w, 2, 64); },
          [](TestProgram& p) {
            use_states(p);
            p.mutable_data[0].offsets = {0, 0, 20};
          },
          "its mutable data segment"),
      changed(
          "AStateIsNotInItsSegment", [](W& w) { return state(w, 3, 64); }, use_states,
          "entry 3 of 3"),
      changed(
          "AStatesSegmentIsNotThere",
          [](W& w) {
            const int32_t id = state(w, 1, 64);
            w.tensor_at(id).mutable_segment = UINT64_MAX;
            return id;
          },
          use_states, "mutable data segment"),
      changed(
          "AnInputHasInitialData", [](W& w) { return w.input(state(w, 1, 64)); }, use_states),
      changed(
          "AStateHasNoMemory",
          [](W& w) {
            const int32_t value_id = state(w, 1, 64);
            w.tensor_at(value_id).memory_id = 2;
            return value_id;
          },
          use_states, "planned buffer 2 of 2"),
  };
}

Rows shapes() {
  const auto tensor = [](std::string name, std::function<void(TestTensor&)> change,
                         std::string refused) {
    return row(
        std::move(name),
        [change](W& w) {
          const int32_t id = planned(w);
          change(w.tensor_at(id));
          return id;
        },
        std::move(refused));
  };
  return {
      tensor(
          "APlaceIsBeyondTheBuffer", [](TestTensor& t) { t.offset = 4096; }, "planned buffer"),
      tensor(
          "APlaceEndsBeyondTheBuffer", [](TestTensor& t) { t.offset += 4; }, "planned buffer"),
      tensor(
          "APlaceWrapsAround", [](TestTensor& t) { t.offset = UINT64_MAX - 3; }, "planned buffer"),
      tensor(
          "APlaceIsInBufferZero", [](TestTensor& t) { t.memory_id = UINT32_MAX; },
          "planned buffer 4294967295"),
      tensor(
          "APlaceIsNotAligned",
          [](TestTensor& t) {
            t.type = Type::DOUBLE;
            t.sizes = {1};
            t.offset -= 4;
          },
          "elements have 8"),
      tensor(
          "ASizeIsNegative", [](TestTensor& t) { t.sizes = {-1}; }, "a size is negative"),
      tensor(
          "SizesOverflow",
          [](TestTensor& t) {
            t.sizes = {INT32_MAX, INT32_MAX, INT32_MAX};
            t.dim_order = {0, 1, 2};
          },
          "do not fit"),
      tensor(
          "StridesOverflowThoughThereAreNoElements",
          [](TestTensor& t) {
            t.sizes = {0, INT32_MAX, INT32_MAX, 2};
            t.dim_order = {0, 1, 2, 3};
          },
          "do not fit"),
      tensor(
          "SizesAndStridesOverflowThoughThereAreNoElements",
          [](TestTensor& t) {
            t.sizes = {INT32_MAX, INT32_MAX, 0};
            t.dim_order = {0, 1, 2};
          },
          "do not fit"),
      tensor(
          "RanksAreTooHigh",
          [](TestTensor& t) {
            t.sizes = Sizes(17, 1);
            t.dim_order.clear();
            for (uint8_t i = 0; i < 17; ++i) t.dim_order.push_back(i);
          },
          "expected at most"),
      tensor(
          "ADimOrderHasADimTwice",
          [](TestTensor& t) {
            t.sizes = {2, 2};
            t.dim_order = {1, 1};
          },
          "dim order"),
      tensor(
          "ADimOrderHasAFarDim", [](TestTensor& t) { t.dim_order = {255}; }, "dim order"),
      tensor(
          "ADimOrderIsShort", [](TestTensor& t) { t.dim_order.clear(); }, "dim order"),
      tensor(
          "ADtypeIsNone", [](TestTensor& t) { t.type = static_cast<Type>(120); },
          "none of the format's"),
      tensor(
          "ADynamismIsNone", [](TestTensor& t) { t.dynamism = static_cast<Dynamism>(9); },
          "shape dynamism 9"),
      tensor(
          "AStorageOffsetIsSet", [](TestTensor& t) { t.storage_offset = 4; }, "storage offset"),
      tensor(
          "ALayoutIsSet", [](TestTensor& t) { t.layout = 1; }, "layout 1"),
      tensor(
          "ADeviceIsAnother", [](TestTensor& t) { t.device = static_cast<fb::DeviceType>(1); },
          "device type"),
      tensor(
          "ALocationIsNone",
          [](TestTensor& t) { t.location = static_cast<fb::TensorDataLocation>(3); }, "location 3"),
      tensor(
          "ExternalDataHasNoName",
          [](TestTensor& t) { t.location = fb::TensorDataLocation::EXTERNAL; }, "without a name"),
      tensor(
          "ExternalDataIsMissing",
          [](TestTensor& t) {
            t.location = fb::TensorDataLocation::EXTERNAL;
            t.name = fuzz::kNameWithoutData;
          },
          "no data named"),
      row("ATensorWithoutElementsLiesAtTheEnd",
          [](W& w) {
            const int32_t value_id = w.planned(kFloat, {4});
            return w.output(w.at(w.tensor_at(value_id).offset + 16, kFloat, {0}));
          }),
      row("AResultIsAnotherDimOrder",
          [](W& w) {
            const int32_t a = w.input(w.planned(kFloat, {1, 2, 2, 2}));
            const int32_t b = w.output(w.planned(kFloat, {1, 2, 2, 2}));
            w.tensor_at(a).dim_order = {0, 2, 3, 1};
            w.tensor_at(b).dim_order = {3, 2, 1, 0};
            w.add(a, a, b);
            return planned(w);
          }),
      row("AViewIsOfAnotherDimOrder",
          [](W& w) {
            const int32_t a = w.input(w.planned(kFloat, {1, 2, 2, 2}));
            w.tensor_at(a).dim_order = {0, 2, 3, 1};
            w.view(a, {8}, w.output(w.given(kFloat, {8})));
            return planned(w);
          }),
      row("ATensorHasSixteenDims",
          [](W& w) {
            const int32_t a = w.input(w.planned(kFloat, Sizes(16, 1)));
            const int32_t b = w.output(w.planned(kFloat, Sizes(16, 1)));
            w.add(a, a, b);
            w.call("aten::permute_copy.out",
                   {a, w.ints({15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0}), b, b});
            return planned(w);
          }),
      changed(
          "ABuffersSizeIsNegative", planned,
          [](TestProgram& p) { p.plans[0].buffer_sizes.push_back(-1); }, "planned buffer 2"),
      changed("AMethodsNameOccursTwice", planned,
              [](TestProgram& p) {
                p.plans[0].values[0].tensor.name = "state";
                p.plans[0].values[1].tensor.name = "state";
              }),
      row("AnUnboundedTensorIsNotUsed",
          [](W& w) {
            w.given(kFloat, {0}, Dynamism::DYNAMIC_UNBOUND);
            return planned(w);
          }),
  };
}

// Steps of a parametric plan: runtime/executor/execute/parametric_plan.cpp has the format.
constexpr uint32_t kNumber = 0;
constexpr uint32_t kInputSize = 1;
constexpr uint32_t kMultiply = 3;
constexpr uint32_t kDivide = 4;

/// input (4 floats or fewer, given) + itself = a result that the plan places, which is added to
/// another one that it places too. `steps` are the two offsets, the height, the size, and more.
HostileProgram plan(std::string name, std::vector<std::vector<uint32_t>> steps,
                    std::string refused = "", std::vector<uint32_t> header = {}) {
  const auto make = [=] {
    W w;
    const int32_t a = w.input(w.given(kFloat, {4}, Dynamism::DYNAMIC_BOUND));
    const int32_t first = w.at(0, kFloat, {4}, Dynamism::DYNAMIC_BOUND);
    const int32_t second = w.output(w.at(16, kFloat, {4}, Dynamism::DYNAMIC_BOUND));
    w.call("aten::neg.out", {a, first, first});
    w.call("aten::flip.out", {first, w.ints({0}), second, second});
    TestProgram program = w.finish();
    std::vector<uint32_t> words = {1, static_cast<uint32_t>(steps.size()), 2, 2};
    for (size_t i = 0; i < header.size(); ++i) words[i] = header[i];
    for (const auto& step : steps) words.insert(words.end(), step.begin(), step.end());
    for (const uint32_t value : {static_cast<uint32_t>(first), static_cast<uint32_t>(second)}) {
      const uint32_t offset = value == static_cast<uint32_t>(first) ? 0 : 1;
      words.insert(words.end(), {value, offset, 1, 3});
    }
    program.segments = {{0, words.size() * 4}};
    program.segment_data.assign(reinterpret_cast<const char*>(words.data()), words.size() * 4);
    program.named_data = {{"executorch.plan.forward", 0}};
    return program;
  };
  return {std::move(name), make, std::move(refused)};
}

Rows plans() {
  const std::vector<uint32_t> zero = {kNumber, 0, 0};
  const std::vector<uint32_t> sixteen = {kNumber, 16, 0};
  const std::vector<uint32_t> end = {kNumber, 32, 0};
  const std::vector<uint32_t> size = {kInputSize, 0, 0};
  return {
      plan("APlanIsValid", {zero, sixteen, end, size}),
      plan("APlanPutsOperandAndResultAtOnePlace", {zero, zero, end, size}),
      plan("APlanPutsThemOverEachOther", {zero, {kNumber, 8, 0}, end, size}),
      plan("APlanPutsThemOverEachOtherAtSomeSizes",
           {zero, {kMultiply, 3, 4}, end, size, {kNumber, 3, 0}}, "is invalid"),
      plan("APlansOffsetIsNegative", {zero, {kNumber, 0xfffffff0, 0xffffffff}, end, size}),
      plan("APlansOffsetIsBeyondTheHeight", {zero, {kNumber, 32, 0}, end, size}),
      plan("APlansOffsetIsNotAligned", {zero, {kNumber, 17, 0}, end, size}),
      plan("APlansHeightIsSmall", {zero, sixteen, {kNumber, 1, 0}, size}),
      plan("APlansHeightIsNegative", {zero, sixteen, {kNumber, 0, 0x80000000}, size}),
      plan("APlansHeightIsLarge", {zero, sixteen, {kNumber, 0, 1}, size}),
      plan("APlansSizeIsHuge", {zero, sixteen, end, {kNumber, 0, 1}}),
      plan("APlansSizeIsNegative", {zero, sixteen, end, {kNumber, 0, 0x80000000}}),
      plan("APlansSizeIsLargerThanTheTensor", {zero, sixteen, end, {kNumber, 5, 0}}),
      plan("APlansStepDividesByNothing",
           {zero, sixteen, end, size, {kDivide, 0, 0}, {kDivide, 4, 0}}),
      plan("APlansStepOverflows",
           {zero, sixteen, end, size, {kNumber, 0, 0x40000000}, {kMultiply, 4, 4}}),
      plan("APlansStepReadsALaterOne", {zero, sixteen, end, {kMultiply, 3, 3}}, "is invalid"),
      plan("APlansStepReadsNoInput", {zero, sixteen, end, {kInputSize, 7, 0}}, "is invalid"),
      plan("APlansStepReadsNoDim", {zero, sixteen, end, {kInputSize, 0, 9}}, "is invalid"),
      plan("APlansStepIsOfNoKind", {zero, sixteen, end, {99, 0, 0}}, "is invalid"),
      plan("APlanHasMoreStepsThanWords", {zero, sixteen, end, size}, "damaged",
           {1, 0x40000000, 2, 2}),
      plan("APlanHasMoreTensorsThanWords", {zero, sixteen, end, size},
           "4294967295 tensors in 24 words, found 2", {1, 4, UINT32_MAX, 2}),
      plan("APlansHeightIsNoStep", {zero, sixteen, end, size}, "damaged", {1, 4, 2, 4}),
      plan("APlansVersionIsAnother", {zero, sixteen, end, size}, "version 7", {7, 4, 2, 2}),
  };
}

}  // namespace

Rows hostile_files() {
  Rows rows = constants();
  for (const auto& more : {states(), shapes(), plans()}) {
    rows.insert(rows.end(), more.begin(), more.end());
  }
  return rows;
}

}  // namespace executorch::testing
