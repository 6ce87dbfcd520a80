// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// Numbers that are NaN, infinite or too large, in every kind of argument that kernels convert to
// integers or divide by; ranges whose products do not fit 64 bits; bools of any byte.
#include <limits>

#include "fuzz/hostile/calls/hostile_call.h"
#include "fuzz/hostile/four_floats.h"

namespace executorch::testing {
namespace {

using namespace calls;

constexpr Type C = Type::CHAR;
constexpr Type U = Type::BYTE;

struct Real {
  const char* name;
  double number;
};
constexpr Real kReals[] = {
    {"Nan", std::numeric_limits<double>::quiet_NaN()},
    {"Infinity", std::numeric_limits<double>::infinity()},
    {"MinusInfinity", -std::numeric_limits<double>::infinity()},
    {"Huge", 1e300},
    {"MinusHuge", -1e300},
    {"Tiny", 5e-324},
    {"MinusTiny", -1e-40},
    {"Zero", 0},
    {"Max", 9223372036854775807.0},
    {"Large", 4.3e9},
};

std::vector<Call> scalars(double number) {
  const Arg x = dbl(number), zero = num(0), one = num(1), no = flag(false);
  const Arg longs = in(L, {4}), bytes = in(U, {4}), floats = in(F, {4});
  const Arg long_out = out(L, {4}), byte_out = out(U, {4}), result = out(F, {4});
  return {
      {"Fill", "aten::fill.Scalar_out", {longs, x, long_out}},
      {"Full", "aten::full.out", {ints({4}), x, byte_out}},
      {"FullOfBools", "aten::full.out", {ints({4}), x, out(B, {4})}},
      {"ScalarTensor", "aten::scalar_tensor.out", {x, out(Type::INT, {})}},
      {"MaskedFill", "aten::masked_fill.Scalar_out", {longs, in(B, {4}), x, long_out}},
      {"ScatterValue", "aten::scatter.value_out", {longs, zero, blank(L, {4}), x, long_out}},
      {"ScatterReduceValue",
       "aten::scatter.value_reduce_out",
       {bytes, zero, blank(L, {4}), x, text("multiply"), byte_out}},
      {"PadValue", "aten::constant_pad_nd.out", {bytes, ints({2, 2}), x, out(U, {8})}},
      {"AddAlpha", "aten::add.out", {longs, longs, x, long_out}},
      {"AddOther", "aten::add.Scalar_out", {longs, x, one, result}},
      {"SubAlpha", "aten::sub.Scalar_out", {floats, one, x, result}},
      {"RsubAlpha", "aten::rsub.Scalar_out", {floats, x, x, result}},
      {"PowExponent", "aten::pow.Tensor_Scalar_out", {longs, x, result}},
      {"PowBase", "aten::pow.Scalar_out", {x, longs, result}},
      {"FloorDivide", "aten::floor_divide.Scalar_out", {longs, x, result}},
      {"Remainder", "aten::remainder.Scalar_out", {longs, x, result}},
      {"Clamp", "aten::clamp.out", {longs, x, x, long_out}},
      {"Hardtanh", "aten::hardtanh.out", {longs, x, x, long_out}},
      {"Threshold", "aten::threshold.out", {longs, x, x, long_out}},
      {"Elu", "aten::elu.out", {floats, x, x, x, result}},
      {"Softplus", "aten::softplus.out", {floats, x, x, result}},
      {"Logit", "aten::logit.out", {floats, x, result}},
      {"Searchsorted",
       "aten::searchsorted.Scalar_out",
       {longs, x, no, flag(true), nil(), nil(), out(L, {})}},
      {"Bucketize",
       "aten::bucketize.Scalar_out",
       {x, in(C, {4}), flag(true), no, out(Type::INT, {})}},
      {"HistogramLimits", "aten::histc.out", {floats, num(4), x, dbl(1), result}},
      {"Addmm",
       "aten::addmm.out",
       {in(L, {2, 2}), in(L, {2, 2}), in(L, {2, 2}), x, x, out(L, {2, 2})}},
      {"Dropout", "aten::native_dropout.out", {floats, x, flag(true), result, out(B, {4})}},
      {"Bernoulli", "aten::bernoulli.float_out", {floats, x, nil(), result}},
      {"VarianceCorrection", "aten::var.correction_out", {floats, ints({0}), x, no, out(F, {})}},
      {"DistanceNorm",
       "aten::_cdist_forward.out",
       {in(F, {2, 3}), in(F, {2, 3}), x, nil(), out(F, {2, 2})}},
      {"RangeEnd", "aten::arange.start_out", {zero, x, one, long_out}},
      {"RangeStep", "aten::arange.start_out", {dbl(-9e18), dbl(9e18), x, out(Type::INT, {4})}},
  };
}

std::vector<Call> images(double number) {
  const Arg x = dbl(number), no = flag(false), sizes = ints({5, 3});
  const Arg image = in(U, {1, 1, 8, 8}), bytes = out(U, {1, 1, 5, 3});
  const Arg floats = in(F, {1, 2, 8, 8}), result = out(F, {1, 2, 5, 3});
  const auto resized = [&](std::string name, const char* op) -> Call {
    return {std::move(name), op, {image, sizes, no, x, x, bytes}};
  };
  return {
      resized("ResizeCubicAntialiased", "aten::_upsample_bicubic2d_aa.out"),
      resized("ResizeAntialiased", "aten::_upsample_bilinear2d_aa.out"),
      resized("ResizeCubic", "aten::upsample_bicubic2d.out"),
      {"ResizeNearest", "aten::upsample_nearest2d.out", {floats, sizes, x, x, result}},
      {"ResizeNearestExact", "aten::_upsample_nearest_exact2d.out", {floats, sizes, x, x, result}},
      {"ResizeLinear", "aten::upsample_bilinear2d.out", {floats, sizes, no, x, x, result}},
      {"BatchNormEpsilon",
       "aten::_native_batch_norm_legit_no_training.out",
       {floats, nil(), nil(), in(F, {2}), in(F, {2}), x, x, out(F, {1, 2, 8, 8}), out(F, {0}),
        out(F, {0})}},
  };
}

std::vector<Call> quantized(double number) {
  const Arg x = dbl(number), low = num(-128), high = num(127), one = num(1), zero = num(0);
  const Arg bytes = in(C, {4}), result = out(C, {4}), no = flag(false);
  const auto binary = [&](const std::string& name, const std::string& op) -> Call {
    return {name,
            op,
            {bytes, x, zero, low, high, bytes, x, zero, low, high, x, zero, low, high, result}};
  };
  return {
      {"QuantizeScale",
       "quantized_decomposed::quantize_per_tensor.out",
       {in(F, {4}), x, num(kMax), low, high, one, result}},
      {"DequantizeScale",
       "quantized_decomposed::dequantize_per_tensor.out",
       {bytes, x, num(kMin), low, high, one, nil(), out(F, {4})}},
      {"ChooseEpsilon",
       "quantized_decomposed::choose_qparams.Tensor_out",
       {in(F, {4}), num(kMin), num(kMax), x, one, out(F, {1}), out(L, {1})}},
      binary("QuantizedAdd", "quantized_decomposed::add.out"),
      binary("QuantizedMul", "quantized_fused::mul.out"),
      {"QuantizedAveragePool",
       "quantized_fused::avg_pool2d.out",
       {in(C, {1, 1, 4, 4}), zero, x, ints({2, 2}), ints({2, 2}), ints({0, 0}), no, no, num(kMin),
        zero, low, high, out(C, {1, 1, 2, 2})}},
      {"QuantizedMean",
       "quantized_fused::mean.out",
       {in(C, {2, 4}), zero, x, ints({1}), no, zero, low, high, out(C, {2})}},
  };
}

/// Integers whose products exceed 64 bits although the range does not.
std::vector<Call> ranges() {
  // Doubles round the distance up: the range gets an element more, which lies beyond its end.
  constexpr int64_t kStep = (int64_t{1} << 53) + 1, kCount = 600;
  constexpr int64_t kStart = kMax - (kCount * kStep - 1);
  return {
      {"RangeOfAllIntegersAsFloats",
       "aten::arange.start_out",
       {num(kMin), num(kMax), num(int64_t{1} << 60), out(F, {16})}},
      {"RangeOfAllIntegersAsIntegers",
       "aten::arange.start_out",
       {dbl(-9e18), dbl(9e18), dbl(1e18), out(Type::INT, {18})}},
      {"RangeBackwardsOfAllIntegers",
       "aten::arange.start_out",
       {num(kMax), num(kMin), num(-(int64_t{1} << 60)), out(Type::DOUBLE, {16})}},
      {"RangeBeyondTheLargestInteger",
       "aten::arange.start_out",
       {num(kStart), num(kMax), num(kStep), out(L, {kCount + 1})}},
  };
}

/// A bool of any byte becomes a number, a condition and an operand.
TestProgram bool_of_any_byte(int32_t size) {
  W w;
  const int32_t bools = w.input(w.given(Type::BOOL, {size})), number = w.value(boolean(false));
  const int32_t a = w.input(planned(w)), sum = planned(w), result = w.output(planned(w));
  w.call("aten::_local_scalar_dense", {bools, number});
  w.run(jump_false(number, 3));
  negate(w, a, sum);
  const int32_t chosen = w.output(w.planned(Type::BOOL, {size}));
  w.call("aten::logical_not.out", {bools, chosen, chosen});
  w.call("aten::where.self_out", {bools, a, sum, result, result});
  return w.finish();
}

}  // namespace

std::vector<HostileProgram> hostile_reals() {
  std::vector<HostileProgram> rows = {
      {"ABoolOfAnyByteIsANumber", [] { return bool_of_any_byte(1); }, ""},
      {"BoolsOfAnyByteAreNoNumber", [] { return bool_of_any_byte(4); }, ""},
  };
  for (const Real& real : kReals) {
    for (std::vector<Call> calls :
         {scalars(real.number), images(real.number), quantized(real.number)}) {
      for (Call& call : calls) {
        call.name += std::string("Of") + real.name;
        rows.push_back(
            {call.name, [call] { return program_of(call, Dynamism::DYNAMIC_BOUND); }, ""});
      }
    }
  }
  add_rows(ranges(), &rows);
  return rows;
}

}  // namespace executorch::testing
