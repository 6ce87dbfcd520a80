// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// Transposes of any order and element size on loops of our own, for builds without XNNPACK.
#include <string.h>

#include <algorithm>

#include <executorch/backends/xnnpack/runtime/operators/engine/engine_operator.h>
#include <executorch/backends/xnnpack/runtime/operators/families.h>
#include <executorch/backends/xnnpack/runtime/payload/shapes.h>
#include <executorch/runtime/executor/plan/optional_vector.h>

namespace executorch::backends::xnnpack {
namespace {

using runtime::Error;
using runtime::internal::count;

class PlainTranspose final : public EngineOperator {
 public:
  PlainTranspose(const Node& node, const OperatorContext& context, size_t item)
      : EngineOperator("Transpose (ND)", context), item_(item) {
    const auto* perm = node.as<fb_xnnpack::StaticTranspose>().perm();
    for (uint32_t d = 0; d < count(perm) && d < Shape::kMaxRank; ++d) {
      order_[d] = perm->Get(d);
    }
  }

  Error reshape(const Tensors& t) override {
    const Shape& from = *t.operands[0].shape;
    size_t strides[Shape::kMaxRank] = {};
    size_t stride = item_;
    for (size_t d = from.rank; d-- > 0;) {
      strides[d] = stride;
      stride *= static_cast<size_t>(from.dims[d]);
    }
    to_ = *t.results[0].shape;
    for (size_t d = 0; d < to_.rank; ++d) {
      strides_[d] = strides[order_[d]];
    }
    bytes_ = stride;
    // The innermost dimensions that are not permuted move as one run of bytes.
    run_ = item_;
    outer_ = to_.rank;
    while (outer_ > 0 && strides_[outer_ - 1] == run_) {
      run_ *= static_cast<size_t>(to_.dims[--outer_]);
    }
    return Error::Ok;
  }

  Error run() override {
    const size_t runs = bytes_ / run_;
    const size_t per_task = std::max<size_t>(1, kBytesPerTask / run_);
    threads().in_parts(runs, per_task,
                       [&](size_t first, size_t size) { move(first, first + size); });
    return Error::Ok;
  }

 private:
  void move(size_t first, size_t last) const {
    const auto* const from = static_cast<const char*>(tensors().operands[0].data);
    auto* const to = static_cast<char*>(tensors().results[0].data);
    size_t index[Shape::kMaxRank] = {}, offset = 0, rest = first;
    for (size_t d = outer_; d-- > 0;) {
      index[d] = rest % static_cast<size_t>(to_.dims[d]);
      rest /= static_cast<size_t>(to_.dims[d]);
      offset += index[d] * strides_[d];
    }
    for (size_t i = first; i < last; ++i) {
      memcpy(to + i * run_, from + offset, run_);
      for (size_t d = outer_; d-- > 0;) {
        offset += strides_[d];
        if (++index[d] < to_.dims[d]) {
          break;
        }
        offset -= index[d] * strides_[d];
        index[d] = 0;
      }
    }
  }

  size_t item_, run_ = 0, outer_ = 0, bytes_ = 0;
  Shape to_;
  size_t order_[Shape::kMaxRank] = {}, strides_[Shape::kMaxRank] = {};
};

}  // namespace

OperatorResult create_plain_transpose(const Node& node, const OperatorContext& context) {
  const size_t item = ET_UNWRAP(moved_element_bytes(node, context));
  return std::unique_ptr<Operator>(std::make_unique<PlainTranspose>(node, context, item));
}

}  // namespace executorch::backends::xnnpack
