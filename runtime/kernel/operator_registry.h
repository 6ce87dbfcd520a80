// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// Registry of kernels by operator.
//
// Kernels are registered as tables in constant memory (kernel libraries; kept by reference) or one
// by one (custom kernels; copied). A kernel with a key applies only to certain dtypes and dim
// orders and takes precedence over the fallback without a key.
//
// Registration is not thread-safe and must precede loading of programs. Lookup is thread-safe.
#pragma once

#include <stddef.h>
#include <stdint.h>

#include <executorch/runtime/core/evalue.h>
#include <executorch/runtime/core/result.h>
#include <executorch/runtime/core/span.h>
#include <executorch/runtime/kernel/kernel_runtime_context.h>
#include <executorch/runtime/platform/log.h>

namespace executorch {
namespace ET_RUNTIME_NAMESPACE {

/// A kernel behind one type: the arguments of the operator's schema in order, outputs last.
using OpFunction = void (*)(KernelRuntimeContext&, Span<EValue*>);

/// Checks that the arguments are of the number and kinds that the kernel takes: Ok, or
/// InvalidArgument (number) or InvalidType (kind) after a log message with the argument's index and
/// the kinds expected and found. Ignores further arguments: programs repeat an operator's result
/// there. Runs once, when a program is loaded; the kernel checks none of it.
using ArgCheck = Error (*)(Span<EValue* const> args);

/// The dtype and dim order of one tensor argument. The dim order must outlive it.
struct TensorMeta {
  executorch::aten::ScalarType dtype_ = executorch::aten::ScalarType::Undefined;
  Span<executorch::aten::DimOrderType> dim_order_;

  TensorMeta() = default;
  TensorMeta(executorch::aten::ScalarType dtype, Span<executorch::aten::DimOrderType> dim_order)
      : dtype_(dtype), dim_order_(dim_order) {}

  bool equals(const TensorMeta& other) const;
  bool operator==(const TensorMeta& other) const { return equals(other); }
  bool operator!=(const TensorMeta& other) const { return !equals(other); }
};

/// Tensors to which a kernel applies. Empty: all (fallback). Otherwise a text with dtype number and
/// dim order of each tensor argument in order, such as "v1/6;0,1|6;0,1". The last argument, `out`,
/// may be repeated for the operator's result. The text must outlive the key.
struct KernelKey {
 public:
  constexpr KernelKey() = default;
  /* implicit */ constexpr KernelKey(const char* text) : text_(text) {}

  bool is_fallback() const { return text_ == nullptr; }
  const char* data() const { return text_; }
  bool equals(const KernelKey& other) const;
  bool operator==(const KernelKey& other) const { return equals(other); }
  bool operator!=(const KernelKey& other) const { return !equals(other); }

 private:
  const char* text_ = nullptr;
};

/// An implementation of an operator. runtime/kernel/boxing.h makes one from a typed function.
struct Kernel {
  /// Namespace, name and overload, as "aten::add.out"; must outlive the kernel.
  const char* name_ = nullptr;
  KernelKey kernel_key_;
  OpFunction op_ = nullptr;
  /// May be null: the kernel then checks its arguments itself.
  ArgCheck check_ = nullptr;
  /// Bit i, for the first 62 arguments: the kernel writes to the tensors of argument i, which must
  /// not be constants of the program. Without any such bit, the last argument counts as written.
  /// The other two bits are the options kDisjoint and kDisjointButFirst.
  uint64_t written_ = 0;

  /// Operands must not share memory with a written tensor, because the kernel reads and writes in
  /// no certain order. Without this bit, an operand may have exactly the memory of a written
  /// tensor.
  static constexpr uint64_t kDisjoint = uint64_t{1} << 63;
  /// With kDisjoint: only the first argument may have exactly the memory of a written tensor.
  static constexpr uint64_t kDisjointButFirst = uint64_t{1} << 62;
  static constexpr size_t kOptionBits = 2;
  static constexpr size_t kMaxWritten = 64 - kOptionBits;

  /// The same kernel with these bits.
  constexpr Kernel with(uint64_t bits) const {
    Kernel kernel = *this;
    kernel.written_ |= bits;
    return kernel;
  }

  constexpr Kernel() = default;
  explicit constexpr Kernel(const char* name, OpFunction op, ArgCheck check = nullptr)
      : name_(name), op_(op), check_(check) {}
  explicit constexpr Kernel(const char* name, KernelKey key, OpFunction op,
                            ArgCheck check = nullptr)
      : name_(name), kernel_key_(key), op_(op), check_(check) {}
};

namespace internal {

/// Enough for the key of 16 tensors of rank 16 and its NUL.
constexpr size_t kKernelKeyBufSize = 659;

/// Writes the text of a key; an empty list makes an empty text. InvalidArgument if it does not fit
/// `buf_size` or a rank is above 16.
Error make_kernel_key_string(Span<const TensorMeta> key, char* buf, size_t buf_size);

}  // namespace internal

/// Precedence among kernels of equal name and key.
enum class KernelPriority : uint8_t {
  /// The ordinary one.
  Default,
  /// Found before any ordinary one: another library's.
  Preferred,
  /// Found before any other: a faster implementation.
  Override,
};

/// Copies the kernels into the registry, which has room for MAX_KERNEL_NUM (default 256). Names and
/// keys must outlive the program. RegistrationAlreadyRegistered for a duplicate name and key,
/// RegistrationExceedingMaxKernels if the registry is full; on an error nothing is registered.
[[nodiscard]] Error register_kernels(Span<const Kernel> kernels);
[[nodiscard]] inline Error register_kernel(const Kernel& kernel) {
  return register_kernels(Span<const Kernel>(&kernel, 1));
}

/// Registers a table by reference; it must outlive the program. There is room for 16 tables. A
/// table sorted by name is searched by bisection. Errors as register_kernels(); tables of different
/// priority may repeat a name and key.
[[nodiscard]] Error register_kernel_table(Span<const Kernel> table,
                                          KernelPriority priority = KernelPriority::Default);

/// The kernel for an operator and the dtypes and dim orders of its tensor arguments: a specialized
/// one, else a fallback, and of each an overriding one first. OperatorMissing if there is none. The
/// pointer is valid until the next registration.
Result<const Kernel*> find_kernel(const char* name, Span<const TensorMeta> meta_list = {});

/// True if a kernel would be found.
bool registry_has_op_function(const char* name, Span<const TensorMeta> meta_list = {});

/// The function of that kernel; OperatorMissing if there is none.
Result<OpFunction> get_op_function_from_registry(const char* name,
                                                 Span<const TensorMeta> meta_list = {});
/// The same, searching `kernel_list` only.
Result<OpFunction> get_op_function_from_registry(const char* name, Span<const TensorMeta> meta_list,
                                                 Span<const Kernel> kernel_list);

/// All registered kernels, in no particular order: registered_kernel(0) to
/// registered_kernel(registered_kernel_count() - 1).
size_t registered_kernel_count();
const Kernel& registered_kernel(size_t index);

/// Returns all kernels as one list. It is the list of register_kernels() if no table was
/// registered, else a copy that the next call after a registration replaces; empty if
/// et_pal_allocate fails.
Span<const Kernel> get_registered_kernels();

}  // namespace ET_RUNTIME_NAMESPACE
}  // namespace executorch

/// Logs a kernel's key. The macro ends its statement, as the documented one does.
#define ET_LOG_KERNEL_KEY(k)                                                          \
  ET_LOG(Info, "key: %s, is_fallback: %s", (k).is_fallback() ? "(null)" : (k).data(), \
         (k).is_fallback() ? "true" : "false");

/// Logs the dtype and the dim order of each TensorMeta.
#define ET_LOG_TENSOR_META(meta_list)                                                          \
  for (const auto& et_meta : meta_list) {                                                      \
    ET_LOG(Info, "dtype: %d | dim order of %zu dimensions:", static_cast<int>(et_meta.dtype_), \
           static_cast<size_t>(et_meta.dim_order_.size()));                                    \
    for ([[maybe_unused]] const auto et_dim : et_meta.dim_order_) {                            \
      ET_LOG(Info, "%d", static_cast<int>(et_dim));                                            \
    }                                                                                          \
  }

// Documented names of the same things.
namespace torch::executor {
using ::executorch::runtime::get_op_function_from_registry;
using ::executorch::runtime::Kernel;
using ::executorch::runtime::KernelKey;
using ::executorch::runtime::OpFunction;
using ::executorch::runtime::register_kernel;
using ::executorch::runtime::registry_has_op_function;
using ::executorch::runtime::TensorMeta;

/// @see executorch::runtime::register_kernels()
[[nodiscard]] inline Error register_kernels(ArrayRef<Kernel> kernels) {
  return ::executorch::runtime::register_kernels(
      Span<const Kernel>(kernels.data(), kernels.size()));
}
/// The kernel's function, which must be registered.
inline OpFunction getOpsFn(const char* name, ArrayRef<TensorMeta> meta_list = {}) {
  auto function = get_op_function_from_registry(name, {meta_list.data(), meta_list.size()});
  return *function;
}
inline bool hasOpsFn(const char* name, ArrayRef<TensorMeta> meta_list = {}) {
  return registry_has_op_function(name, {meta_list.data(), meta_list.size()});
}
inline ArrayRef<Kernel> get_kernels() {
  const auto kernels = ::executorch::runtime::get_registered_kernels();
  return {kernels.data(), kernels.size()};
}
}  // namespace torch::executor
