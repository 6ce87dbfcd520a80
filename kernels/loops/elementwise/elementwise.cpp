// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
#include <executorch/kernels/loops/elementwise/elementwise.h>

#include <executorch/kernels/loops/dtype/number.h>
#include <executorch/kernels/loops/dtype/promote.h>
#include <executorch/kernels/loops/elementwise/rows.h>
#include <executorch/kernels/loops/memory/broadcast.h>
#include <executorch/kernels/loops/memory/copy.h>
#include <executorch/kernels/loops/memory/divide.h>
#include <executorch/kernels/loops/memory/loop_nest.h>

#include <algorithm>

namespace executorch::kernels {
namespace {

bool same_layout(const Tensor& a, const Tensor& b) {
  const auto sizes_a = a.sizes(), sizes_b = b.sizes();
  const auto strides_a = a.strides(), strides_b = b.strides();
  if (sizes_a.size() != sizes_b.size()) return false;
  for (size_t d = 0; d < sizes_a.size(); ++d) {
    if (sizes_a[d] != sizes_b[d] || strides_a[d] != strides_b[d]) return false;
  }
  return true;
}

/// True if the tensor has the sizes of out's innermost dimensions and both are in index order
/// there, so that every row of out uses the whole tensor.
bool repeats_by_row(const Tensor& tensor, const Tensor& out) {
  const auto sizes = tensor.sizes(), out_sizes = out.sizes();
  const auto strides = tensor.strides(), out_strides = out.strides();
  if (sizes.size() > out_sizes.size()) return false;
  size_t first = 0;
  while (first < sizes.size() && sizes[first] == 1) ++first;
  const size_t offset = out_sizes.size() - sizes.size();
  int64_t stride = 1;
  for (size_t d = sizes.size(); d > first; --d) {
    if (sizes[d - 1] != out_sizes[offset + d - 1] || strides[d - 1] != stride ||
        out_strides[offset + d - 1] != stride) {
      return false;
    }
    stride *= sizes[d - 1];
  }
  return true;
}

/// The fast path: nothing is promoted, inferred or resized, so that a small tensor costs little
/// more than its mathematics. Its conditions:
///   - all tensors have one dtype, which numbers do not change, and out has the result's dtype;
///   - an input has out's sizes and strides;
///   - every other input has that layout too, or repeats for each of out's innermost rows (a
///     bias), or is one number.
class Flat {
 public:
  Flat(Plan& plan, const Argument* inputs, Tensor& out)
      : plan_(plan), inputs_(inputs), out_(out), row_(out.numel()) {}

  bool prepare() {
    if (!set_dtypes()) return false;
    bool is_sized = false;
    for (int i = 0; i < plan_.operation.arity; ++i) {
      if (!take(i)) return false;
      is_sized = is_sized || steps_[i] > 0;
    }
    return is_sized;
  }

  void run() {
    at_[0] = static_cast<char*>(out_.mutable_data_ptr());
    const Division division(out_.numel(), repeats_ ? row_ : kBlock, out_.numel());
    if (division.parts() == 1) return compute(plan_.parameters, at_, out_.numel());
    division.run([this](int64_t, int64_t begin, int64_t end) {
      char* at[1 + kMaxInputs] = {at_[0] + begin * out_.element_size()};
      for (int i = 0; i < plan_.operation.arity; ++i) at[1 + i] = at_[1 + i] + begin * steps_[i];
      compute(*OwnParameters(plan_), at, end - begin);
    });
  }

 private:
  void compute(const Parameters& parameters, char** at, int64_t count) const {
    if (is_direct_ && out_.scalar_type() == plan_.row_output_dtype()) {
      run_rows(at, count, [&](int64_t n) { plan_.row(parameters, at[0], at + 1, n); });
    } else {
      convert(parameters, at, count);
    }
  }

  void convert(const Parameters& parameters, char** at, int64_t count) const {
    Rows rows(plan_, parameters, out_.scalar_type(), size_of(out_.scalar_type()));
    for (int i = 0; i < plan_.operation.arity; ++i) {
      const Tensor* const tensor = inputs_[i].tensor();
      const ScalarType dtype = tensor != nullptr ? tensor->scalar_type() : numbers_[i].dtype();
      rows.add(i, dtype, tensor == nullptr || tensor->dim() == 0,
               is_single_[i] ? 0 : size_of(dtype));
    }
    run_rows(at, count, [&](int64_t n) { rows.compute(at, n); });
  }

  // `count` elements: whole rows, if there are several.
  template <class ComputeRow>
  void run_rows(char** at, int64_t count, ComputeRow compute_row) const {
    const int64_t row = std::min(row_, count), out_step = row * out_.element_size();
    for (int64_t left = count; left > 0; left -= row) {
      compute_row(row);
      at[0] += out_step;
      for (int i = 0; i < plan_.operation.arity; ++i) at[1 + i] += row * steps_[i];
    }
  }

  bool set_dtypes() {
    ScalarType dtype = ScalarType::Undefined;
    for (int i = plan_.is_condition(0) ? 1 : 0; i < plan_.operation.arity; ++i) {
      if (inputs_[i].tensor() == nullptr) continue;
      const ScalarType own = inputs_[i].tensor()->scalar_type();
      if (dtype != ScalarType::Undefined && dtype != own) return false;
      dtype = own;
    }
    plan_.set_common(dtype);
    if (!plan_.is_defined() || out_.scalar_type() != plan_.result) return false;
    plan_.prefer_small();
    return plan_.row != nullptr;
  }

  bool take(int input) {
    const Tensor* const tensor = inputs_[input].tensor();
    steps_[input] = 0;
    is_single_[input] = tensor == nullptr || tensor->numel() == 1;
    if (tensor == nullptr) {
      is_direct_ = false;
      numbers_[input] = Number(*inputs_[input].number());
      at_[1 + input] = numbers_[input].strided().data;
      return kind_of(numbers_[input].dtype()) <= kind_of(plan_.common);
    }
    at_[1 + input] = static_cast<char*>(const_cast<void*>(tensor->const_data_ptr()));
    is_direct_ = is_direct_ && tensor->scalar_type() == plan_.row_input_dtype(input);
    if (same_layout(*tensor, out_)) {
      steps_[input] = tensor->element_size();
      is_single_[input] = false;
      return true;
    }
    if (!repeats_by_row(*tensor, out_)) return false;
    if (is_single_[input]) {
      is_direct_ = false;
      return true;
    }
    if (!repeats_) row_ = tensor->numel();
    repeats_ = true;
    return row_ == tensor->numel();
  }

  Plan& plan_;
  const Argument* inputs_;
  Tensor& out_;
  int64_t row_;  // elements until an input starts again
  bool repeats_ = false;
  bool is_direct_ = true;  // nothing is converted or repeated
  Number numbers_[kMaxInputs];
  bool is_single_[kMaxInputs];
  int64_t steps_[kMaxInputs];  // bytes from element to element of out
  char* at_[1 + kMaxInputs];
};

const char* domain_name(Domain domain) {
  return domain == Domain::Integral || domain == Domain::Bits ? "integers and bool" : "numbers";
}

bool set_common_dtype(KernelRuntimeContext& ctx, Plan& plan, const Argument* inputs,
                      const Tensor& out) {
  const Domain domain = plan.operation.domain;
  Promotion promotion;
  for (int i = plan.is_condition(0) ? 1 : 0; i < plan.operation.arity; ++i) {
    inputs[i].tensor() != nullptr ? promotion.add(*inputs[i].tensor())
                                  : promotion.add(*inputs[i].number());
  }
  const ScalarType common = promotion.result();
  plan.set_common(domain == Domain::Floating ? to_floating(common) : common);
  return ET_EXPECT(ctx, plan.is_defined(), "defined on %s, found inputs of common dtype %s",
                   domain_name(domain), name_of(plan.common)) &&
         ET_EXPECT(ctx, plan.row != nullptr, "this build leaves out %s", name_of(plan.common)) &&
         expect_castable(ctx, plan.result, out);
}

/// Any shapes, strides and dtypes that go together.
void run_broadcast(KernelRuntimeContext& ctx, const Plan& plan, const Argument* inputs,
                   const Shape& shape, Tensor& out) {
  const int arity = plan.operation.arity;
  const Strided target = has_complex ? part_of(Strided(out), 0) : Strided(out);
  Number numbers[kMaxInputs];
  Strided operands[kMaxInputs];
  const Strided* list[1 + kMaxInputs] = {&target};
  for (int i = 0; i < arity; ++i) {
    const Tensor* const tensor = inputs[i].tensor();
    if (tensor == nullptr) numbers[i] = Number(*inputs[i].number());
    operands[i] = expanded(tensor != nullptr ? Strided(*tensor) : numbers[i].strided(), shape);
    list[1 + i] = &operands[i];
    if (!ET_EXPECT(ctx, load(operands[i].dtype, plan.compute_of_input(i)) != nullptr,
                   "an input has a dtype that no kernel can read")) {
      return;
    }
  }
  const LoopNest nest(list, 1 + arity);
  NestDivision(nest, kBlock, out.numel()).run([&](int64_t, const LoopNest& part) {
    const OwnParameters own(plan);
    Rows rows(plan, *own, target.dtype, part.stride(0));
    for (int i = 0; i < arity; ++i) {
      const bool zero_dim = inputs[i].tensor() == nullptr || inputs[i].tensor()->dim() == 0;
      rows.add(i, operands[i].dtype, zero_dim, part.stride(1 + i));
    }
    part.for_each_row([&](char* const* at) { rows.compute(at, part.row()); });
  });
  if constexpr (has_complex) {
    if (is_complex(out.scalar_type())) fill(ctx, part_of(Strided(out), 1), Scalar(int64_t(0)));
  }
}

bool infer_shape(KernelRuntimeContext& ctx, const Argument* inputs, int arity, Shape& shape) {
  for (int i = 0; i < arity; ++i) {
    if (inputs[i].tensor() == nullptr) continue;
    if (!expect_broadcast(ctx, shape, Shape(*inputs[i].tensor()))) return false;
  }
  return true;
}

void run_general(KernelRuntimeContext& ctx, Plan& plan, const Argument* inputs, Tensor& out) {
  Shape shape;
  if constexpr (has_complex) {
    if (elementwise_complex(ctx, plan.operation, inputs, out, plan.parameters)) return;
  }
  if (!set_common_dtype(ctx, plan, inputs, out)) return;
  if (!infer_shape(ctx, inputs, plan.operation.arity, shape)) return;
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
  if constexpr (is_computed<int64_t>) integer[index] = as_int(value);
}

Tensor& elementwise(KernelRuntimeContext& ctx, const Elementwise& operation,
                    std::initializer_list<Argument> inputs, Tensor& out,
                    const Parameters& parameters) {
  Plan plan(operation, parameters);
  Flat flat(plan, inputs.begin(), out);
  flat.prepare() ? flat.run() : run_general(ctx, plan, inputs.begin(), out);
  if (parameters.divided_by_zero || plan.divided_by_zero) refuse(ctx, "division by zero");
  return out;
}

}  // namespace executorch::kernels
