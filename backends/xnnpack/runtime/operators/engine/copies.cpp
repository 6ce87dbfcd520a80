// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// Copies, slices, paddings and concatenations as copies of boxes. A box is a region of a tensor; it
// consists of runs of contiguous bytes.
#include <math.h>
#include <string.h>

#include <algorithm>
#include <vector>

#include <executorch/backends/xnnpack/runtime/operators/engine/engine_operator.h>
#include <executorch/backends/xnnpack/runtime/operators/families.h>
#include <executorch/backends/xnnpack/runtime/payload/shapes.h>
#include <executorch/runtime/core/exec_aten/exec_aten.h>
#include <executorch/runtime/executor/plan/optional_vector.h>

namespace executorch::backends::xnnpack {
namespace {

namespace fb = fb_xnnpack;
using runtime::Error;
using runtime::internal::count;

size_t element_bytes(const Value& value) { return bytes_of(value.datatype, {}); }

/// A copy of a box whose runs have `run_bytes` each. Strides count bytes.
struct BoxCopy {
  size_t rank = 0;
  size_t sizes[Shape::kMaxRank] = {}, from_strides[Shape::kMaxRank] = {},
         to_strides[Shape::kMaxRank] = {};
  size_t run_bytes = 0;
  /// Offsets of the box in its source and destination.
  size_t from_offset = 0, to_offset = 0;

  size_t runs() const {
    size_t product = 1;
    for (size_t d = 0; d < rank; ++d) {
      product *= sizes[d];
    }
    return product;
  }

  void copy(const char* from, char* to, size_t first, size_t last) const {
    const size_t inner = rank == 0 ? 1 : sizes[rank - 1];
    for (size_t run = first; run < last;) {
      const size_t begin = run % inner, part = std::min(inner - begin, last - run);
      size_t rest = run / inner, source = from_offset + begin * from_step(),
             destination = to_offset + begin * to_step();
      for (size_t d = rank; d-- > 1;) {
        const size_t index = rest % sizes[d - 1];
        rest /= sizes[d - 1];
        source += index * from_strides[d - 1];
        destination += index * to_strides[d - 1];
      }
      copy_runs(from + source, to + destination, part);
      run += part;
    }
  }

 private:
  /// Copies runs of the innermost dimension.
  void copy_runs(const char* from, char* to, size_t part) const {
    switch (run_bytes) {
      case sizeof(uint16_t):
        return copy_elements<uint16_t>(from, to, part);
      case sizeof(uint32_t):
        return copy_elements<uint32_t>(from, to, part);
      default:
        for (size_t i = 0; i < part; ++i) {
          memcpy(to + i * to_step(), from + i * from_step(), run_bytes);
        }
    }
  }

  /// Copies runs of one element, as in rotary embeddings of adjacent channels. The compiler
  /// vectorizes the loop if both steps are constants.
  template <class Element>
  void copy_elements(const char* from, char* to, size_t part) const {
    constexpr size_t kSize = sizeof(Element);
    if (from_step() == 2 * kSize && to_step() == kSize) {
      copy_steps<Element>(from, 2 * kSize, to, kSize, part);
    } else if (from_step() == kSize && to_step() == 2 * kSize) {
      copy_steps<Element>(from, kSize, to, 2 * kSize, part);
    } else {
      copy_steps<Element>(from, from_step(), to, to_step(), part);
    }
  }

  template <class Element>
  static __attribute__((always_inline)) void copy_steps(const char* from, size_t from_step,
                                                        char* to, size_t to_step, size_t part) {
    for (size_t i = 0; i < part; ++i) {
      Element element;
      memcpy(&element, from + i * from_step, sizeof(element));
      memcpy(to + i * to_step, &element, sizeof(element));
    }
  }

  size_t from_step() const { return rank == 0 ? 0 : from_strides[rank - 1]; }
  size_t to_step() const { return rank == 0 ? 0 : to_strides[rank - 1]; }
};

/// Describes the copy of a box of `sizes` between tensors of two shapes.
BoxCopy box_between(const Shape& from, const uint64_t* from_begin, const Shape& to,
                    const uint64_t* to_begin, const uint64_t* sizes, size_t bytes) {
  BoxCopy box;
  if (is_empty(from)) {
    box.rank = 1;
    return box;
  }
  size_t from_stride = bytes, to_stride = bytes, run = bytes;
  bool is_run = true;
  size_t rank = 0;
  size_t reversed[3][Shape::kMaxRank];
  for (size_t d = from.rank; d-- > 0;) {
    box.from_offset += static_cast<size_t>(from_begin[d]) * from_stride;
    box.to_offset += static_cast<size_t>(to_begin[d]) * to_stride;
    const auto size = static_cast<size_t>(sizes[d]);
    if (is_run) {
      run *= size;
      is_run = sizes[d] == from.dims[d] && sizes[d] == to.dims[d];
    } else if (size != 1) {
      reversed[0][rank] = size;
      reversed[1][rank] = from_stride;
      reversed[2][rank++] = to_stride;
    }
    from_stride *= static_cast<size_t>(from.dims[d]);
    to_stride *= static_cast<size_t>(to.dims[d]);
  }
  box.rank = rank;
  box.run_bytes = run;
  for (size_t d = 0; d < rank; ++d) {
    box.sizes[d] = reversed[0][rank - 1 - d];
    box.from_strides[d] = reversed[1][rank - 1 - d];
    box.to_strides[d] = reversed[2][rank - 1 - d];
  }
  return box;
}

class Copies : public Operator {
 public:
  Error bind(const Tensors& tensors) override {
    for (size_t i = 0; i < boxes_.size(); ++i) {
      boxes_[i].from = static_cast<const char*>(tensors.operands[i].data);
    }
    to_ = static_cast<char*>(tensors.results[0].data);
    return Error::Ok;
  }

  Error run() override {
    for (const Source& source : boxes_) {
      copy(source);
    }
    return Error::Ok;
  }

 protected:
  Copies(const char* label, const OperatorContext& context)
      : Operator(label), threads_(context.threads) {}

  struct Source {
    BoxCopy box;
    const char* from = nullptr;
  };
  std::vector<Source>& boxes() { return boxes_; }
  char* to() const { return to_; }
  PoolThreads& threads() { return threads_; }

 private:
  void copy(const Source& source) {
    const BoxCopy& box = source.box;
    const size_t runs = box.runs();
    if (runs * box.run_bytes <= kBytesPerTask) {
      box.copy(source.from, to_, 0, runs);
      return;
    }
    if (runs == 1) {
      copy_bytes(source);
      return;
    }
    const size_t per_task = std::max<size_t>(1, kBytesPerTask / std::max<size_t>(box.run_bytes, 1));
    threads_.in_parts(runs, per_task, [&](size_t first, size_t size) {
      box.copy(source.from, to_, first, first + size);
    });
  }

  void copy_bytes(const Source& source) {
    const char* const from = source.from + source.box.from_offset;
    char* const to = to_ + source.box.to_offset;
    threads_.in_parts(source.box.run_bytes, kBytesPerTask,
                      [&](size_t first, size_t size) { memcpy(to + first, from + first, size); });
  }

  PoolThreads threads_;
  std::vector<Source> boxes_;
  char* to_ = nullptr;
};

constexpr uint64_t kZeros[Shape::kMaxRank] = {};

class Copy final : public Copies {
 public:
  explicit Copy(const OperatorContext& context) : Copies("Copy (NC)", context) {}

  Error reshape(const Tensors& t) override {
    const Shape all{1, {elements(*t.operands[0].shape)}};
    boxes().assign(
        1, {box_between(all, kZeros, all, kZeros, all.dims, element_bytes(*t.operands[0].value)),
            nullptr});
    return Error::Ok;
  }
};

class Slice final : public Copies {
 public:
  Slice(const OperatorContext& context, const Node& node) : Copies("Slice (ND)", context) {
    const auto* offsets = node.as<fb::StaticSlice>().offsets();
    for (uint32_t d = 0; d < count(offsets) && d < Shape::kMaxRank; ++d) {
      begin_[d] = offsets->Get(d);
    }
  }

  Error reshape(const Tensors& t) override {
    const Shape &from = *t.operands[0].shape, &to = *t.results[0].shape;
    boxes().assign(
        1, {box_between(from, begin_, to, kZeros, to.dims, element_bytes(*t.operands[0].value)),
            nullptr});
    return Error::Ok;
  }

 private:
  uint64_t begin_[Shape::kMaxRank] = {};
};

class Concatenate final : public Copies {
 public:
  Concatenate(const OperatorContext& context, const Node& node)
      : Copies("Concatenate (ND)", context),
        axis_(node.as<fb::Concatenate>().axis()),
        operands_(node.operand_count) {}

  Error reshape(const Tensors& t) override {
    boxes().clear();
    uint64_t begin[Shape::kMaxRank] = {};
    for (size_t i = 0; i < operands_; ++i) {
      const Shape& from = *t.operands[i].shape;
      boxes().push_back({box_between(from, kZeros, *t.results[0].shape, begin, from.dims,
                                     element_bytes(*t.operands[i].value)),
                         nullptr});
      begin[axis_] += from.dims[axis_];
    }
    return Error::Ok;
  }

  bool takes_empty_operands() const override { return true; }

 private:
  size_t axis_;
  size_t operands_;
};

/// The bits of the 32-bit integer that is nearest towards zero; 0 for NaN.
uint32_t integer_bits(double number) {
  constexpr double kMin = INT32_MIN, kMax = INT32_MAX;
  return number != number
             ? 0
             : static_cast<uint32_t>(static_cast<int32_t>(std::min(std::max(number, kMin), kMax)));
}

/// The bits of a padding value in the datatype of `value`.
uint32_t padding_bits(float padding, const Value& value) {
  uint32_t bits = 0;
  switch (value.datatype) {
    case Datatype::QInt8:
    case Datatype::QUInt8: {
      const float scaled = padding / value.scale + static_cast<float>(value.zero_point);
      const float low = value.datatype == Datatype::QInt8 ? -128 : 0;
      const long rounded = lrintf(std::min(std::max(scaled, low), low + 255));
      return static_cast<uint8_t>(rounded);
    }
    case Datatype::Float16:
      return executorch::aten::Half(padding).x;
    case Datatype::BFloat16:
      return executorch::aten::BFloat16(padding).x;
    case Datatype::Bool:
      return padding != 0 ? 1 : 0;
    case Datatype::Int32:
      return integer_bits(padding);
    case Datatype::QInt32:
      return integer_bits(rint(double{padding} / double{value.scale} + value.zero_point));
    default:
      memcpy(&bits, &padding, sizeof(bits));
      return bits;
  }
}

class Pad final : public Copies {
 public:
  Pad(const OperatorContext& context, const Node& node)
      : Copies("Constant Pad (ND)", context),
        bits_(padding_bits(node.as<fb::StaticConstantPad>().padding_value(),
                           context.graph.values[node.result()])) {
    const auto* before = node.as<fb::StaticConstantPad>().pre_paddings();
    for (uint32_t d = 0; d < count(before) && d < Shape::kMaxRank; ++d) {
      begin_[d] = before->Get(d);
    }
  }

  Error reshape(const Tensors& t) override {
    const Shape& from = *t.operands[0].shape;
    item_ = element_bytes(*t.results[0].value);
    bytes_ = item_ * static_cast<size_t>(elements(*t.results[0].shape));
    boxes().assign(
        1, {box_between(from, kZeros, *t.results[0].shape, begin_, from.dims, item_), nullptr});
    return Error::Ok;
  }

  bool takes_empty_operands() const override { return true; }

  Error run() override {
    threads().in_parts(bytes_ / item_, kBytesPerTask / item_,
                       [&](size_t first, size_t size) { fill(first, size); });
    return Copies::run();
  }

 private:
  void fill(size_t first, size_t size) const {
    char* const begin = to() + first * item_;
    if (item_ == 1) {
      memset(begin, static_cast<int>(bits_), size);
    } else if (item_ == 2) {
      std::fill_n(reinterpret_cast<uint16_t*>(begin), size, static_cast<uint16_t>(bits_));
    } else {
      std::fill_n(reinterpret_cast<uint32_t*>(begin), size, bits_);
    }
  }

  uint32_t bits_;
  size_t item_ = 1, bytes_ = 0;
  uint64_t begin_[Shape::kMaxRank] = {};
};

/// True if operands and result have equal datatypes and quantizations, and elements of whole bytes.
bool operands_match(const Node& node, const OperatorContext& context) {
  const Value& result = context.graph.values[node.result()];
  for (size_t i = 0; i < node.operand_count; ++i) {
    if (!have_same_elements(context.graph.values[node.operand(i)], result)) {
      return false;
    }
  }
  return true;
}

template <typename Op, typename... Args>
OperatorResult create(const Node& node, const OperatorContext& context, const Args&... args) {
  if (!operands_match(node, context)) {
    return refuse_datatypes(node, context);
  }
  return std::unique_ptr<Operator>(new Op(context, args...));
}

}  // namespace

OperatorResult create_copy(const Node& node, const OperatorContext& context) {
  return create<Copy>(node, context);
}
OperatorResult create_slice(const Node& node, const OperatorContext& context) {
  return create<Slice>(node, context, node);
}
OperatorResult create_pad(const Node& node, const OperatorContext& context) {
  return create<Pad>(node, context, node);
}
OperatorResult create_concatenate(const Node& node, const OperatorContext& context) {
  return create<Concatenate>(node, context, node);
}

}  // namespace executorch::backends::xnnpack
