// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
#include "kernel_entry.h"

#include <executorch/kernels/loops/elementwise/simd_dispatch.h>
#include <executorch/runtime/core/evalue.h>
#include <executorch/runtime/core/exec_aten/exec_aten.h>
#include <executorch/runtime/kernel/operator_registry.h>
#include <executorch/runtime/platform/platform.h>

#include <algorithm>
#include <cstdint>
#include <deque>
#include <string>
#include <vector>

namespace {

namespace aten = executorch::aten;
using executorch::runtime::BoxedEvalueList;
using executorch::runtime::Error;
using executorch::runtime::EValue;

std::string* messages = nullptr;

void keep_message(et_timestamp_t, et_pal_log_level_t, const char*, const char*, size_t,
                  const char* message, size_t) {
  if (messages == nullptr) return;
  *messages += message;
  *messages += '\n';
}

/// The values of one call, and all data that they refer to.
class Arguments {
 public:
  EValue make(const OracleValue& from);
  /// Copies the tensors' sizes and strides after the call to their OracleTensors.
  void write_sizes_back();

 private:
  aten::Tensor tensor(OracleTensor& from);
  template <class T, class Memory>
  struct List {
    std::deque<EValue> items;
    std::vector<EValue*> pointers;
    std::vector<Memory> memory;
    BoxedEvalueList<T> list;
  };
  template <class T, class Memory>
  EValue boxed(const OracleValue& from, std::deque<List<T, Memory>>& lists);

  struct Tensor {
    OracleTensor* origin;
    aten::TensorImpl impl;
  };
  std::deque<Tensor> tensors_;
  std::deque<List<int64_t, int64_t>> int_lists_;
  std::deque<List<aten::Tensor, char>> tensor_lists_;  // Tensor has no default constructor.
  std::deque<List<std::optional<aten::Tensor>, std::optional<aten::Tensor>>> optional_lists_;
  std::deque<std::vector<char>> bytes_;
  std::deque<std::vector<double>> doubles_;
  std::deque<aten::ArrayRef<char>> strings_;
  std::deque<aten::ArrayRef<double>> double_lists_;
  std::deque<aten::ArrayRef<bool>> bool_lists_;
};

aten::Tensor Arguments::tensor(OracleTensor& from) {
  const auto dynamism = from.resizable != 0 ? aten::TensorShapeDynamism::DYNAMIC_BOUND
                                            : aten::TensorShapeDynamism::STATIC;
  tensors_.push_back(
      {&from, aten::TensorImpl(static_cast<aten::ScalarType>(from.dtype), from.rank, from.sizes,
                               from.data, from.dim_order, from.strides, dynamism)});
  return aten::Tensor(&tensors_.back().impl);
}

template <class T, class Memory>
EValue Arguments::boxed(const OracleValue& from, std::deque<List<T, Memory>>& lists) {
  const size_t count = static_cast<size_t>(from.integer);
  auto& list = lists.emplace_back();
  for (size_t i = 0; i < count; ++i) list.items.push_back(make(from.items[i]));
  for (EValue& item : list.items) list.pointers.push_back(item.isNone() ? nullptr : &item);
  list.memory.resize(count * sizeof(T) / sizeof(Memory) + 1);
  list.list = {list.pointers.data(), reinterpret_cast<T*>(list.memory.data()),
               static_cast<int>(count)};
  return EValue(&list.list);
}

EValue Arguments::make(const OracleValue& from) {
  const size_t count = static_cast<size_t>(from.integer);
  switch (from.kind) {
    case kInt:
      return EValue(from.integer);
    case kBool:
      return EValue(from.integer != 0);
    case kDouble:
      return EValue(from.real);
    case kTensor:
      return EValue(tensor(*from.tensor));
    case kString:
      strings_.emplace_back(from.text, count);
      return EValue(&strings_.back());
    case kIntList:
      return boxed(from, int_lists_);
    case kDoubleList: {
      auto& list = doubles_.emplace_back();
      for (size_t i = 0; i < count; ++i) list.push_back(from.items[i].real);
      double_lists_.emplace_back(list.data(), count);
      return EValue(&double_lists_.back());
    }
    case kBoolList: {
      auto& list = bytes_.emplace_back(count);
      for (size_t i = 0; i < count; ++i) list[i] = from.items[i].integer != 0;
      bool_lists_.emplace_back(reinterpret_cast<const bool*>(list.data()), count);
      return EValue(&bool_lists_.back());
    }
    case kTensorList:
      return boxed(from, tensor_lists_);
    case kOptionalTensorList:
      return boxed(from, optional_lists_);
    default:
      return EValue();
  }
}

void Arguments::write_sizes_back() {
  for (Tensor& t : tensors_) {
    for (ssize_t d = 0; d < t.impl.dim(); ++d) {
      t.origin->sizes[d] = static_cast<int32_t>(t.impl.size(d));
      t.origin->strides[d] = static_cast<int32_t>(t.impl.strides()[d]);
    }
  }
}

/// True if the sizes of a tensor value, or of each tensor in a list, are valid.
bool has_valid_sizes(const OracleValue& value) {
  switch (value.kind) {
    case kTensor:
      return aten::safe_numel(value.tensor->sizes, value.tensor->rank).ok();
    case kTensorList:
    case kOptionalTensorList:
      return std::all_of(value.items, value.items + value.integer, has_valid_sizes);
    default:
      return true;
  }
}

}  // namespace

namespace oracle {

KernelRun run_kernel(const char* name, OracleValue* values, int64_t count,
                     executorch::runtime::MemoryAllocator& temp, std::string& log) {
  namespace rt = executorch::runtime;
  static const bool registered [[maybe_unused]] =
      rt::register_pal(rt::PalImpl::create(keep_message, "kernel_entry.cpp"));
  messages = &log;
  if (!std::all_of(values, values + count, has_valid_sizes)) return {Error::InvalidArgument, false};
  Arguments arguments;
  std::deque<EValue> storage;
  std::vector<EValue*> stack;
  for (int64_t i = 0; i < count; ++i) storage.push_back(arguments.make(values[i]));
  for (EValue& value : storage) stack.push_back(&value);

  const auto kernel = rt::find_kernel(name);
  if (!kernel.ok()) return {kernel.error(), false};
  if (kernel.get()->check_ != nullptr) {
    const Error error = kernel.get()->check_(rt::Span<EValue* const>(stack.data(), stack.size()));
    if (error != Error::Ok) return {error, false};
  }
  rt::KernelRuntimeContext context(nullptr, &temp);
  kernel.get()->op_(context, rt::Span<EValue*>(stack.data(), stack.size()));
  arguments.write_sizes_back();
  return {context.failure_state(), true};
}

}  // namespace oracle

extern "C" {

/// oracle::run_kernel for ctypes. `temp` is the kernel's temporary memory. `message` receives the
/// log messages, cut to its size. Returns the Error. Sets `ran` to 0 if the error occurred before
/// the kernel ran, else to 1.
int32_t call_kernel(const char* name, OracleValue* values, int64_t count, uint8_t* temp,
                    int64_t temp_bytes, char* message, int64_t message_bytes, int32_t* ran) {
  executorch::runtime::MemoryAllocator allocator(static_cast<uint32_t>(temp_bytes), temp);
  std::string log;
  const oracle::KernelRun run = oracle::run_kernel(name, values, count, allocator, log);
  *ran = run.ran ? 1 : 0;
  const size_t length = std::min(log.size(), static_cast<size_t>(message_bytes - 1));
  log.copy(message, length);
  message[length] = 0;
  return static_cast<int32_t>(run.error);
}

/// Limits the vectors that kernels use: 1 for those that every processor has, 2 for AVX2, 3 for
/// AVX-512. Returns the previous limit, or 0 if the build or the processor does not support `kind`.
int32_t limit_vectors([[maybe_unused]] int32_t kind) {
#if ET_WIDE_VECTORS
  using executorch::kernels::Vectors;
  const auto before = executorch::kernels::vectors();
  const auto wanted = static_cast<Vectors>(kind);
  if (wanted == Vectors::Unknown || wanted > executorch::kernels::best_vectors()) return 0;
  executorch::kernels::vectors_used = wanted;
  return static_cast<int32_t>(before);
#else
  return 0;
#endif
}

/// The number of registered kernels, and the name of kernel `index`.
int64_t kernel_count() {
  return static_cast<int64_t>(executorch::runtime::registered_kernel_count());
}
const char* kernel_name(int64_t index) {
  return executorch::runtime::registered_kernel(static_cast<size_t>(index)).name_;
}

}  // extern "C"
