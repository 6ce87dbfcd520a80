// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
#include "backends/demo_backend.h"

#include <cmath>
#include <cstring>

#include <executorch/runtime/backend/interface.h>
#include <executorch/runtime/core/exec_aten/exec_aten.h>
#include <executorch/runtime/core/exec_aten/util/tensor_checks.h>
#include <executorch/runtime/platform/log.h>

#include "backends/demo_payload.h"

namespace executorch::demo {
namespace {

using aten::ScalarType;
using aten::Tensor;
using runtime::BackendExecutionContext;
using runtime::BackendInitContext;
using runtime::CompileSpec;
using runtime::DelegateHandle;
using runtime::Error;
using runtime::EValue;
using runtime::FreeableBuffer;
using runtime::Result;
using runtime::Span;

size_t elements(const Value& value) {
  size_t count = 1;
  for (size_t i = 0; i < value.rank; ++i) {
    count *= static_cast<size_t>(value.sizes[i]);
  }
  return count;
}

Error set_sizes(Value& value, const int32_t* sizes, size_t rank) {
  size_t count = 1;
  for (size_t i = 0; i < rank; ++i) {
    value.sizes[i] = sizes[i];
    count *= static_cast<size_t>(sizes[i]);
  }
  value.rank = rank;
  ET_CHECK_OR_RETURN_ERROR(count <= value.capacity, InvalidArgument,
                           "demo backend: a result of %zu elements, planned for at most %zu", count,
                           value.capacity);
  return Error::Ok;
}

/// The size of `value` in dimension `dim` of a result of rank `rank`, aligned at the last
/// dimension.
int32_t aligned_size(const Value& value, size_t dim, size_t rank) {
  const size_t missing = rank - value.rank;
  return dim < missing ? 1 : value.sizes[dim - missing];
}

template <typename Function>
Error pointwise(const Value& a, const Value& b, Value& out, Function function) {
  const size_t rank = a.rank > b.rank ? a.rank : b.rank;
  int32_t sizes[kMaxRank] = {};
  size_t step_a[kMaxRank] = {}, step_b[kMaxRank] = {};
  size_t stride_a = 1, stride_b = 1;
  for (size_t i = rank; i-- > 0;) {
    const int32_t size_a = aligned_size(a, i, rank), size_b = aligned_size(b, i, rank);
    ET_CHECK_OR_RETURN_ERROR(size_a == size_b || size_a == 1 || size_b == 1, InvalidArgument,
                             "demo backend: sizes %d and %d of dimension %zu do not match",
                             static_cast<int>(size_a), static_cast<int>(size_b), i);
    sizes[i] = size_a == 1 ? size_b : size_a;
    step_a[i] = size_a == 1 ? 0 : stride_a;
    step_b[i] = size_b == 1 ? 0 : stride_b;
    stride_a *= static_cast<size_t>(size_a);
    stride_b *= static_cast<size_t>(size_b);
  }
  ET_CHECK_OK_OR_RETURN_ERROR(set_sizes(out, sizes, rank));
  const size_t count = elements(out);
  for (size_t place = 0; place < count; ++place) {
    size_t rest = place, at_a = 0, at_b = 0;
    for (size_t i = rank; i-- > 0;) {
      const size_t size = static_cast<size_t>(sizes[i]);
      at_a += rest % size * step_a[i];
      at_b += rest % size * step_b[i];
      rest /= size;
    }
    out.data[place] = function(a.data[at_a], b.data[at_b]);
  }
  return Error::Ok;
}

/// rows x depth times depth x columns; `b` is stored columns x depth if `transposed`.
Error matmul(const Value& a, const Value& b, const Value* bias, bool transposed, Value& out) {
  ET_CHECK_OR_RETURN_ERROR(a.rank >= 1 && b.rank == 2 &&
                               a.sizes[a.rank - 1] == b.sizes[transposed ? 1 : 0] &&
                               (transposed || a.rank == 2),
                           InvalidArgument, "demo backend: the sizes of the matrices do not match");
  const size_t depth = static_cast<size_t>(a.sizes[a.rank - 1]);
  const size_t columns = static_cast<size_t>(b.sizes[transposed ? 0 : 1]);
  ET_CHECK_OR_RETURN_ERROR(bias == nullptr || elements(*bias) == columns, InvalidArgument,
                           "demo backend: expected a bias of %zu elements", columns);
  int32_t sizes[kMaxRank] = {};
  memcpy(sizes, a.sizes, sizeof(sizes));
  sizes[a.rank - 1] = static_cast<int32_t>(columns);
  ET_CHECK_OK_OR_RETURN_ERROR(set_sizes(out, sizes, a.rank));
  const size_t count = elements(out);
  for (size_t place = 0; place < count; ++place) {
    const size_t row = place / columns, column = place % columns;
    float sum = bias == nullptr ? 0 : bias->data[column];
    for (size_t k = 0; k < depth; ++k) {
      sum +=
          a.data[row * depth + k] * b.data[transposed ? column * depth + k : k * columns + column];
    }
    out.data[place] = sum;
  }
  return Error::Ok;
}

Error run_step(const Step& step, Span<Value> values) {
  const Value& a = values[step.operands[0]];
  const Value& b = values[step.operands[step.operand_count > 1 ? 1 : 0]];
  Value& out = values[step.result];
  const float alpha = step.alpha;
  switch (step.operation) {
    case Operation::kAdd:
      return pointwise(a, b, out, [alpha](float x, float y) { return x + alpha * y; });
    case Operation::kSub:
      return pointwise(a, b, out, [alpha](float x, float y) { return x - alpha * y; });
    case Operation::kMul:
      return pointwise(a, b, out, [](float x, float y) { return x * y; });
    case Operation::kSin:
      return pointwise(a, a, out, [](float x, float) { return std::sin(x); });
    case Operation::kMm:
      return matmul(a, b, nullptr, /*transposed=*/false, out);
    case Operation::kLinear:
      return matmul(a, b, step.operand_count == 3 ? &values[step.operands[2]] : nullptr,
                    /*transposed=*/true, out);
  }
  return Error::Internal;
}

Error take_input(const EValue& argument, Value& value) {
  ET_CHECK_OR_RETURN_ERROR(argument.isTensor(), InvalidType, "demo backend: expected a tensor");
  const Tensor& tensor = argument.toTensor();
  ET_CHECK_OR_RETURN_ERROR(
      tensor.scalar_type() == ScalarType::Float && static_cast<size_t>(tensor.dim()) <= kMaxRank,
      InvalidArgument, "demo backend: expected float of at most %zu dimensions", kMaxRank);
  // The const_cast is safe: the payload's values share one pointer type, and inputs are only read.
  value.data = const_cast<float*>(tensor.const_data_ptr<float>());
  return set_sizes(value, tensor.sizes().data(), static_cast<size_t>(tensor.dim()));
}

Error give_output(const Value& value, EValue& argument) {
  ET_CHECK_OR_RETURN_ERROR(argument.isTensor(), InvalidType, "demo backend: expected a tensor");
  Tensor tensor = argument.toTensor();
  ET_CHECK_OR_RETURN_ERROR(tensor.scalar_type() == ScalarType::Float, InvalidArgument,
                           "demo backend: expected a float output");
  ET_CHECK_OK_OR_RETURN_ERROR(
      runtime::resize_tensor(tensor, runtime::ArrayRef<aten::SizesType>(value.sizes, value.rank)));
  memcpy(tensor.mutable_data_ptr<float>(), value.data, elements(value) * sizeof(float));
  return Error::Ok;
}

class DemoBackend final : public runtime::BackendInterface {
 public:
  bool is_available() const override { return true; }

  Result<DelegateHandle*> init(BackendInitContext& context, FreeableBuffer* processed,
                               runtime::ArrayRef<CompileSpec>) const override {
    Result<Payload*> payload =
        read_payload(processed->data(), processed->size(), *context.get_runtime_allocator(),
                     context.get_named_data_map());
    if (!payload.ok()) {
      return payload.error();
    }
    processed->Free();
    return static_cast<DelegateHandle*>(payload.get());
  }

  Error execute(BackendExecutionContext&, DelegateHandle* handle,
                Span<EValue*> args) const override {
    Payload& payload = *static_cast<Payload*>(handle);
    const size_t inputs = payload.inputs.size();
    ET_CHECK_OR_RETURN_ERROR(args.size() == inputs + payload.outputs.size(), InvalidArgument,
                             "demo backend: expected %zu arguments, found %zu",
                             inputs + payload.outputs.size(), args.size());
    for (size_t i = 0; i < inputs; ++i) {
      ET_CHECK_OK_OR_RETURN_ERROR(take_input(*args[i], payload.values[payload.inputs[i]]));
    }
    for (const Step& step : payload.steps) {
      ET_CHECK_OK_OR_RETURN_ERROR(run_step(step, payload.values));
    }
    for (size_t i = 0; i < payload.outputs.size(); ++i) {
      ET_CHECK_OK_OR_RETURN_ERROR(
          give_output(payload.values[payload.outputs[i]], *args[inputs + i]));
    }
    for (const Update& update : payload.updates) {
      const Value& value = payload.values[update.value];
      memcpy(payload.values[update.state].data, value.data, elements(value) * sizeof(float));
    }
    return Error::Ok;
  }
};

}  // namespace

Error register_demo_backend() {
  static DemoBackend backend;
  for (const char* name : kDemoBackendNames) {
    ET_CHECK_OK_OR_RETURN_ERROR(runtime::register_backend({name, &backend}));
  }
  return Error::Ok;
}

}  // namespace executorch::demo
