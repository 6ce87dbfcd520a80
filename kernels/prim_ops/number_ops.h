// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// Operators on numbers that are values of a program (sizes, mostly), with the meaning that Python
// gives them. An operation for which Python would raise (a division by zero) or use more bits (an
// overflow) is an error.
//
// An operator is a function on int64_t, one on double, or both, and a row in register_prim_ops.cpp.
// The result's kind must be that of the value it goes to, which is checked when a program is
// loaded: values never change their kind.
#pragma once

#include <stdint.h>

#include <executorch/runtime/core/evalue.h>
#include <executorch/runtime/kernel/boxing.h>
#include <executorch/runtime/kernel/operator_registry.h>

namespace executorch::kernels::prim_ops {

using runtime::EValue;
using runtime::KernelRuntimeContext;
using runtime::Span;

// ---- the operators; false if the result is undefined or does not fit ----

bool add(int64_t a, int64_t b, int64_t* out);
bool add(double a, double b, double* out);
bool sub(int64_t a, int64_t b, int64_t* out);
bool sub(double a, double b, double* out);
bool mul(int64_t a, int64_t b, int64_t* out);
bool mul(double a, double b, double* out);
/// Rounds down.
bool floordiv(int64_t a, int64_t b, int64_t* out);
bool floordiv(double a, double b, double* out);
/// Has the sign of b.
bool mod(int64_t a, int64_t b, int64_t* out);
bool mod(double a, double b, double* out);
bool min(int64_t a, int64_t b, int64_t* out);
bool min(double a, double b, double* out);
bool max(int64_t a, int64_t b, int64_t* out);
bool max(double a, double b, double* out);
/// Undefined for an integer to a negative power, and for a negative number to a fractional one.
bool pow(int64_t a, int64_t b, int64_t* out);
bool pow(double a, double b, double* out);
bool truediv(double a, double b, double* out);

template <typename T>
bool eq(T a, T b) {
  return a == b;
}
template <typename T>
bool ne(T a, T b) {
  return a != b;
}
template <typename T>
bool lt(T a, T b) {
  return a < b;
}
template <typename T>
bool le(T a, T b) {
  return a <= b;
}
template <typename T>
bool gt(T a, T b) {
  return a > b;
}
template <typename T>
bool ge(T a, T b) {
  return a >= b;
}

// ---- their function types ----

using IntOp = bool (*)(int64_t, int64_t, int64_t*);
using DoubleOp = bool (*)(double, double, double*);
using IntTest = bool (*)(int64_t, int64_t);
using DoubleTest = bool (*)(double, double);
using DoubleToDouble = double (*)(double);

/// (number, number) -> Int if both are integers, else Double.
void run_binary(KernelRuntimeContext& context, Span<EValue*> args, IntOp ints, DoubleOp doubles);
/// (number, number) -> Double
void run_division(KernelRuntimeContext& context, Span<EValue*> args);
/// (number, number) -> Bool
void run_test(KernelRuntimeContext& context, Span<EValue*> args, IntTest ints, DoubleTest doubles);
/// (number) -> Int, by a function that rounds
void run_rounding(KernelRuntimeContext& context, Span<EValue*> args, DoubleToDouble round);

template <IntOp kInts, DoubleOp kDoubles>
void binary(KernelRuntimeContext& context, Span<EValue*> args) {
  run_binary(context, args, kInts, kDoubles);
}
template <IntTest kInts, DoubleTest kDoubles>
void test(KernelRuntimeContext& context, Span<EValue*> args) {
  run_test(context, args, kInts, kDoubles);
}
template <DoubleToDouble kRound>
void rounding(KernelRuntimeContext& context, Span<EValue*> args) {
  run_rounding(context, args, kRound);
}
/// (number) -> the same kind
void negate(KernelRuntimeContext& context, Span<EValue*> args);
/// (number) -> Double
void to_double(KernelRuntimeContext& context, Span<EValue*> args);
/// (Bool) -> Bool
void logical_not(KernelRuntimeContext& context, Span<EValue*> args);
/// (Bool, Bool) -> Bool
void logical_and(KernelRuntimeContext& context, Span<EValue*> args);
void logical_or(KernelRuntimeContext& context, Span<EValue*> args);
/// (Bool, number, number) -> one of the two
void choose(KernelRuntimeContext& context, Span<EValue*> args);

// ---- the checks of their arguments ----

runtime::Error check_binary(Span<EValue* const> args);
runtime::Error check_division(Span<EValue* const> args);
runtime::Error check_test(Span<EValue* const> args);
runtime::Error check_rounding(Span<EValue* const> args);
runtime::Error check_negate(Span<EValue* const> args);
runtime::Error check_to_double(Span<EValue* const> args);
runtime::Error check_not(Span<EValue* const> args);
runtime::Error check_logical(Span<EValue* const> args);
runtime::Error check_choose(Span<EValue* const> args);

}  // namespace executorch::kernels::prim_ops
