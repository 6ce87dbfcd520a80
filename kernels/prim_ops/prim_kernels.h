// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// Operators that any program may need, whatever its other kernels: arithmetic on sizes, conditions
// of branches, counters of loops, views. One row each, sorted by name: the registry searches
// by bisection.
#pragma once

#include <cmath>
#include <string_view>

#include <executorch/kernels/prim_ops/number_ops.h>
#include <executorch/kernels/prim_ops/tensor_ops.h>
#include <executorch/runtime/kernel/operator_registry.h>

namespace executorch::kernels::prim_ops {

using runtime::Kernel;
using runtime::make_kernel;

/// Names a function by the types that it is for.
template <bool (*kInts)(int64_t, int64_t, int64_t*), bool (*kDoubles)(double, double, double*)>
constexpr Kernel arithmetic(const char* name) {
  return Kernel(name, &binary<kInts, kDoubles>, &check_binary);
}
template <IntTest kInts, DoubleTest kDoubles>
constexpr Kernel comparison(const char* name) {
  return Kernel(name, &test<kInts, kDoubles>, &check_test);
}
template <DoubleToDouble kRound>
constexpr Kernel to_int(const char* name) {
  return Kernel(name, &rounding<kRound>, &check_rounding);
}

inline double round_half_to_even(double x) { return std::nearbyint(x); }
inline double round_down(double x) { return std::floor(x); }
inline double round_up(double x) { return std::ceil(x); }
inline double round_to_zero(double x) { return std::trunc(x); }

inline constexpr Kernel kKernels[] = {
    Kernel("aten::_local_scalar_dense", &local_scalar_dense, &check_local_scalar_dense),
    Kernel("aten::sym_numel", &sym_numel, &check_sym_numel),
    Kernel("aten::sym_size.int", &sym_size, &check_sym_size),
    Kernel("aten::sym_storage_offset", &sym_storage_offset, &check_sym_numel),
    Kernel("aten::sym_stride.int", &sym_stride, &check_sym_size),
    arithmetic<add, add>("executorch_prim::add.Scalar"),
    to_int<round_up>("executorch_prim::ceil.Scalar"),
    comparison<eq<int64_t>, eq<double>>("executorch_prim::eq.Scalar"),
    make_kernel<&et_copy_index>("executorch_prim::et_copy_index.tensor").with(Kernel::kDisjoint),
    make_kernel<&et_view>("executorch_prim::et_view.default"),
    to_int<round_down>("executorch_prim::floor.Scalar"),
    arithmetic<floordiv, floordiv>("executorch_prim::floordiv.Scalar"),
    arithmetic<floordiv, floordiv>("executorch_prim::floordiv.int"),
    comparison<ge<int64_t>, ge<double>>("executorch_prim::ge.Scalar"),
    comparison<gt<int64_t>, gt<double>>("executorch_prim::gt.Scalar"),
    comparison<le<int64_t>, le<double>>("executorch_prim::le.Scalar"),
    comparison<lt<int64_t>, lt<double>>("executorch_prim::lt.Scalar"),
    arithmetic<mod, mod>("executorch_prim::mod.Scalar"),
    arithmetic<mod, mod>("executorch_prim::mod.int"),
    arithmetic<mul, mul>("executorch_prim::mul.Scalar"),
    comparison<ne<int64_t>, ne<double>>("executorch_prim::ne.Scalar"),
    Kernel("executorch_prim::neg.Scalar", &negate, &check_negate),
    arithmetic<pow, pow>("executorch_prim::pow.Scalar"),
    to_int<round_half_to_even>("executorch_prim::round.Scalar"),
    arithmetic<sub, sub>("executorch_prim::sub.Scalar"),
    Kernel("executorch_prim::sym_and.Scalar", &logical_and, &check_logical),
    Kernel("executorch_prim::sym_float.Scalar", &to_double, &check_to_double),
    to_int<round_to_zero>("executorch_prim::sym_int.Scalar"),
    Kernel("executorch_prim::sym_ite.Scalar", &choose, &check_choose),
    arithmetic<max, max>("executorch_prim::sym_max.Scalar"),
    arithmetic<min, min>("executorch_prim::sym_min.Scalar"),
    Kernel("executorch_prim::sym_not.Scalar", &logical_not, &check_not),
    Kernel("executorch_prim::sym_or.Scalar", &logical_or, &check_logical),
    Kernel("executorch_prim::truediv.Scalar", &run_division, &check_division),
    to_int<round_to_zero>("executorch_prim::trunc.Scalar"),
};

namespace internal {
/// Never defined, so that a table with an unknown operator does not compile.
Kernel no_such_primitive_operator();
}  // namespace internal

/// One row, for tables that have only the operators of a program.
constexpr Kernel primitive(std::string_view name) {
  for (const Kernel& kernel : kKernels) {
    if (name == kernel.name_) {
      return kernel;
    }
  }
  return internal::no_such_primitive_operator();
}

}  // namespace executorch::kernels::prim_ops
