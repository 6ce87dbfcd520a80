// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// Copies the elements at constant indices of a dimension.
#include <string.h>

#include <algorithm>

#include <executorch/backends/xnnpack/runtime/operators/engine/engine_operator.h>
#include <executorch/backends/xnnpack/runtime/operators/families.h>
#include <executorch/backends/xnnpack/runtime/payload/shapes.h>

namespace executorch::backends::xnnpack {
namespace {

using runtime::Error;

class Gather final : public EngineOperator {
 public:
  Gather(const Node& node, const OperatorContext& context, size_t item)
      : EngineOperator("Gather (ND)", context),
        axis_(node.as<fb_xnnpack::StaticGather>().axis()),
        indices_(*node.as<fb_xnnpack::StaticGather>().indices()),
        item_(item) {}

  Error reshape(const Tensors& t) override {
    const Shape& from = *t.operands[0].shape;
    outer_ = 1;
    run_ = item_;
    for (size_t d = 0; d < from.rank; ++d) {
      size_t& part = d < axis_ ? outer_ : run_;
      part *= d == axis_ ? 1 : static_cast<size_t>(from.dims[d]);
    }
    size_ = static_cast<size_t>(from.dims[axis_]);
    return Error::Ok;
  }

  Error run() override {
    const size_t runs = outer_ * indices_.size();
    const size_t per_task = std::max<size_t>(1, kBytesPerTask / run_);
    threads().in_parts(runs, per_task, [&](size_t first, size_t size) {
      if (run_ == sizeof(uint32_t)) {
        copy<sizeof(uint32_t)>(first, first + size);
      } else {
        copy<0>(first, first + size);
      }
    });
    return Error::Ok;
  }

 private:
  /// kBytes is the size of a run if it is known at compile time, else 0.
  template <size_t kBytes>
  void copy(size_t first, size_t last) const {
    const size_t bytes = kBytes == 0 ? run_ : kBytes;
    const auto* from = static_cast<const char*>(tensors().operands[0].data);
    auto* const to = static_cast<char*>(tensors().results[0].data);
    size_t place = first % indices_.size();
    from += first / indices_.size() * size_ * bytes;
    for (size_t i = first; i < last; ++i) {
      memcpy(to + i * bytes, from + indices_.Get(static_cast<uint32_t>(place)) * bytes, bytes);
      if (++place == indices_.size()) {
        place = 0;
        from += size_ * bytes;
      }
    }
  }

  size_t axis_;
  const flatbuffers::Vector<uint32_t>& indices_;
  size_t item_, run_ = 0, outer_ = 0, size_ = 0;
};

}  // namespace

OperatorResult create_gather(const Node& node, const OperatorContext& context) {
  const size_t item = ET_UNWRAP(moved_element_bytes(node, context));
  return std::unique_ptr<Operator>(std::make_unique<Gather>(node, context, item));
}

}  // namespace executorch::backends::xnnpack
