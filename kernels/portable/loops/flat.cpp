// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
#include <executorch/kernels/portable/loops/flat.h>

#include <executorch/kernels/portable/loops/convert.h>
#include <executorch/kernels/portable/loops/number.h>
#include <executorch/kernels/portable/loops/promote.h>

#include <algorithm>

namespace executorch::kernels::portable {
namespace {

// How an input is walked beside the output, which is walked row by row.
enum class Walk : uint8_t {
  Along,    // as the output
  Again,    // from its start for every row
  Standing  // a number, repeated in a block
};

/// Whether the dtype is one that is computed in; of bool that is so in logic alone, and other
/// operators have no mathematics for it.
bool is_own_compute_type(ScalarType dtype, Compute& compute) {
  switch (dtype) {
    case ScalarType::Float:
      return compute = Compute::Float, true;
    case ScalarType::Double:
      return compute = Compute::Double, true;
    case ScalarType::Long:
      return compute = Compute::Int64, true;
    case ScalarType::Bool:
      return compute = Compute::Bool, true;
    default:
      return false;
  }
}

bool same_layout(const Tensor& a, const Tensor& b) {
  const auto sizes_a = a.sizes(), sizes_b = b.sizes();
  const auto strides_a = a.strides(), strides_b = b.strides();
  if (sizes_a.size() != sizes_b.size()) return false;
  for (size_t d = 0; d < sizes_a.size(); ++d) {
    if (sizes_a[d] != sizes_b[d] || strides_a[d] != strides_b[d]) return false;
  }
  return true;
}

/// Whether the tensor is as one of out's rows: its sizes those of out's innermost dimensions, and
/// both in order there.
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

// A number as the tensors' compute type, whichever kind it is.
template <class C>
C number_as(const Scalar& number) {
  return number.isFloatingPoint() ? cast<C>(number.to<double>()) : cast<C>(as_int(number));
}

class Flat {
 public:
  Flat(const Elementwise& operation, const Argument* inputs, Tensor& out)
      : operation_(operation), inputs_(inputs), out_(out), row_(out.numel()) {}

  /// Whether this way can be taken.
  bool prepare() {
    if (!settle_dtypes()) return false;
    bool is_sized = false;
    for (int i = 0; i < operation_.arity; ++i) {
      if (!take(i)) return false;
      is_sized = is_sized || (walks_[i] == Walk::Along);
    }
    return is_sized;
  }

  void run(const Parameters& parameters) const {
    auto* const out = static_cast<char*>(out_.mutable_data_ptr());
    if (has_number_ || has_rows_) {
      run_rows(parameters, out);
    } else {
      math_(parameters, out, data_, out_.numel());
    }
  }

 private:
  struct alignas(16) Block {
    char bytes[kBlock * 8];
  };

  void run_rows(const Parameters& parameters, char* to) const {
    Block blocks[Elementwise::kMaxArity];
    const int64_t block = has_number_ ? std::min(row_, kBlock) : row_;
    const char* in[Elementwise::kMaxArity];
    int64_t steps[Elementwise::kMaxArity], row_steps[Elementwise::kMaxArity];
    for (int i = 0; i < operation_.arity; ++i) {
      in[i] = walks_[i] == Walk::Standing ? repeat(i, block, blocks[i]) : data_[i];
      steps[i] = walks_[i] == Walk::Standing ? 0 : size_of(compute_of_input(i));
      row_steps[i] = walks_[i] == Walk::Again ? -row_ * steps[i] : 0;
    }
    const int64_t width = size_of(operation_.gives_bool ? Compute::Bool : compute_);
    for (int64_t left = out_.numel(); left > 0;) {
      for (int64_t first = 0; first < row_; first += block) {
        const int64_t n = std::min(row_ - first, block);
        math_(parameters, to, in, n);
        to += n * width;
        for (int i = 0; i < operation_.arity; ++i) in[i] += n * steps[i];
      }
      for (int i = 0; i < operation_.arity; ++i) in[i] += row_steps[i];
      left -= row_;
    }
  }

  bool is_condition(int input) const { return input == 0 && operation_.domain == Domain::Choice; }
  Compute compute_of_input(int input) const {
    return is_condition(input) ? Compute::Bool : compute_;
  }

  bool settle_dtypes() {
    ScalarType dtype = ScalarType::Undefined;
    for (int i = 0; i < operation_.arity; ++i) {
      if (inputs_[i].tensor() != nullptr && !is_condition(i)) {
        dtype = inputs_[i].tensor()->scalar_type();
      }
    }
    if (!is_own_compute_type(dtype, compute_)) return false;
    math_ = operation_.rows[static_cast<int>(compute_)];
    return math_ != nullptr &&
           out_.scalar_type() == (operation_.gives_bool ? ScalarType::Bool : dtype);
  }

  bool take(int input) {
    const Compute compute = compute_of_input(input);
    const Tensor* const tensor = inputs_[input].tensor();
    if (tensor == nullptr) {
      walks_[input] = Walk::Standing;
      has_number_ = true;
      return kind_of(dtype_of(*inputs_[input].number())) <= kind_of(dtype_of(compute));
    }
    if (tensor->scalar_type() != dtype_of(compute)) return false;
    data_[input] = static_cast<const char*>(tensor->const_data_ptr());
    if (same_layout(*tensor, out_)) {
      walks_[input] = Walk::Along;
      return true;
    }
    if (!repeats_by_row(*tensor, out_)) return false;
    if (tensor->numel() == 1) {
      walks_[input] = Walk::Standing;
      has_number_ = true;
      return compute != Compute::Bool;
    }
    walks_[input] = Walk::Again;
    const bool first = !has_rows_;
    has_rows_ = true;
    if (first) row_ = tensor->numel();
    return row_ == tensor->numel();
  }

  const char* repeat(int input, int64_t n, Block& block) const {
    const Tensor* const tensor = inputs_[input].tensor();
    visit_compute(compute_, [&](auto tag) {
      using C = ET_TYPE_OF(tag);
      const C value =
          tensor != nullptr ? *tensor->const_data_ptr<C>() : number_as<C>(*inputs_[input].number());
      std::fill_n(reinterpret_cast<C*>(block.bytes), n, value);
    });
    return block.bytes;
  }

  const Elementwise& operation_;
  const Argument* inputs_;
  Tensor& out_;
  RowFunction math_ = nullptr;
  Compute compute_ = Compute::Float;
  int64_t row_;  // elements until an input starts again
  bool has_rows_ = false, has_number_ = false;
  Walk walks_[Elementwise::kMaxArity];
  const char* data_[Elementwise::kMaxArity];
};

}  // namespace

bool run_flat(const Elementwise& operation, const Argument* inputs, Tensor& out,
              const Parameters& parameters) {
  Flat flat(operation, inputs, out);
  if (!flat.prepare()) return false;
  flat.run(parameters);
  return true;
}

}  // namespace executorch::kernels::portable
