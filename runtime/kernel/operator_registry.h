// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// Which kernel implements which operator.
//
// Kernels come in two ways: tables in constant memory (a kernel library's, kept by reference) and
// single registrations (a user's own, copied). A kernel may be for certain dtypes and dim orders
// only, said by its key; such kernels are preferred to the fallback, which has no key.
//
// Registering is not thread-safe and happens before programs are loaded; looking up is thread-safe.
#pragma once

#include <stddef.h>
#include <stdint.h>

#include <executorch/runtime/core/evalue.h>
#include <executorch/runtime/core/result.h>
#include <executorch/runtime/core/span.h>
#include <executorch/runtime/kernel/kernel_runtime_context.h>

namespace executorch {
namespace ET_RUNTIME_NAMESPACE {

/// A kernel behind one type: the arguments of the operator's schema in order, outputs last.
using OpFunction = void (*)(KernelRuntimeContext&, Span<EValue*>);

/// Says whether the arguments are of the number and kinds that the kernel takes: Ok, or
/// InvalidArgument (number) or InvalidType (kind) after a log message with the argument's index and
/// the kinds expected and found. Further arguments are allowed and not looked at: programs repeat
/// an operator's result there. Run once, when a program is loaded; the kernel checks none of it.
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

/// For which tensors a kernel is: nothing (a fallback: for all), or a text that lists the tensor
/// arguments in order, each with its dtype's number and dim order, as "v1/6;0,1|6;0,1". The last of
/// them, `out`, may be listed once more for what the operator returns. The text must outlive the
/// key.
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
  /// May be null: the arguments are then the kernel's own to check.
  ArgCheck check_ = nullptr;
  /// Bit i: the kernel writes to the tensors of its argument i, which a program must not let be
  /// constants. None of the first 62, not known: it is the last argument that counts. The other two
  /// bits are options, kDisjoint and kDisjointButFirst.
  uint64_t written_ = 0;

  /// A program must not let operands be where a written tensor is: the kernel reads and writes in
  /// no certain order. Without it, an operand may be at exactly the same place.
  static constexpr uint64_t kDisjoint = uint64_t{1} << 63;
  /// With kDisjoint: the first argument alone may be at the same place.
  static constexpr uint64_t kDisjointButFirst = uint64_t{1} << 62;
  static constexpr size_t kOptionBits = 2;
  static constexpr size_t kMostWritten = 64 - kOptionBits;

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

/// Which of two kernels of one name and key is found.
enum class KernelPriority : uint8_t {
  /// The ordinary one.
  Default,
  /// Found before any ordinary one: another library's.
  Preferred,
  /// Found before any other: a faster implementation.
  Override,
};

/// Copies the kernels into the registry, which has room for MAX_KERNEL_NUM (default 256); names and
/// keys must outlive the program. RegistrationAlreadyRegistered if a kernel of the same name and
/// key is there (or is twice in the list), RegistrationExceedingMaxKernels if there is no room;
/// nothing of the call is then registered.
[[nodiscard]] Error register_kernels(Span<const Kernel> kernels);
[[nodiscard]] inline Error register_kernel(const Kernel& kernel) {
  return register_kernels(Span<const Kernel>(&kernel, 1));
}

/// Keeps a reference to the table, which must outlive the program; there is room for 16 of them.
/// A table sorted by name is looked up by bisection. Errors as register_kernels(); the same name
/// and key may be in tables of different priority.
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
/// The same, looking in `kernel_list` only.
Result<OpFunction> get_op_function_from_registry(const char* name, Span<const TensorMeta> meta_list,
                                                 Span<const Kernel> kernel_list);

/// All kernels there are, in no particular order: registered_kernel(0) to
/// registered_kernel(registered_kernel_count() - 1).
size_t registered_kernel_count();
const Kernel& registered_kernel(size_t index);

/// The kernels as one list: those of register_kernels() if no table was registered, else a copy in
/// memory that lives as long as the program and is made anew by the next call after a registration;
/// empty if the platform has no memory for that (et_pal_allocate).
Span<const Kernel> get_registered_kernels();

}  // namespace ET_RUNTIME_NAMESPACE
}  // namespace executorch

// Documented names of the same things.
namespace torch::executor {
using ::executorch::runtime::get_op_function_from_registry;
using ::executorch::runtime::Kernel;
using ::executorch::runtime::KernelKey;
using ::executorch::runtime::OpFunction;
using ::executorch::runtime::register_kernel;
using ::executorch::runtime::register_kernels;
using ::executorch::runtime::registry_has_op_function;
using ::executorch::runtime::TensorMeta;

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
