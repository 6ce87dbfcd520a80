// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
#include <executorch/kernels/portable/loops/elementwise.h>

#include <executorch/kernels/portable/loops/broadcast.h>
#include <executorch/kernels/portable/loops/convert.h>
#include <executorch/kernels/portable/loops/flat.h>
#include <executorch/kernels/portable/loops/loop_nest.h>
#include <executorch/kernels/portable/loops/number.h>
#include <executorch/kernels/portable/loops/promote.h>

namespace executorch::kernels::portable {
namespace {

constexpr int kMaxInputs = Elementwise::kMaxArity;

// What is settled before the loops: dtypes, compute types, the mathematics at them.
struct Plan {
  const Elementwise& operation;
  const Parameters& parameters;
  ScalarType common;  // of the inputs, after promotion
  Compute compute;    // of the inputs
  ScalarType result;  // before the cast to out's dtype
  RowFunction row;

  bool is_condition(int input) const { return input == 0 && operation.domain == Domain::Choice; }
  Compute compute_of_input(int input) const {
    return is_condition(input) ? Compute::Bool : compute;
  }
  Compute compute_of_result() const { return operation.gives_bool ? Compute::Bool : compute; }
};

const char* domain_name(Domain domain) {
  return domain == Domain::Integral ? "integers and bool" : "numbers";
}

bool settle(KernelRuntimeContext& ctx, Plan& plan, const Argument* inputs, const Tensor& out) {
  const Domain domain = plan.operation.domain;
  Promotion promotion;
  for (int i = domain == Domain::Choice ? 1 : 0; i < plan.operation.arity; ++i) {
    inputs[i].tensor() != nullptr ? promotion.add(*inputs[i].tensor())
                                  : promotion.add(*inputs[i].number());
  }
  plan.common = promotion.result();
  if (domain == Domain::Floating) plan.common = to_floating(plan.common);
  const Kind kind = kind_of(plan.common);
  const bool defined = kind != Kind::Unsupported &&
                       !(domain == Domain::Integral && kind == Kind::Floating) &&
                       !(domain == Domain::Numeric && kind == Kind::Bool);
  if (!ET_EXPECT(ctx, defined, "defined on %s, found inputs of common dtype %s",
                 domain_name(domain), name_of(plan.common))) {
    return false;
  }
  plan.compute = domain == Domain::Logical ? Compute::Bool : compute_of(plan.common);
  plan.result = plan.operation.gives_bool ? ScalarType::Bool : plan.common;
  plan.row = plan.operation.rows[static_cast<int>(plan.compute)];
  if (!ET_EXPECT(ctx, plan.row != nullptr, "this build leaves out %s", name_of(plan.common))) {
    return false;
  }
  return expect_castable(ctx, plan.result, out);
}

struct alignas(16) Block {
  char bytes[kBlock * 8];
};

// Reads one input, run by run, as the compute type.
class Source {
 public:
  void prepare(const Plan& plan, int input, const Strided& memory, bool zero_dim, int64_t stride) {
    const Compute compute = plan.compute_of_input(input);
    width_ = size_of(compute);
    stride_ = stride;
    load_ = load(memory.dtype, compute);
    direct_ = memory.dtype == dtype_of(compute) && stride == width_;
    // An input of another dtype is cut to the common one first, where that is narrower than what is
    // computed in: uint8 + 300 wraps. 16-bit floats meet numbers at full precision, as in torch.
    const bool kept = is_floating(plan.common) && zero_dim && !plan.operation.gives_bool;
    if (compute != Compute::Bool && memory.dtype != plan.common &&
        dtype_of(compute) != plan.common && !kept) {
      narrow_ = store(compute, plan.common);
      widen_ = load(plan.common, compute);
    }
  }

  bool valid() const { return load_ != nullptr; }
  bool direct() const { return direct_; }

  const char* read(const char* row, int64_t first, int64_t n) {
    const char* const from = row + first * stride_;
    if (direct_) return from;
    // What stands still is read once a row.
    if (stride_ == 0 && row == last_ && n <= filled_) return block_.bytes;
    load_(block_.bytes, width_, from, stride_, n);
    if (narrow_ != nullptr) {
      Block narrowed;
      narrow_(narrowed.bytes, 8, block_.bytes, width_, n);
      widen_(block_.bytes, width_, narrowed.bytes, 8, n);
    }
    last_ = row;
    filled_ = n;
    return block_.bytes;
  }

 private:
  Convert load_ = nullptr, narrow_ = nullptr, widen_ = nullptr;
  bool direct_ = false;
  int64_t width_ = 0, stride_ = 0, filled_ = 0;
  const char* last_ = nullptr;
  Block block_;
};

// Writes results of the compute type as out's dtype.
class Sink {
 public:
  Sink(const Plan& plan, ScalarType out, int64_t stride)
      : width_(size_of(plan.compute_of_result())),
        stride_(stride),
        store_(store(plan.compute_of_result(), out)) {
    const ScalarType computed = dtype_of(plan.compute_of_result());
    direct_ = out == computed && stride == width_;
    if (plan.result != out && plan.result != computed) {
      narrow_ = store(plan.compute_of_result(), plan.result);
      widen_ = load(plan.result, plan.compute_of_result());
    }
  }

  bool direct() const { return direct_; }
  char* target(char* at) { return direct_ ? at : block_.bytes; }

  void write(char* at, int64_t n) {
    if (direct_) return;
    if (narrow_ != nullptr) {
      Block narrowed;
      narrow_(narrowed.bytes, 8, block_.bytes, width_, n);
      widen_(block_.bytes, width_, narrowed.bytes, 8, n);
    }
    store_(at, stride_, block_.bytes, width_, n);
  }

 private:
  int64_t width_, stride_;
  Convert store_, narrow_ = nullptr, widen_ = nullptr;
  bool direct_;
  Block block_;
};

bool run_rows(const Plan& plan, const Strided* inputs, const bool* zero_dim, const Strided& out) {
  const int arity = plan.operation.arity;
  const Strided* operands[1 + kMaxInputs] = {&out};
  for (int i = 0; i < arity; ++i) operands[1 + i] = &inputs[i];
  const LoopNest nest(operands, 1 + arity);

  Source sources[kMaxInputs];
  Sink sink(plan, out.dtype, nest.stride(0));
  bool direct = sink.direct();
  for (int i = 0; i < arity; ++i) {
    sources[i].prepare(plan, i, inputs[i], zero_dim[i], nest.stride(1 + i));
    if (!sources[i].valid()) return false;
    direct = direct && sources[i].direct();
  }

  const int64_t run = direct ? nest.row() : kBlock;
  nest.for_each_row([&](char* const* at) {
    for (int64_t first = 0; first < nest.row(); first += run) {
      const int64_t n = nest.row() - first < run ? nest.row() - first : run;
      const char* in[kMaxInputs];
      for (int i = 0; i < arity; ++i) in[i] = sources[i].read(at[1 + i], first, n);
      char* const to = at[0] + first * nest.stride(0);
      plan.row(plan.parameters, sink.target(to), in, n);
      sink.write(to, n);
    }
  });
  return true;
}

bool run_broadcast(KernelRuntimeContext& ctx, const Plan& plan, const Argument* inputs,
                   const Shape& shape, Tensor& out) {
  Number numbers[kMaxInputs];
  Strided operands[kMaxInputs];
  bool zero_dim[kMaxInputs];
  for (int i = 0; i < plan.operation.arity; ++i) {
    const Tensor* const tensor = inputs[i].tensor();
    zero_dim[i] = tensor == nullptr || tensor->dim() == 0;
    if (tensor == nullptr) numbers[i] = Number(*inputs[i].number());
    operands[i] = expanded(tensor != nullptr ? Strided(*tensor) : numbers[i].strided(), shape);
  }
  return ET_EXPECT(ctx, run_rows(plan, operands, zero_dim, Strided(out)),
                   "an input has a dtype that no kernel can read");
}

bool infer_shape(KernelRuntimeContext& ctx, const Argument* inputs, int arity, Shape& shape) {
  for (int i = 0; i < arity; ++i) {
    if (inputs[i].tensor() == nullptr) continue;
    if (!expect_broadcast(ctx, shape, Shape(*inputs[i].tensor()))) return false;
  }
  return true;
}

void run_general(KernelRuntimeContext& ctx, const Elementwise& operation, const Argument* inputs,
                 Tensor& out, const Parameters& parameters) {
  Plan plan{operation, parameters, {}, {}, {}, nullptr};
  Shape shape;
  if (!settle(ctx, plan, inputs, out)) return;
  if (!infer_shape(ctx, inputs, operation.arity, shape)) return;
  if (!resize(ctx, out, shape)) return;
  run_broadcast(ctx, plan, inputs, shape, out);
}

}  // namespace

Parameters::Parameters(std::initializer_list<double> values) {
  int i = 0;
  for (const double value : values) {
    floating[i] = value;
    integer[i] = cast<int64_t>(value);
    ++i;
  }
}

void Parameters::set(int index, const Scalar& value) {
  floating[index] = as_double(value);
  integer[index] = as_int(value);
}

Tensor& elementwise(KernelRuntimeContext& ctx, const Elementwise& operation,
                    std::initializer_list<Argument> inputs, Tensor& out,
                    const Parameters& parameters) {
  if (!run_flat(operation, inputs.begin(), out, parameters)) {
    run_general(ctx, operation, inputs.begin(), out, parameters);
  }
  if (parameters.divided_by_zero) refuse(ctx, "integer division by zero");
  return out;
}

}  // namespace executorch::kernels::portable
