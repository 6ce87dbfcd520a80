// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
#include <executorch/kernels/prim_ops/number_ops.h>

#include <cmath>

#include <executorch/runtime/core/overflow.h>
#include <executorch/runtime/platform/log.h>

namespace executorch::kernels::prim_ops {

using runtime::Error;
using runtime::Tag;

bool add(int64_t a, int64_t b, int64_t* out) { return !runtime::add_overflows(a, b, out); }
bool add(double a, double b, double* out) {
  *out = a + b;
  return true;
}
bool sub(int64_t a, int64_t b, int64_t* out) { return !__builtin_sub_overflow(a, b, out); }
bool sub(double a, double b, double* out) {
  *out = a - b;
  return true;
}
bool mul(int64_t a, int64_t b, int64_t* out) { return !runtime::mul_overflows(a, b, out); }
bool mul(double a, double b, double* out) {
  *out = a * b;
  return true;
}

bool floordiv(int64_t a, int64_t b, int64_t* out) {
  if (b == 0 || (a == INT64_MIN && b == -1)) {
    return false;
  }
  const int64_t quotient = a / b;
  *out = quotient - (a % b != 0 && (a < 0) != (b < 0) ? 1 : 0);
  return true;
}
bool floordiv(double a, double b, double* out) {
  *out = std::floor(a / b);
  return b != 0;
}

bool mod(int64_t a, int64_t b, int64_t* out) {
  if (b == 0) {
    return false;
  }
  // INT64_MIN % -1 traps on some machines.
  const int64_t remainder = b == -1 ? 0 : a % b;
  *out = remainder != 0 && (remainder < 0) != (b < 0) ? remainder + b : remainder;
  return true;
}
bool mod(double a, double b, double* out) {
  if (b == 0) {
    return false;
  }
  const double remainder = std::fmod(a, b);
  *out = remainder != 0 && (remainder < 0) != (b < 0) ? remainder + b : remainder;
  return true;
}

bool min(int64_t a, int64_t b, int64_t* out) {
  *out = b < a ? b : a;
  return true;
}
bool min(double a, double b, double* out) {
  *out = b < a ? b : a;
  return true;
}
bool max(int64_t a, int64_t b, int64_t* out) {
  *out = b > a ? b : a;
  return true;
}
bool max(double a, double b, double* out) {
  *out = b > a ? b : a;
  return true;
}

bool pow(int64_t a, int64_t b, int64_t* out) {
  if (b < 0) {
    return false;
  }
  int64_t result = 1;
  int64_t square = a;
  while (b > 0) {
    if (b % 2 == 1 && runtime::mul_overflows(result, square, &result)) {
      return false;
    }
    b /= 2;
    if (b > 0 && runtime::mul_overflows(square, square, &square)) {
      return false;
    }
  }
  *out = result;
  return true;
}
bool pow(double a, double b, double* out) {
  *out = std::pow(a, b);
  return !std::isnan(*out) || std::isnan(a) || std::isnan(b);
}

bool truediv(double a, double b, double* out) {
  *out = a / b;
  return b != 0;
}

namespace {

int64_t integer(const EValue& value) {
  return value.tag == Tag::Bool ? static_cast<int64_t>(value.payload.copyable_union.as_bool)
                                : value.payload.copyable_union.as_int;
}

double number(const EValue& value) {
  return value.tag == Tag::Double ? value.payload.copyable_union.as_double
                                  : static_cast<double>(integer(value));
}

bool both_integers(Span<EValue*> args) {
  return args[0]->tag != Tag::Double && args[1]->tag != Tag::Double;
}

void fail(KernelRuntimeContext& context, const EValue& a, const EValue& b) {
  ET_LOG(Error, "the result for %g and %g does not fit, or is a division by zero", number(a),
         number(b));
  context.fail(Error::InvalidArgument);
}

/// In [-2^63, 2^63), which is what int64_t holds; false for NaN.
bool fits_int64(double value) { return value >= -0x1p63 && value < 0x1p63; }

}  // namespace

void run_binary(KernelRuntimeContext& context, Span<EValue*> args, IntOp ints, DoubleOp doubles) {
  const EValue& a = *args[0];
  const EValue& b = *args[1];
  if (both_integers(args)) {
    int64_t result = 0;
    ints(integer(a), integer(b), &result) ? void(*args[2] = EValue(result)) : fail(context, a, b);
  } else {
    double result = 0;
    doubles(number(a), number(b), &result) ? void(*args[2] = EValue(result)) : fail(context, a, b);
  }
}

void run_division(KernelRuntimeContext& context, Span<EValue*> args) {
  double result = 0;
  if (!truediv(number(*args[0]), number(*args[1]), &result)) {
    return fail(context, *args[0], *args[1]);
  }
  *args[2] = EValue(result);
}

void run_test(KernelRuntimeContext&, Span<EValue*> args, IntTest ints, DoubleTest doubles) {
  *args[2] = EValue(both_integers(args) ? ints(integer(*args[0]), integer(*args[1]))
                                        : doubles(number(*args[0]), number(*args[1])));
}

void run_rounding(KernelRuntimeContext& context, Span<EValue*> args, DoubleToDouble round) {
  if (args[0]->tag != Tag::Double) {
    *args[1] = EValue(integer(*args[0]));
    return;
  }
  const double rounded = round(number(*args[0]));
  if (!fits_int64(rounded)) {
    return fail(context, *args[0], *args[0]);
  }
  *args[1] = EValue(static_cast<int64_t>(rounded));
}

void negate(KernelRuntimeContext& context, Span<EValue*> args) {
  if (args[0]->tag == Tag::Double) {
    *args[1] = EValue(-number(*args[0]));
    return;
  }
  int64_t result = 0;
  if (!sub(int64_t{0}, integer(*args[0]), &result)) {
    return fail(context, *args[0], *args[0]);
  }
  *args[1] = EValue(result);
}

void to_double(KernelRuntimeContext&, Span<EValue*> args) { *args[1] = EValue(number(*args[0])); }

void logical_not(KernelRuntimeContext&, Span<EValue*> args) {
  *args[1] = EValue(integer(*args[0]) == 0);
}
void logical_and(KernelRuntimeContext&, Span<EValue*> args) {
  *args[2] = EValue(integer(*args[0]) != 0 && integer(*args[1]) != 0);
}
void logical_or(KernelRuntimeContext&, Span<EValue*> args) {
  *args[2] = EValue(integer(*args[0]) != 0 || integer(*args[1]) != 0);
}

void choose(KernelRuntimeContext&, Span<EValue*> args) {
  *args[3] = *args[integer(*args[0]) != 0 ? 1 : 2];
}

namespace {

using ET_RUNTIME_NAMESPACE::internal::ArgKinds;
using ET_RUNTIME_NAMESPACE::internal::check_arguments;
using ET_RUNTIME_NAMESPACE::internal::kinds_of;

constexpr ArgKinds kNumber = kinds_of(Tag::Int, Tag::Double, Tag::Bool);
constexpr ArgKinds kBool = kinds_of(Tag::Bool);
constexpr ArgKinds kInt = kinds_of(Tag::Int);
constexpr ArgKinds kDouble = kinds_of(Tag::Double);

/// Checks the number and kinds of the arguments.
template <size_t N>
Error check(Span<EValue* const> args, const ArgKinds (&kinds)[N]) {
  return check_arguments(args, Span<const ArgKinds>(kinds));
}

}  // namespace

Error check_binary(Span<EValue* const> args) {
  ET_CHECK_OK_OR_RETURN_ERROR(check(args, {kNumber, kNumber, kNumber}));
  const bool to_double = args[0]->tag == Tag::Double || args[1]->tag == Tag::Double;
  return check(args, {kNumber, kNumber, to_double ? kDouble : kInt});
}

Error check_division(Span<EValue* const> args) { return check(args, {kNumber, kNumber, kDouble}); }
Error check_test(Span<EValue* const> args) { return check(args, {kNumber, kNumber, kBool}); }
Error check_rounding(Span<EValue* const> args) { return check(args, {kNumber, kInt}); }
Error check_to_double(Span<EValue* const> args) { return check(args, {kNumber, kDouble}); }
Error check_not(Span<EValue* const> args) { return check(args, {kBool, kBool}); }
Error check_logical(Span<EValue* const> args) { return check(args, {kBool, kBool, kBool}); }

Error check_negate(Span<EValue* const> args) {
  ET_CHECK_OK_OR_RETURN_ERROR(check(args, {kNumber, kNumber}));
  return check(args, {kNumber, args[0]->tag == Tag::Double ? kDouble : kInt});
}

Error check_choose(Span<EValue* const> args) {
  ET_CHECK_OK_OR_RETURN_ERROR(check(args, {kBool, kNumber, kNumber, kNumber}));
  const ArgKinds same = kinds_of(args[3]->tag);
  return check(args, {kBool, same, same, same});
}

}  // namespace executorch::kernels::prim_ops
