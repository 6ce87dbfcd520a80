// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// Pointwise operators where an input or the output is complex.
#include <executorch/kernels/loops/dtype/complex.h>
#include <executorch/kernels/loops/dtype/number.h>
#include <executorch/kernels/loops/dtype/promote.h>
#include <executorch/kernels/loops/elementwise/elementwise.h>
#include <executorch/kernels/loops/memory/broadcast.h>
#include <executorch/kernels/loops/memory/loop_nest.h>

#include <algorithm>

namespace executorch::kernels {
namespace {

constexpr int kMaxInputs = Elementwise::kMaxArity;
constexpr int64_t kRun = kBlock / 2;  // elements of 16 bytes

bool is_condition(const Elementwise& operation, int input) {
  return input == 0 && operation.domain == Domain::Choice;
}

RowFunction row_of([[maybe_unused]] const Elementwise& operation) {
  if constexpr (has_complex) {
    return operation.complex[0];
  } else {
    return nullptr;
  }
}

ScalarType result_dtype(const Elementwise& operation, ScalarType common) {
  switch (operation.of_complex) {
    case OfComplex::Bool:
      return ScalarType::Bool;
    case OfComplex::Real:
      return part_dtype(common);
    default:
      return common;
  }
}

/// An input, read as Complex, or as bool if it is a condition.
class Source {
 public:
  void prepare(ScalarType dtype, bool is_condition) {
    if (is_condition) {
      condition_ = load(dtype, Compute::Bool);
    } else {
      reader_ = ComplexReader(dtype);
    }
  }
  bool valid() const { return condition_ != nullptr || reader_.valid(); }

  const char* read(const char* from, int64_t stride, int64_t n) {
    auto* const block = reinterpret_cast<char*>(block_);
    if (condition_ != nullptr) {
      condition_(block, sizeof(bool), from, stride, n);
    } else {
      reader_(from, stride, n, block_);
    }
    return block;
  }

 private:
  ComplexReader reader_;
  Convert condition_ = nullptr;
  Complex block_[kRun];
};

/// Writes results, which are Complex, double or bool. Rounds them to the operator's result dtype
/// first if `out` is wider.
class Sink {
 public:
  Sink(OfComplex kind, ScalarType result, ScalarType out)
      : kind_(kind), out_(out), writer_(out), flat_(store(compute(), part_dtype(out))) {
    const ScalarType part = part_dtype(result);
    if (kind != OfComplex::Bool && width_of(part) < width_of(part_dtype(out))) {
      round_ = store(Compute::Double, part);
      widen_ = load(part, Compute::Double);
      width_ = width_of(part);
    }
  }

  char* block() { return reinterpret_cast<char*>(block_); }

  void write(char* to, int64_t stride, int64_t n) {
    if (round_ != nullptr) round(kind_ == OfComplex::Complex ? 2 * n : n);
    if (kind_ == OfComplex::Complex) return writer_(to, stride, block_, n);
    flat_(to, stride, block(), size_of(compute()), n);
    if (!is_complex(out_)) return;
    const double zero = 0;
    store(Compute::Double, part_dtype(out_))(to + width_of(part_dtype(out_)), stride,
                                             reinterpret_cast<const char*>(&zero), 0, n);
  }

 private:
  Compute compute() const { return kind_ == OfComplex::Bool ? Compute::Bool : Compute::Double; }

  // The first n numbers of the block.
  void round(int64_t n) {
    alignas(double) char narrow[sizeof(block_) / 2];
    round_(narrow, width_, block(), sizeof(double), n);
    widen_(block(), sizeof(double), narrow, width_, n);
  }

  OfComplex kind_;
  ScalarType out_;
  ComplexWriter writer_;
  Convert flat_;
  Convert round_ = nullptr, widen_ = nullptr;
  int64_t width_ = 0;
  Complex block_[kRun];
};

void run(const Elementwise& operation, const Parameters& parameters, const LoopNest& nest,
         Source* sources, ScalarType result, ScalarType out) {
  Sink sink(operation.of_complex, result, out);
  const RowFunction row = row_of(operation);
  nest.for_each_row([&](char* const* at) {
    for (int64_t first = 0; first < nest.row(); first += kRun) {
      const int64_t n = std::min(kRun, nest.row() - first);
      const char* in[kMaxInputs];
      for (int i = 0; i < operation.arity; ++i) {
        const int64_t stride = nest.stride(1 + i);
        in[i] = sources[i].read(at[1 + i] + first * stride, stride, n);
      }
      row(parameters, sink.block(), in, n);
      sink.write(at[0] + first * nest.stride(0), nest.stride(0), n);
    }
  });
}

bool infer(KernelRuntimeContext& ctx, const Elementwise& operation, const Argument* inputs,
           Promotion* promotion, Shape* shape) {
  for (int i = 0; i < operation.arity; ++i) {
    const Tensor* const tensor = inputs[i].tensor();
    if (tensor != nullptr && !expect_broadcast(ctx, *shape, Shape(*tensor))) return false;
    if (is_condition(operation, i)) continue;
    tensor != nullptr ? promotion->add(*tensor) : promotion->add(*inputs[i].number());
  }
  return true;
}

void compute(KernelRuntimeContext& ctx, const Elementwise& operation, const Argument* inputs,
             Tensor& out, const Parameters& parameters) {
  Promotion promotion;
  Shape shape;
  if (!infer(ctx, operation, inputs, &promotion, &shape)) return;
  const ScalarType common = promotion.result();
  const ScalarType result = result_dtype(operation, common);
  if (!ET_EXPECT(ctx, row_of(operation) != nullptr, "not defined on %s", name_of(common)) ||
      !expect_castable(ctx, result, out) || !resize(ctx, out, shape)) {
    return;
  }
  Number numbers[kMaxInputs];
  Strided operands[kMaxInputs];
  Source sources[kMaxInputs];
  const Strided target(out);
  const Strided* list[1 + kMaxInputs] = {&target};
  for (int i = 0; i < operation.arity; ++i) {
    const Tensor* const tensor = inputs[i].tensor();
    if (tensor == nullptr) numbers[i] = Number(*inputs[i].number());
    operands[i] = expanded(tensor != nullptr ? Strided(*tensor) : numbers[i].strided(), shape);
    sources[i].prepare(operands[i].dtype, is_condition(operation, i));
    list[1 + i] = &operands[i];
    if (!ET_EXPECT(ctx, sources[i].valid(), "an input has a dtype that no kernel can read")) return;
  }
  run(operation, parameters, LoopNest(list, 1 + operation.arity), sources, result, target.dtype);
}

}  // namespace

bool elementwise_complex(KernelRuntimeContext& ctx, const Elementwise& operation,
                         const Argument* inputs, Tensor& out, const Parameters& parameters) {
  bool any_complex = false;
  for (int i = 0; i < operation.arity; ++i) {
    const Tensor* const tensor = inputs[i].tensor();
    any_complex = any_complex || (tensor != nullptr && is_complex(tensor->scalar_type()));
  }
  if (any_complex) compute(ctx, operation, inputs, out, parameters);
  return any_complex;
}

}  // namespace executorch::kernels
