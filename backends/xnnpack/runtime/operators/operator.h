// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// An operator runs a node. create() packs weights once; reshape() is called when shapes change,
// bind() when memory moves, and run() for each execution.
#pragma once

#include <stddef.h>

#include <memory>

#include <executorch/backends/xnnpack/runtime/graph/graph.h>
#include <executorch/backends/xnnpack/runtime/graph/read_beyond.h>
#include <executorch/backends/xnnpack/runtime/weights/weights_session.h>
#include <executorch/extension/threadpool/threadpool.h>
#include <executorch/kernels/engine/eltwise/quantize_rows.h>
#include <executorch/kernels/engine/precision.h>
#include <executorch/runtime/core/error.h>
#include <executorch/runtime/core/result.h>

namespace executorch::backends::xnnpack {

/// A value as an operator sees it.
struct TensorRef {
  const Value* value = nullptr;
  const Shape* shape = nullptr;
  /// Null until memory is bound. For a dynamically quantized value: its integers, followed by
  /// row_parameters().
  void* data = nullptr;

  explicit operator bool() const { return value != nullptr; }
};

struct Tensors {
  TensorRef operands[Node::kMaxOperands];
  TensorRef results[2];
  TensorRef residual;
  /// Only its shape: see Node::unfused.
  TensorRef unfused;
  /// scratch_bytes(), aligned to 64; null if that is 0.
  void* scratch = nullptr;
};

/// The context of an operator's creation.
struct OperatorContext {
  const Graph& graph;
  /// Null: the operator owns its packed weights.
  WeightsSession* weights = nullptr;
  pthreadpool_t threads = nullptr;
};

class Operator {
 public:
  virtual ~Operator() = default;
  Operator(const Operator&) = delete;
  Operator& operator=(const Operator&) = delete;

  /// Prepares for tensors of these shapes, without data.
  virtual runtime::Error reshape(const Tensors& tensors) = 0;
  /// Binds the memory of tensors, which have the shapes of the last reshape().
  virtual runtime::Error bind(const Tensors& tensors) = 0;
  virtual runtime::Error run() = 0;

  /// True if the first result may overwrite this operand, provided that the operand has equal size
  /// and no later reader. Valid after reshape().
  virtual bool may_overwrite(size_t operand) const {
    (void)operand;
    return false;
  }
  /// True if the operator accepts empty operands when its result has elements.
  virtual bool takes_empty_operands() const { return false; }
  /// Valid after reshape().
  size_t scratch_bytes() const { return scratch_bytes_; }
  /// The name in profiles.
  const char* label() const { return label_; }
  /// The precision to which it rounds the factors of float32 products. Valid after reshape().
  kernels::engine::Precision precision() const { return precision_; }

 protected:
  explicit Operator(const char* label) : label_(label) {}
  void set_scratch(size_t bytes) { scratch_bytes_ = bytes; }
  void set_precision(kernels::engine::Precision precision) { precision_ = precision; }

 private:
  const char* label_;
  size_t scratch_bytes_ = 0;
  kernels::engine::Precision precision_ = kernels::engine::Precision::Float32;
};

using OperatorResult = runtime::Result<std::unique_ptr<Operator>>;

/// The operand of a node; kNoValue gives an empty reference.
TensorRef tensor_ref(const Graph& graph, uint32_t id);

/// True if an element can be copied from one value to the other without conversion.
bool have_same_elements(const Value& a, const Value& b);

/// A clamp in the integers of a quantized result.
template <typename T>
struct IntegerClamp {
  T min, max;
};
template <typename T>
IntegerClamp<T> quantized_clamp(const Clamp& clamp, const Value& result);
extern template IntegerClamp<int8_t> quantized_clamp<int8_t>(const Clamp&, const Value&);
extern template IntegerClamp<uint8_t> quantized_clamp<uint8_t>(const Clamp&, const Value&);

/// Quantization parameters of a row of a dynamically quantized tensor.
using RowQuantization = executorch::kernels::engine::RowQuantization;

/// Number of copies of the last row's parameters after it: XNNPACK's kernels of up to 16 rows
/// compute the last row again in place of absent rows, with the parameters at the absent rows'
/// places.
constexpr size_t kExtraRowParameters = 16;

/// One for each row; they follow the tensor's integers.
RowQuantization* row_parameters(const TensorRef& tensor);
size_t row_parameter_offset(const Value& value, const Shape& shape);
/// The number of rows. Elements of a row share parameters.
size_t row_count(const Value& value, const Shape& shape);

}  // namespace executorch::backends::xnnpack
