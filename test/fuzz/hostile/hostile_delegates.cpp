// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// Delegates that share arguments with kernels, views, moves and each other.
#include <string.h>

#include <executorch/runtime/backend/interface.h>
#include <executorch/runtime/core/exec_aten/util/tensor_util.h>

#include "fuzz/hostile/hostile_programs.h"

namespace executorch::testing {
namespace {

using aten::ArrayRef;
using runtime::Error;
using runtime::EValue;
using runtime::Result;
using runtime::Span;

/// Reads every byte of its operands and writes every byte of its outputs, so that the sanitizers
/// see arguments without memory. Its payload is the number of outputs, and "r" if it resizes them
/// to one element first.
class TouchingBackend final : public runtime::BackendInterface {
 public:
  bool is_available() const override { return true; }
  Result<runtime::DelegateHandle*> init(runtime::BackendInitContext&,
                                        runtime::FreeableBuffer* processed,
                                        ArrayRef<runtime::CompileSpec>) const override {
    return const_cast<void*>(processed->data());
  }
  Error execute(runtime::BackendExecutionContext&, runtime::DelegateHandle* handle,
                Span<EValue*> arguments) const override {
    const size_t operands = arguments.size() - output_count(handle);
    uint8_t sum = 0;
    for (size_t i = 0; i < operands; ++i) {
      for (const aten::Tensor& tensor : tensors_of(*arguments[i])) {
        const auto* bytes = static_cast<const uint8_t*>(tensor.const_data_ptr());
        for (size_t k = 0; k < tensor.nbytes(); ++k) sum = static_cast<uint8_t>(sum + bytes[k]);
      }
    }
    const bool resizes = static_cast<const char*>(handle)[1] == 'r';
    for (size_t i = operands; i < arguments.size(); ++i) {
      for (const aten::Tensor& tensor : tensors_of(*arguments[i])) {
        if (resizes) {
          const std::vector<aten::SizesType> ones(static_cast<size_t>(tensor.dim()), 1);
          ET_CHECK_OK_OR_RETURN_ERROR(runtime::resize_tensor(tensor, {ones.data(), ones.size()}));
        }
        if (tensor.nbytes() > 0) memset(tensor.mutable_data_ptr(), sum & 1, tensor.nbytes());
      }
    }
    return Error::Ok;
  }
  size_t output_count(runtime::DelegateHandle* handle) const override {
    return static_cast<size_t>(*static_cast<const char*>(handle) - '0');
  }

 private:
  static std::vector<aten::Tensor> tensors_of(EValue& value) {
    if (value.isTensor()) return {value.toTensor()};
    if (!value.isTensorList()) return {};
    const ArrayRef<aten::Tensor> items = value.toTensorList();
    return {items.begin(), items.end()};
  }
};

TouchingBackend backend;
[[maybe_unused]] const Error registered = runtime::register_backend({"TouchingBackend", &backend});

using W = MethodWriter;
using Rows = std::vector<HostileProgram>;
constexpr Type kFloat = Type::FLOAT;
constexpr int32_t kOneOutput = 0;
constexpr int32_t kTwoOutputs = 1;
constexpr int32_t kResizes = 2;

/// Delegates with one output, with two, and with one that it resizes; an input and an output of 2
/// floats.
HostileProgram row(std::string name, std::function<void(W&, int32_t, int32_t)> write,
                   std::string refused = "") {
  const auto make = [write] {
    W w;
    w.program().inline_data = {"1 ", "2 ", "1r"};
    for (uint32_t i = 0; i < 3; ++i) {
      w.plan().delegates.push_back({"TouchingBackend", fb::DataLocation::INLINE, i, {}});
    }
    const int32_t a = w.input(w.planned(kFloat, {2}));
    write(w, a, w.output(w.planned(kFloat, {2})));
    return w.finish();
  };
  return {std::move(name), make, std::move(refused)};
}

int32_t planned(W& w, Dynamism dynamism = Dynamism::STATIC) {
  return w.planned(kFloat, {2}, dynamism);
}
int32_t condition(W& w) { return w.input(w.given(Type::BOOL, {1})); }
int32_t tensors(W& w, std::vector<int64_t> items) {
  return w.value(list(Kind::TensorList, std::move(items)));
}

Rows shared_arguments() {
  return {
      row("ADelegateReadsOneOperandThrice",
          [](W& w, int32_t a, int32_t out) { w.run(delegate(kOneOutput, {a, a, a, out})); }),
      row("TwoDelegatesHaveOnePayload",
          [](W& w, int32_t a, int32_t out) {
            w.plan().delegates.push_back(w.plan().delegates[0]);
            const int32_t between = planned(w);
            w.run(delegate(kOneOutput, {a, between}));
            w.run(delegate(3, {between, a, out}));
          }),
      row("DelegatesOfOnePayloadHaveOtherArguments",
          [](W& w, int32_t a, int32_t out) {
            w.plan().delegates.assign(4, w.plan().delegates[0]);
            const int32_t wide = w.planned(Type::DOUBLE, {64}), scalar = w.planned(Type::BYTE, {});
            const int32_t dynamic = w.planned(kFloat, {2, 3, 4}, Dynamism::DYNAMIC_BOUND);
            w.run(delegate(0, {a, wide}));
            w.run(delegate(1, {wide, w.ints({1}), w.value(none()), scalar}));
            w.run(delegate(2, {tensors(w, {scalar, wide}), dynamic}));
            w.run(delegate(3, {dynamic, a, out}));
            w.run(jump_false(condition(w), 0));
          }),
      row("DelegatesOfTwoMethodsHaveOnePayload",
          [](W& w, int32_t a, int32_t out) {
            W other;
            const int32_t b = other.input(other.planned(Type::LONG, {3, 5}));
            other.run(delegate(0, {b, b, other.output(other.planned(Type::BOOL, {7}))}));
            TestPlan second = other.finish().plans[0];
            second.name = "second";
            second.delegates = {w.plan().delegates[0]};
            w.program().plans.push_back(second);
            w.run(delegate(kOneOutput, {a, out}));
          }),
      row("ADelegateIsCalledWithOtherArguments",
          [](W& w, int32_t a, int32_t out) {
            const int32_t wide = w.planned(Type::DOUBLE, {64});
            w.run(delegate(kOneOutput, {a, wide}));
            w.run(delegate(kOneOutput, {wide, a, a, out}));
            w.run(delegate(kOneOutput, {out}));
          }),
      row("ADelegateIsCalledInALoopOnItsOwnResult",
          [](W& w, int32_t a, int32_t out) {
            const int32_t back = planned(w);
            w.run(delegate(kOneOutput, {a, back, out}));
            w.run(delegate(kOneOutput, {out, back}));
            w.run(jump_false(condition(w), 0));
          }),
      row("ADelegateReadsNumbersAndNone",
          [](W& w, int32_t, int32_t out) {
            w.run(delegate(kOneOutput, {w.value(none()), w.value(integer(1)), w.ints({1}), out}));
          }),
      row("ADelegateWritesANumber",
          [](W& w, int32_t a, int32_t) { w.run(delegate(kOneOutput, {a, w.value(integer(1))})); }),
      row("ADelegateWritesAList",
          [](W& w, int32_t a, int32_t) {
            w.run(delegate(kOneOutput, {a, tensors(w, {planned(w), planned(w)})}));
          }),
      row("ADelegateWritesNoItems",
          [](W& w, int32_t a, int32_t) { w.run(delegate(kOneOutput, {a, tensors(w, {})})); }),
      row("ADelegateReadsASkippedView",
          [](W& w, int32_t a, int32_t out) {
            const int32_t view = w.given(kFloat, {2});
            w.run(jump_false(condition(w), 2));
            w.view(a, {2}, view);
            w.run(delegate(kOneOutput, {view, out}));
          }),
      row("ADelegateReadsAListWithASkippedView",
          [](W& w, int32_t a, int32_t out) {
            const int32_t view = w.given(kFloat, {2});
            w.run(jump_false(condition(w), 2));
            w.view(a, {2}, view);
            w.run(delegate(kOneOutput, {tensors(w, {a, view}), out}));
          }),
      row("ADelegateReadsAnInputThatIsMoved",
          [](W& w, int32_t a, int32_t out) {
            const int32_t given = w.input(w.given(kFloat, {2})), target = planned(w);
            w.run(jump_false(condition(w), 2));
            w.run(move(given, target));
            w.run(delegate(kOneOutput, {a, target, out}));
          }),
      row("ADelegateResizesItsOutput",
          [](W& w, int32_t a, int32_t out) {
            const int32_t dynamic = planned(w, Dynamism::DYNAMIC_BOUND);
            w.run(delegate(kResizes, {a, dynamic}));
            w.add(dynamic, a, out);
          }),
      row("ADelegateResizesAStaticOutput",
          [](W& w, int32_t a, int32_t out) { w.run(delegate(kResizes, {a, out})); }),
      row("ADelegateResizesBeyondTheBound",
          [](W& w, int32_t a, int32_t) {
            const auto dynamic = Dynamism::DYNAMIC_BOUND;
            w.run(delegate(kResizes, {a, w.output(w.planned(kFloat, {0, 4}, dynamic))}));
          }),
      row("ADelegateGrowsItsOutput",
          [](W& w, int32_t a, int32_t out) {
            const int32_t grows = w.given(kFloat, {0}, Dynamism::DYNAMIC_UNBOUND);
            w.run(delegate(kResizes, {a, grows}));
            w.run(free_value(grows));
            w.run(delegate(kOneOutput, {grows, out}));
          }),
      row("ADelegatesPayloadIsASegmentOfConstants",
          [](W& w, int32_t a, int32_t out) {
            w.program().segments = {{0, 16}};
            w.program().segment_data = std::string(16, '1');
            w.program().constant_buffer.clear();
            w.program().constants = {0, {0, 0}};
            w.plan().delegates[0].location = fb::DataLocation::SEGMENT;
            w.run(delegate(kOneOutput, {a, w.constant(kFloat, {2}), out}));
          }),
  };
}

Rows refused_arguments() {
  const std::string same = "may be the same tensor";
  return {
      row(
          "ADelegatesOperandIsItsOutput",
          [](W& w, int32_t a, int32_t out) { w.run(delegate(kOneOutput, {a, out, out})); }, same),
      row(
          "ADelegatesOperandListHasItsOutput",
          [](W& w, int32_t a, int32_t out) {
            w.run(delegate(kOneOutput, {tensors(w, {a, out}), out}));
          },
          same),
      row(
          "ADelegatesOutputListHasItsOperand",
          [](W& w, int32_t a, int32_t out) {
            w.run(delegate(kOneOutput, {out, a, tensors(w, {planned(w), out})}));
          },
          same),
      row(
          "ADelegatesOutputListIsItsOperand",
          [](W& w, int32_t, int32_t out) {
            const int32_t both = tensors(w, {planned(w), out});
            w.run(delegate(kOneOutput, {both, both}));
          },
          same),
      row(
          "ADelegatesOutputIsMovedToItsOperand",
          [](W& w, int32_t a, int32_t out) {
            const int32_t target = planned(w);
            w.run(delegate(kOneOutput, {a, target, out}));
            w.run(move(out, target));
          },
          same),
      row(
          "ADelegateReadsAViewOfItsOutput",
          [](W& w, int32_t, int32_t out) {
            const int32_t view = w.given(kFloat, {2});
            w.view(out, {2}, view);
            w.run(delegate(kOneOutput, {view, out}));
          },
          same),
      row(
          "ADelegatesTwoOutputsAreOne",
          [](W& w, int32_t a, int32_t out) { w.run(delegate(kTwoOutputs, {a, out, out})); }, same),
      row(
          "ADelegatesTwoOutputsOverlap",
          [](W& w, int32_t a, int32_t out) {
            w.run(delegate(kTwoOutputs, {a, w.at(w.tensor_at(out).offset + 4, kFloat, {2}), out}));
          },
          "shares bytes"),
      row(
          "ADelegatesOperandOverlapsItsOutput",
          [](W& w, int32_t a, int32_t) {
            w.run(delegate(kOneOutput, {a, w.at(4, Type::INT, {1})}));
          },
          "shares bytes"),
      row(
          "ADelegatesOperandLiesWhereItsOutputIs",
          [](W& w, int32_t a, int32_t) { w.run(delegate(kOneOutput, {a, w.at(0, kFloat, {2})})); },
          "shares bytes"),
      row(
          "ADelegatesFirstOutputIsAConstant",
          [](W& w, int32_t a, int32_t out) {
            w.run(delegate(kTwoOutputs, {a, w.constant(kFloat, {2}), out}));
          },
          "may be a constant"),
      row(
          "ADelegatesOutputListHasAConstant",
          [](W& w, int32_t a, int32_t) {
            w.run(delegate(kOneOutput, {a, tensors(w, {w.constant(kFloat, {2})})}));
          },
          "may be a constant"),
      row(
          "ADelegateWritesWhatAConstantIsMovedTo",
          [](W& w, int32_t a, int32_t) {
            const int32_t target = planned(w);
            w.run(jump_false(condition(w), 2));
            w.run(move(w.constant(kFloat, {2}), target));
            w.run(delegate(kOneOutput, {a, target}));
          },
          "may be a constant"),
      row(
          "ADelegateWritesAView",
          [](W& w, int32_t a, int32_t out) {
            const int32_t view = w.given(kFloat, {2});
            w.view(out, {2}, view);
            w.run(delegate(kOneOutput, {a, view}));
          },
          "is a view"),
      row(
          "ADelegateResizesWhatIsMovedToItsOperand",
          [](W& w, int32_t, int32_t) {
            const int32_t dynamic = planned(w, Dynamism::DYNAMIC_BOUND), target = planned(w);
            w.run(move(dynamic, target));
            w.run(delegate(kResizes, {target, dynamic}));
          },
          same),
      row(
          "ADelegateHasMoreOutputsThanArguments",
          [](W& w, int32_t, int32_t out) { w.run(delegate(kTwoOutputs, {out})); },
          "delegate 1 has 2 outputs"),
      row(
          "ADelegateHasOutputsButNoArguments",
          [](W& w, int32_t, int32_t) { w.run(delegate(kOneOutput, {})); },
          "delegate 0 has 1 outputs"),
      row(
          "ADelegatesBackendIsUnknown",
          [](W& w, int32_t a, int32_t out) {
            w.plan().delegates[0].id = "%s%n";
            w.run(delegate(kOneOutput, {a, out}));
          },
          "is not registered"),
      row(
          "AnUnusedDelegatesPayloadIsBeyondTheSegments",
          [](W& w, int32_t, int32_t) {
            w.plan().delegates[2].location = fb::DataLocation::SEGMENT;
          },
          "data 2 of 0"),
  };
}

}  // namespace

Rows hostile_delegates() {
  Rows rows = shared_arguments();
  const Rows more = refused_arguments();
  rows.insert(rows.end(), more.begin(), more.end());
  return rows;
}

}  // namespace executorch::testing
