// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// Computes rows of an elementwise operator: reads inputs as a compute type, does the mathematics,
// and writes results as out's dtype. Only elementwise.cpp includes it and chooses the rows.
#pragma once

#include <executorch/kernels/loops/dtype/convert.h>
#include <executorch/kernels/loops/elementwise/elementwise.h>
#include <executorch/kernels/loops/memory/divide.h>

#include <algorithm>
#include <atomic>

namespace executorch::kernels {
namespace {  // One source includes this: the compiler inlines functions with one caller.

constexpr int kMaxInputs = Elementwise::kMaxArity;

/// Decisions before the loops: dtypes, compute types, and the row function for them.
struct Plan {
  const Elementwise& operation;
  const Parameters& parameters;
  ScalarType common = ScalarType::Undefined;  // of the inputs, after promotion
  ScalarType result = ScalarType::Undefined;  // before the cast to out's dtype
  Compute compute = Compute::Float;           // of the inputs
  bool is_small = false;                      // computed in the common dtype itself
  RowFunction row = nullptr;
  mutable std::atomic<bool> divided_by_zero{false};

  Plan(const Elementwise& chosen, const Parameters& numbers)
      : operation(chosen), parameters(numbers) {}

  void set_common(ScalarType dtype) {
    const Domain domain = operation.domain;
    common = dtype;
    is_small = false;
    result = operation.gives_bool ? ScalarType::Bool : dtype;
    const bool truth =
        domain == Domain::Logical || (domain == Domain::Bits && kind_of(dtype) == Kind::Bool);
    compute = truth ? Compute::Bool : compute_of(dtype);
    row = operation.rows[static_cast<int>(compute)];
  }
  // For inputs that are all of the common dtype, and an output of the result's.
  void prefer_small() {
    if constexpr (has_small_integers) {
      const auto index = static_cast<size_t>(common);
      is_small = index < operation.small.size() && operation.small[index] != nullptr;
      if (is_small) row = operation.small[index];
    }
  }
  // True if the operator supports the common dtype.
  bool is_defined() const {
    const Domain domain = operation.domain;
    const Kind kind = kind_of(common);
    const bool whole = domain == Domain::Integral || domain == Domain::Bits;
    return kind != Kind::Unsupported && !(domain == Domain::Numeric && kind == Kind::Bool) &&
           !(domain == Domain::Floating && kind != Kind::Floating) &&
           !(whole && kind == Kind::Floating);
  }
  bool is_condition(int input) const { return input == 0 && operation.domain == Domain::Choice; }
  Compute compute_of_input(int input) const {
    return is_condition(input) ? Compute::Bool : compute;
  }
  Compute compute_of_result() const { return operation.gives_bool ? Compute::Bool : compute; }
  // Dtypes of an input and of the output of the row function.
  ScalarType row_input_dtype(int input) const {
    return has_small_integers && is_small && !is_condition(input)
               ? common
               : dtype_of(compute_of_input(input));
  }
  ScalarType row_output_dtype() const {
    return has_small_integers && is_small ? result : dtype_of(compute_of_result());
  }
};

struct alignas(16) Block {
  char bytes[kBlock * 8];
};

/// Rounds or truncates values of a compute type to a narrower dtype.
struct Narrowing {
  Convert narrow = nullptr, widen = nullptr;
  int64_t width = 0, narrow_width = 0;

  Narrowing() = default;
  Narrowing(Compute compute, ScalarType dtype)
      : narrow(store(compute, dtype)),
        widen(load(dtype, compute)),
        width(size_of(compute)),
        narrow_width(size_of(dtype)) {}

  void operator()(Block& block, int64_t n) const {
    if (narrow == nullptr) return;
    Block narrowed;
    narrow(narrowed.bytes, narrow_width, block.bytes, width, n);
    widen(block.bytes, width, narrowed.bytes, narrow_width, n);
  }
};

/// Reads one input, run by run, as the compute type.
class Source {
 public:
  void prepare(const Plan& plan, int input, ScalarType dtype, bool zero_dim, int64_t stride) {
    if (has_small_integers && plan.is_small && !plan.is_condition(input)) {
      prepare_small(plan.common, dtype, stride);
      return;
    }
    const Compute compute = plan.compute_of_input(input);
    width_ = size_of(compute);
    stride_ = stride;
    load_ = load(dtype, compute);
    direct_ = dtype == dtype_of(compute) && stride == width_;
    // If the common dtype is narrower than the compute type, inputs of other dtypes are narrowed to
    // it first: uint8 + 300 wraps. As in torch, numbers combined with 16-bit floats keep full
    // precision.
    const bool kept = is_floating(plan.common) && zero_dim && !plan.operation.gives_bool;
    if (compute != Compute::Bool && dtype != plan.common && dtype_of(compute) != plan.common &&
        !kept) {
      narrowing_ = Narrowing(compute, plan.common);
    }
  }

  bool direct() const { return direct_; }

  const char* read(const char* row, int64_t first, int64_t n) {
    const char* const from = row + first * stride_;
    if (direct_) return from;
    if (stride_ == 0) return repeat_one(from, n);
    load_(block_.bytes, width_, from, stride_, n);
    narrowing_(block_, n);
    return block_.bytes;
  }

 private:
  // Tensors have the common dtype; numbers are not floating and are narrowed to it.
  void prepare_small(ScalarType common, ScalarType dtype, int64_t stride) {
    width_ = size_of(common);
    stride_ = stride;
    direct_ = stride == width_;
    load_ = dtype == common             ? move(width_)
            : dtype == ScalarType::Bool ? store(Compute::Bool, common)
                                        : store(Compute::Int64, common);
  }

  // Reads an element with stride 0 once and repeats it.
  const char* repeat_one(const char* from, int64_t n) {
    if (from == last_ && n <= filled_) return block_.bytes;
    load_(block_.bytes, width_, from, 0, 1);
    narrowing_(block_, 1);
    repeat(block_.bytes, block_.bytes, width_, n);
    last_ = from;
    filled_ = n;
    return block_.bytes;
  }

  Convert load_ = nullptr;
  Narrowing narrowing_;
  bool direct_ = false;
  int64_t width_ = 0, stride_ = 0, filled_ = 0;
  const char* last_ = nullptr;
  Block block_;
};

/// Writes results of the compute type as out's dtype.
class Sink {
 public:
  Sink(const Plan& plan, ScalarType out, int64_t stride)
      : width_(size_of(plan.compute_of_result())),  // small integers are not converted
        stride_(stride),
        store_(store(plan.compute_of_result(), out)) {
    const ScalarType computed = plan.row_output_dtype();
    // Values computed in a wider type are narrowed to the result's dtype before out's: int8 wraps
    // even if out is int64.
    const bool is_cut = plan.result != out && plan.result != computed;
    if (is_cut) narrowing_ = Narrowing(plan.compute_of_result(), plan.result);
    direct_ = !is_cut && out == computed &&
              stride == (has_small_integers && plan.is_small ? size_of(out) : width_);
  }

  bool direct() const { return direct_; }
  char* target(char* at) { return direct_ ? at : block_.bytes; }

  void write(char* at, int64_t n) {
    if (direct_) return;
    narrowing_(block_, n);
    store_(at, stride_, block_.bytes, width_, n);
  }

 private:
  int64_t width_, stride_;
  Convert store_;
  Narrowing narrowing_;
  bool direct_;
  Block block_;
};

/// A thread's copy of the parameters: collects the faults of the thread and merges them at its end.
class OwnParameters {
 public:
  explicit OwnParameters(const Plan& plan) : plan_(plan), parameters_(plan.parameters) {}
  OwnParameters(const OwnParameters&) = delete;
  OwnParameters& operator=(const OwnParameters&) = delete;
  ~OwnParameters() {
    if (kDivides && parameters_.divided_by_zero) plan_.divided_by_zero = true;
  }
  const Parameters& operator*() const { return parameters_; }

 private:
  const Plan& plan_;
  const std::conditional_t<kDivides, Parameters, const Parameters&> parameters_;
};

/// Computes rows: reads inputs, does the mathematics, writes.
class Rows {
 public:
  Rows(const Plan& plan, const Parameters& parameters, ScalarType out, int64_t out_stride)
      : plan_(plan),
        parameters_(parameters),
        sink_(plan, out, out_stride),
        direct_(sink_.direct()),
        stride_(out_stride) {}

  void add(int input, ScalarType dtype, bool zero_dim, int64_t stride) {
    sources_[input].prepare(plan_, input, dtype, zero_dim, stride);
    direct_ = direct_ && sources_[input].direct();
  }

  /// `at` points to where the output's row starts, then the inputs'.
  void compute(char* const* at, int64_t length) {
    const int64_t run = direct_ ? length : kBlock;
    for (int64_t first = 0; first < length; first += run) {
      const int64_t n = std::min(length - first, run);
      const char* in[kMaxInputs];
      for (int i = 0; i < plan_.operation.arity; ++i) {
        in[i] = sources_[i].read(at[1 + i], first, n);
      }
      char* const to = at[0] + first * stride_;
      plan_.row(parameters_, sink_.target(to), in, n);
      sink_.write(to, n);
    }
  }

 private:
  const Plan& plan_;
  const Parameters& parameters_;
  Source sources_[kMaxInputs];
  Sink sink_;
  bool direct_;
  int64_t stride_;
};

}  // namespace
}  // namespace executorch::kernels
