// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// Selections by booleans, and comparisons, which produce booleans. A boolean is a byte; every byte
// except 0 is true. Comparisons with NaN are false, except NotEqual.
#include <string.h>

#include <algorithm>

#include <executorch/backends/xnnpack/runtime/operators/engine/engine_operator.h>
#include <executorch/backends/xnnpack/runtime/operators/families.h>
#include <executorch/backends/xnnpack/runtime/payload/shapes.h>

namespace executorch::backends::xnnpack {
namespace {

using runtime::Error;

// Minimum number of elements for each thread.
constexpr size_t kPerTask = size_t{1} << 14;

/// The dimensions of a result, without those of size 1; adjacent dimensions are merged if the
/// strides of all operands allow it. The innermost stride of each operand is 0 or 1.
template <size_t kOperands>
class BroadcastRuns final {
 public:
  void set(const Tensors& t) {
    const Shape& shape = *t.results[0].shape;
    size_t strides[kOperands][Shape::kMaxRank];
    for (size_t i = 0; i < kOperands; ++i) {
      broadcast_strides(*t.operands[i].shape, shape, strides[i]);
    }
    rank_ = 0;
    for (size_t d = 0; d < shape.rank; ++d) {
      const auto size = static_cast<size_t>(shape.dims[d]);
      bool joins = rank_ != 0;
      for (size_t i = 0; i < kOperands; ++i) {
        joins = joins && strides_[i][rank_ - 1] == strides[i][d] * size;
      }
      if (size == 1) {
        continue;
      }
      rank_ += joins ? 0 : 1;
      sizes_[rank_ - 1] = joins ? sizes_[rank_ - 1] * size : size;
      for (size_t i = 0; i < kOperands; ++i) {
        strides_[i][rank_ - 1] = strides[i][d];
      }
    }
    if (rank_ == 0) {
      rank_ = 1;
      sizes_[0] = 1;
      for (size_t i = 0; i < kOperands; ++i) {
        strides_[i][0] = 0;
      }
    }
  }

  bool is_repeated(size_t operand) const { return strides_[operand][rank_ - 1] == 0; }

  /// Calls run(offsets of the operands, offset of the result, count) for parts of the result.
  template <typename Run>
  void for_each(PoolThreads& threads, const Run& run) const {
    const size_t inner = sizes_[rank_ - 1];
    const size_t parts = (inner + kPerTask - 1) / kPerTask, part = (inner + parts - 1) / parts;
    size_t runs = parts;
    for (size_t d = 0; d + 1 < rank_; ++d) {
      runs *= sizes_[d];
    }
    const size_t per_task = std::max<size_t>(1, kPerTask / part);
    threads.in_parts(runs, per_task, [&](size_t first, size_t size) {
      for (size_t i = first; i < first + size; ++i) {
        const size_t begin = std::min(i % parts * part, inner);
        size_t offsets[kOperands], index = i / parts;
        for (size_t k = 0; k < kOperands; ++k) {
          offsets[k] = begin * strides_[k][rank_ - 1];
        }
        for (size_t d = rank_ - 1; d-- > 0;) {
          const size_t coordinate = index % sizes_[d];
          index /= sizes_[d];
          for (size_t k = 0; k < kOperands; ++k) {
            offsets[k] += coordinate * strides_[k][d];
          }
        }
        run(offsets, i / parts * inner + begin, std::min(part, inner - begin));
      }
    });
  }

 private:
  size_t rank_ = 1, sizes_[Shape::kMaxRank] = {}, strides_[kOperands][Shape::kMaxRank] = {};
};

template <typename T>
void repeat(const T* from, bool is_repeated, T* to, size_t count) {
  if (is_repeated) {
    std::fill_n(to, count, *from);
  } else if (from != to) {
    memmove(to, from, count * sizeof(T));
  }
}

/// Loops without a branch, which the compiler vectorizes.
template <typename T, size_t kLeft, size_t kRight>
void choose(const uint8_t* condition, const T* left, const T* right, T* to, size_t count) {
  for (size_t i = 0; i < count; ++i) {
    const T a = left[i * kLeft], b = right[i * kRight];
    to[i] = condition[i] != 0 ? a : b;
  }
}

/// T holds the bits of an element.
template <typename T>
class Select final : public EngineOperator {
 public:
  explicit Select(const OperatorContext& context) : EngineOperator("Select (ND)", context) {}

  bool may_overwrite(size_t operand) const override { return is_whole_[operand]; }

  Error reshape(const Tensors& t) override {
    runs_.set(t);
    const uint64_t total = elements(*t.results[0].shape);
    for (size_t i = 0; i < 3; ++i) {
      is_whole_[i] = elements(*t.operands[i].shape) == total && (i != 0 || sizeof(T) == 1);
    }
    return Error::Ok;
  }

  Error run() override {
    const auto* const condition = static_cast<const uint8_t*>(tensors().operands[0].data);
    const auto* const left = static_cast<const T*>(tensors().operands[1].data);
    const auto* const right = static_cast<const T*>(tensors().operands[2].data);
    auto* const out = static_cast<T*>(tensors().results[0].data);
    const bool one = runs_.is_repeated(0), l = runs_.is_repeated(1), r = runs_.is_repeated(2);
    const auto loop =
        l ? (r ? choose<T, 0, 0> : choose<T, 0, 1>) : (r ? choose<T, 1, 0> : choose<T, 1, 1>);
    runs_.for_each(threads(), [&](const size_t* offsets, size_t to, size_t count) {
      const uint8_t* const c = condition + offsets[0];
      if (!one) {
        loop(c, left + offsets[1], right + offsets[2], out + to, count);
      } else if (*c != 0) {
        repeat(left + offsets[1], l, out + to, count);
      } else {
        repeat(right + offsets[2], r, out + to, count);
      }
    });
    return Error::Ok;
  }

 private:
  BroadcastRuns<3> runs_;
  bool is_whole_[3] = {};
};

struct IsEqual {
  template <typename T>
  static bool of(T a, T b) {
    return a == b;
  }
};
struct IsNotEqual {
  template <typename T>
  static bool of(T a, T b) {
    return a != b;
  }
};
struct IsLess {
  template <typename T>
  static bool of(T a, T b) {
    return a < b;
  }
};
struct IsLessOrEqual {
  template <typename T>
  static bool of(T a, T b) {
    return a <= b;
  }
};

float comparable(float x) { return x; }
bool comparable(uint8_t x) { return x != 0; }

template <typename T, typename Compare>
class Comparison final : public EngineOperator {
 public:
  explicit Comparison(const OperatorContext& context)
      : EngineOperator("Comparison (ND)", context) {}

  Error reshape(const Tensors& t) override {
    runs_.set(t);
    return Error::Ok;
  }

  Error run() override {
    const auto* const left = static_cast<const T*>(tensors().operands[0].data);
    const auto* const right = static_cast<const T*>(tensors().operands[1].data);
    auto* const out = static_cast<uint8_t*>(tensors().results[0].data);
    const bool l = runs_.is_repeated(0), r = runs_.is_repeated(1);
    const auto loop = l ? (r ? compare<0, 0> : compare<0, 1>) : (r ? compare<1, 0> : compare<1, 1>);
    runs_.for_each(threads(), [&](const size_t* offsets, size_t to, size_t count) {
      loop(left + offsets[0], right + offsets[1], out + to, count);
    });
    return Error::Ok;
  }

 private:
  template <size_t kLeft, size_t kRight>
  static void compare(const T* left, const T* right, uint8_t* to, size_t count) {
    for (size_t i = 0; i < count; ++i) {
      to[i] = Compare::of(comparable(left[i * kLeft]), comparable(right[i * kRight])) ? 1 : 0;
    }
  }

  BroadcastRuns<2> runs_;
};

template <typename T>
OperatorResult compare(const Node& node, const OperatorContext& context) {
  switch (node.kind) {
    case NodeKind::Equal:
      return std::unique_ptr<Operator>(std::make_unique<Comparison<T, IsEqual>>(context));
    case NodeKind::NotEqual:
      return std::unique_ptr<Operator>(std::make_unique<Comparison<T, IsNotEqual>>(context));
    case NodeKind::Less:
      return std::unique_ptr<Operator>(std::make_unique<Comparison<T, IsLess>>(context));
    default:
      return std::unique_ptr<Operator>(std::make_unique<Comparison<T, IsLessOrEqual>>(context));
  }
}

}  // namespace

OperatorResult create_select(const Node& node, const OperatorContext& context) {
  const Value& result = context.graph.values[node.result()];
  const bool operands_match = have_same_elements(context.graph.values[node.operand(1)], result) &&
                              have_same_elements(context.graph.values[node.operand(2)], result);
  switch (operands_match ? bytes_of(result.datatype, {}) : 0) {
    case 1:
      return std::unique_ptr<Operator>(std::make_unique<Select<uint8_t>>(context));
    case 2:
      return std::unique_ptr<Operator>(std::make_unique<Select<uint16_t>>(context));
    case 4:
      return std::unique_ptr<Operator>(std::make_unique<Select<uint32_t>>(context));
    default:
      return refuse_datatypes(node, context);
  }
}

OperatorResult create_comparison(const Node& node, const OperatorContext& context) {
  switch (context.graph.values[node.operand(0)].datatype) {
    case Datatype::Float32:
      return compare<float>(node, context);
    case Datatype::Bool:
      return compare<uint8_t>(node, context);
    default:
      return refuse_datatypes(node, context);
  }
}

}  // namespace executorch::backends::xnnpack
