// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// Operators that run on XNNPACK's public operator API.
#pragma once

#include <memory>

#include <xnnpack.h>

#include <executorch/backends/xnnpack/runtime/operators/operator.h>
#include <executorch/backends/xnnpack/runtime/operators/xnnpack/status.h>

namespace executorch::backends::xnnpack {

struct XnnOperatorDeleter {
  void operator()(xnn_operator_t op) const { xnn_delete_operator(op); }
};
using XnnHandle = std::unique_ptr<xnn_operator, XnnOperatorDeleter>;

/// A pointer that converts to the argument types of XNNPACK's typed functions.
struct AnyPointer {
  const void* pointer;

  template <typename T>
  operator T*() const {  // NOLINT(google-explicit-constructor)
    return static_cast<T*>(const_cast<void*>(pointer));
  }
};

inline AnyPointer any(const void* pointer) { return {pointer}; }

/// Parameters of rows in XNNPACK's type.
inline xnn_quantization_params* xnn_row_parameters(const TensorRef& tensor) {
  static_assert(sizeof(RowQuantization) == sizeof(xnn_quantization_params) &&
                offsetof(RowQuantization, scale) == offsetof(xnn_quantization_params, scale));
  return reinterpret_cast<xnn_quantization_params*>(row_parameters(tensor));
}
static_assert(kReadBeyond >= XNN_EXTRA_BYTES);
static_assert(Shape::kMaxRank == XNN_MAX_TENSOR_DIMS);

/// The cache of packed weights in XNNPACK's type; null if operators own their weights.
xnn_weights_cache_t weights_cache(const OperatorContext& context);

/// The datatype of XNNPACK; xnn_datatype_invalid for one that it lacks.
xnn_datatype xnn_datatype_of(Datatype datatype);

xnn_quantization_params quantization_of(const Value& value);

/// A shape's sizes in XNNPACK's type.
struct XnnDims {
  explicit XnnDims(const Shape& shape);

  size_t count;
  size_t dims[XNN_MAX_TENSOR_DIMS] = {};
};

class XnnOperator : public Operator {
 public:
  runtime::Error reshape(const Tensors& tensors) final {
    scratch_ = 0;
    alignment_ = 1;
    const xnn_status status = reshape_xnn(tensors);
    set_scratch(scratch_ + (alignment_ > 64 ? alignment_ : 0));
    return status_error(status);
  }
  runtime::Error bind(const Tensors& tensors) final { return status_error(setup_xnn(tensors)); }
  runtime::Error run() override { return status_error(xnn_run_operator(handle_.get(), threads_)); }

 protected:
  XnnOperator(const char* label, const OperatorContext& context, xnn_operator_t handle)
      : Operator(label), threads_(context.threads), handle_(handle) {}

  virtual xnn_status reshape_xnn(const Tensors& tensors) = 0;
  virtual xnn_status setup_xnn(const Tensors& tensors) = 0;

  xnn_operator_t handle() const { return handle_.get(); }
  void replace(xnn_operator_t handle) { handle_.reset(handle); }
  pthreadpool_t threads() const { return threads_; }
  size_t* scratch_size() { return &scratch_; }
  size_t* scratch_alignment() { return &alignment_; }

 private:
  pthreadpool_t threads_;
  XnnHandle handle_;
  size_t scratch_ = 0, alignment_ = 1;
};

/// Logs a message that names the node, and returns the error of a failed creation.
runtime::Error creation_error(const Node& node, xnn_status status);

/// Wraps a created handle as a `Derived`.
template <typename Derived, typename... Args>
OperatorResult wrap_xnn(const Node& node, xnn_status status, xnn_operator_t handle,
                        Args&&... args) {
  XnnHandle owned(handle);
  if (status != xnn_status_success) {
    return creation_error(node, status);
  }
  auto* created = new Derived(std::forward<Args>(args)..., owned.get());
  (void)owned.release();
  return std::unique_ptr<Operator>(created);
}

}  // namespace executorch::backends::xnnpack
