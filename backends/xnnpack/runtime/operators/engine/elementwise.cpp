// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// Functions of each element, and of rows, of float32 on the engine.
#include <inttypes.h>

#include <algorithm>

#include <executorch/backends/xnnpack/runtime/operators/engine/engine_operator.h>
#include <executorch/backends/xnnpack/runtime/operators/families.h>
#include <executorch/backends/xnnpack/runtime/payload/shapes.h>
#include <executorch/kernels/engine/eltwise/rotary.h>
#include <executorch/kernels/engine/norm/norm.h>
#include <executorch/kernels/engine/softmax/softmax.h>
#include <executorch/runtime/platform/log.h>

namespace executorch::backends::xnnpack {

using runtime::Error;

namespace {

namespace fb = fb_xnnpack;

struct UnaryRow {
  NodeKind kind;
  engine::Unary function;
};
constexpr UnaryRow kUnary[] = {
    {NodeKind::Sigmoid, engine::Unary::Sigmoid},
    {NodeKind::Clamp, engine::Unary::Clamp},
    {NodeKind::Floor, engine::Unary::Floor},
    {NodeKind::SquareRoot, engine::Unary::Sqrt},
    {NodeKind::Ceiling, engine::Unary::Ceil},
    {NodeKind::Hardswish, engine::Unary::Hardswish},
    {NodeKind::LeakyReLU, engine::Unary::LeakyRelu},
    {NodeKind::Negate, engine::Unary::Negate},
    {NodeKind::Square, engine::Unary::Square},
    {NodeKind::ELU, engine::Unary::Elu},
    {NodeKind::Abs, engine::Unary::Abs},
    {NodeKind::ReciprocalSquareRoot, engine::Unary::Rsqrt},
    {NodeKind::Log, engine::Unary::Log},
    {NodeKind::Gelu, engine::Unary::Gelu},
    {NodeKind::Tanh, engine::Unary::Tanh},
    {NodeKind::Exp, engine::Unary::Exp},
    {NodeKind::Sin, engine::Unary::Sin},
    {NodeKind::Cos, engine::Unary::Cos},
    {NodeKind::BankersRounding, engine::Unary::Round},
    {NodeKind::Sign, engine::Unary::Sign},
};

struct BinaryRow {
  NodeKind kind;
  engine::Binary function;
};
constexpr BinaryRow kBinary[] = {
    {NodeKind::Add, engine::Binary::Add},           {NodeKind::Subtract, engine::Binary::Subtract},
    {NodeKind::Multiply, engine::Binary::Multiply}, {NodeKind::Div, engine::Binary::Divide},
    {NodeKind::Minimum, engine::Binary::Minimum},   {NodeKind::Maximum, engine::Binary::Maximum},
    {NodeKind::PReLU, engine::Binary::Prelu},       {NodeKind::CopySign, engine::Binary::CopySign},
};

class Unary final : public EngineOperator {
 public:
  Unary(const Node& node, const OperatorContext& context, engine::Unary function)
      : EngineOperator("Unary Elementwise (NC, F32)", context) {
    call_.function = function;
    if (node.fused != Fused::No) {
      return;
    }
    if (node.kind == NodeKind::Clamp) {
      call_.a = node.clamp.min;
      call_.b = node.clamp.max;
    } else if (node.kind == NodeKind::LeakyReLU) {
      call_.a = node.as<fb::LeakyReLU>().negative_slope();
    } else if (node.kind == NodeKind::ELU) {
      call_.a = node.as<fb::ELU>().alpha();
    }
  }

  bool may_overwrite(size_t) const override { return true; }

  Error reshape(const Tensors& t) override {
    call_.count = static_cast<size_t>(elements(*t.operands[0].shape));
    return Error::Ok;
  }
  Error run() override {
    call_.in = operand(0);
    call_.out = result();
    engine::unary(call_, threads());
    return Error::Ok;
  }

 private:
  engine::UnaryCall call_;
};

class Binary final : public EngineOperator {
 public:
  Binary(const Node& node, const OperatorContext& context, engine::Binary function)
      : EngineOperator("Binary Elementwise (ND, F32)", context) {
    call_.function = function;
    call_.clamp_min = node.clamp.min;
    call_.clamp_max = node.clamp.max;
  }

  bool may_overwrite(size_t operand) const override { return is_whole_[operand]; }

  Error reshape(const Tensors& t) override {
    const Shape& shape = *t.results[0].shape;
    call_.rank = shape.rank;
    std::copy_n(shape.dims, shape.rank, sizes_);
    for (size_t i = 0; i < 2; ++i) {
      broadcast_strides(*t.operands[i].shape, shape, strides_[i]);
      is_whole_[i] = elements(*t.operands[i].shape) == elements(shape);
    }
    call_.sizes = sizes_;
    call_.left_strides = strides_[0];
    call_.right_strides = strides_[1];
    return Error::Ok;
  }
  Error run() override {
    call_.left = operand(0);
    call_.right = operand(1);
    call_.out = result();
    engine::binary(call_, threads());
    return Error::Ok;
  }

 private:
  engine::BinaryCall call_;
  size_t sizes_[Shape::kMaxRank], strides_[2][Shape::kMaxRank];
  bool is_whole_[2] = {};
};

class Softmax final : public EngineOperator {
 public:
  explicit Softmax(const OperatorContext& context) : EngineOperator("Softmax (NC, F32)", context) {}

  bool may_overwrite(size_t) const override { return true; }

  Error reshape(const Tensors& t) override {
    const Shape& shape = *t.operands[0].shape;
    call_.length = static_cast<size_t>(shape.dims[shape.rank - 1]);
    call_.rows = static_cast<size_t>(elements(shape)) / call_.length;
    call_.in_stride = call_.out_stride = call_.length;
    return Error::Ok;
  }
  Error run() override {
    call_.in = operand(0);
    call_.out = result();
    engine::softmax(call_, threads());
    return Error::Ok;
  }

 private:
  engine::SoftmaxCall call_;
};

/// Layer norms and RMS norms.
class Norm final : public EngineOperator {
 public:
  Norm(const Node& node, const OperatorContext& context)
      : EngineOperator(label_of(node), context),
        function_(node.fused == Fused::RmsNorm ? engine::rms_norm : engine::layer_norm) {
    call_.length = node.norm_length;
    call_.epsilon = node.epsilon;
  }

  bool may_overwrite(size_t operand) const override { return operand == 0; }

  Error reshape(const Tensors& t) override {
    const uint64_t total = elements(*t.operands[0].shape);
    call_.rows = static_cast<size_t>(total) / call_.length;
    // The graph was fused by its declared sizes. Smaller means may broadcast.
    ET_CHECK_OR_RETURN_ERROR(
        elements(*t.results[0].shape) == total && call_.rows * call_.length == total,
        InvalidArgument,
        "xnnpack: a norm of rows of %zu elements has %" PRIu64 " elements and its result %" PRIu64
        "; expected complete rows and an equal number of elements in the result",
        call_.length, total, elements(*t.results[0].shape));
    return Error::Ok;
  }
  Error run() override {
    call_.in = operand(0);
    call_.weight = operand(1);
    call_.bias = operand(2);
    call_.out = result();
    function_(call_, threads(), engine::instruction_set());
    return Error::Ok;
  }

 private:
  static const char* label_of(const Node& node) {
    return node.fused == Fused::RmsNorm ? "RMS Norm (NC, F32)" : "Layer Norm (NC, F32)";
  }

  void (*function_)(const engine::NormCall&, engine::Threads&, engine::InstructionSet);
  engine::NormCall call_;
};

class Rotary final : public EngineOperator {
 public:
  Rotary(const Node& node, const OperatorContext& context)
      : EngineOperator("Rotary Embedding (ND, F32)", context) {
    call_.pairs = node.rotated_pairs;
    call_.is_interleaved = node.pairs_are_neighbors;
    call_.second = node.has_tables_of_channels ? node.rotated_pairs : 0;
  }

  bool may_overwrite(size_t operand) const override { return operand == 0 && is_whole_; }

  Error reshape(const Tensors& t) override {
    const Shape& shape = *t.results[0].shape;
    call_.rank = shape.rank - 1;
    call_.channels = static_cast<size_t>(shape.dims[shape.rank - 1]);
    std::copy_n(shape.dims, call_.rank, sizes_);
    // The graph was fused by its declared sizes.
    const uint64_t table = call_.second == 0 ? call_.pairs : 2 * call_.pairs;
    const bool fits = call_.channels >= 2 * call_.pairs &&
                      are_rows_of(*t.operands[0].shape, call_.channels, shape) &&
                      are_rows_of(*t.operands[1].shape, table, shape) &&
                      are_rows_of(*t.operands[2].shape, table, shape);
    ET_CHECK_OR_RETURN_ERROR(
        fits, InvalidArgument,
        "xnnpack: a rotary embedding of %zu channels has tables of another size; expected %" PRIu64
        " in the last dimension",
        call_.channels, table);
    for (size_t i = 0; i < 3; ++i) {
      broadcast_strides(*t.operands[i].shape, shape, strides_[i]);
    }
    is_whole_ = elements(*t.operands[0].shape) == elements(shape);
    call_.sizes = sizes_;
    call_.in_strides = strides_[0];
    call_.cos_strides = strides_[1];
    call_.sin_strides = strides_[2];
    return Error::Ok;
  }
  Error run() override {
    call_.in = operand(0);
    call_.cos = operand(1);
    call_.sin = operand(2);
    call_.out = result();
    engine::rotate_pairs(call_, threads());
    return Error::Ok;
  }

 private:
  engine::RotaryCall call_;
  size_t sizes_[Shape::kMaxRank] = {}, strides_[3][Shape::kMaxRank] = {};
  bool is_whole_ = false;
};

}  // namespace

OperatorResult create_unary(const Node& node, const OperatorContext& context) {
  if (!is_float32(node, context)) {
    return create_xnn_unary(node, context);
  }
  for (const UnaryRow& row : kUnary) {
    if (row.kind == node.kind) {
      return std::unique_ptr<Operator>(std::make_unique<Unary>(node, context, row.function));
    }
  }
  return refuse_datatypes(node, context);
}

OperatorResult create_binary(const Node& node, const OperatorContext& context) {
  if (!is_float32(node, context)) {
    return create_xnn_binary(node, context);
  }
  for (const BinaryRow& row : kBinary) {
    if (row.kind == node.kind) {
      return std::unique_ptr<Operator>(std::make_unique<Binary>(node, context, row.function));
    }
  }
  return refuse_datatypes(node, context);
}

OperatorResult create_softmax(const Node& node, const OperatorContext& context) {
  if (!is_float32(node, context)) {
    return refuse_datatypes(node, context);
  }
  return std::unique_ptr<Operator>(std::make_unique<Softmax>(context));
}

OperatorResult create_fused(const Node& node, const OperatorContext& context) {
  switch (node.fused) {
    case Fused::Silu:
      return std::unique_ptr<Operator>(std::make_unique<Unary>(node, context, engine::Unary::Silu));
    case Fused::SiluProduct:
      return std::unique_ptr<Operator>(
          std::make_unique<Binary>(node, context, engine::Binary::SiluProduct));
    case Fused::Rotary:
      return std::unique_ptr<Operator>(std::make_unique<Rotary>(node, context));
    case Fused::PlaneConvolution:
      return create_planes(node, context);
    case Fused::Attention:
      return create_attention(node, context);
    case Fused::Lookup:
      return create_lookup(node, context);
    default:
      return std::unique_ptr<Operator>(std::make_unique<Norm>(node, context));
  }
}

}  // namespace executorch::backends::xnnpack
