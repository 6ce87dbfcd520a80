// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// BackendInterface, which backends implement, and the registry of backends.
#pragma once

#include <stddef.h>
#include <stdint.h>

#include <executorch/runtime/backend/backend_execution_context.h>
#include <executorch/runtime/backend/backend_init_context.h>
#include <executorch/runtime/backend/backend_option_context.h>
#include <executorch/runtime/backend/options.h>
#include <executorch/runtime/core/array_ref.h>
#include <executorch/runtime/core/error.h>
#include <executorch/runtime/core/evalue.h>
#include <executorch/runtime/core/freeable_buffer.h>
#include <executorch/runtime/core/function_ref.h>
#include <executorch/runtime/core/result.h>
#include <executorch/runtime/core/span.h>

namespace executorch {
namespace ET_RUNTIME_NAMESPACE {

struct SizedBuffer {
  void* buffer;
  size_t nbytes;
};

/// A pair that the backend's ahead-of-time part put into the program. Lives as long as the program.
struct CompileSpec {
  const char* key;
  SizedBuffer value;
};

/// Opaque result of a backend's init().
using DelegateHandle = void;

/// Working memory that a delegate took beyond the allocators it was given.
struct Scratch {
  /// Identifies the memory: equal for delegates that share it; null if there is none.
  const void* memory = nullptr;
  size_t size = 0;
};

/// An operator of a delegate, in words for reports. The texts live during the visit.
struct DelegateOperator {
  /// As in profiles.
  const char* name;
  /// In which it computes, such as "float32".
  const char* precision;
  /// Dtypes and sizes of operands and results, such as "float32 [1, 8] -> float32 [1, 4]".
  const char* values;
};
using DelegateOperatorVisitor = executorch::runtime::FunctionRef<void(const DelegateOperator&)>;

/// A backend. One object serves all programs; its functions may be called from several threads at
/// once, for different delegates.
class BackendInterface {
 public:
  virtual ~BackendInterface() = 0;

  /// Returns whether the backend can be used on this machine.
  [[nodiscard]] virtual bool is_available() const = 0;

  /// Creates a delegate from the payload of the ahead-of-time part. The backend owns `processed`:
  /// it must check every byte it relies on and may call processed->Free() early; otherwise the
  /// payload lives until destroy(). `compile_specs` lives as long as the program.
  [[nodiscard]] virtual Result<DelegateHandle*> init(
      BackendInitContext& context, FreeableBuffer* processed,
      executorch::runtime::ArrayRef<CompileSpec> compile_specs) const = 0;

  /// Runs a delegate on its arguments: inputs, then outputs.
  [[nodiscard]] virtual Error execute(BackendExecutionContext& context, DelegateHandle* handle,
                                      Span<EValue*> args) const = 0;

  /// Set and read options of the backend; a backend without options ignores them.
  [[nodiscard]] virtual Error set_option([[maybe_unused]] BackendOptionContext& context,
                                         [[maybe_unused]] const Span<BackendOption>& options) {
    return Error::Ok;
  }
  [[nodiscard]] virtual Error get_option([[maybe_unused]] BackendOptionContext& context,
                                         [[maybe_unused]] Span<BackendOption>& options) {
    return Error::Ok;
  }

  /// Working memory of a delegate, as far as known since init().
  [[nodiscard]] virtual Scratch scratch([[maybe_unused]] DelegateHandle* handle) const {
    return {};
  }

  static constexpr size_t kUnknownOutputs = SIZE_MAX;
  /// Number of trailing arguments that execute() writes; the others are only read. Without this
  /// information, delegates may run concurrently only if each writes only arguments that have no
  /// earlier value.
  virtual size_t output_count([[maybe_unused]] DelegateHandle* handle) const {
    return kUnknownOutputs;
  }

  /// Visits the operators of a delegate in the order in which it runs them. The default visits
  /// none.
  [[nodiscard]] virtual Error describe([[maybe_unused]] DelegateHandle* handle,
                                       [[maybe_unused]] DelegateOperatorVisitor visit) const {
    return Error::Ok;
  }

  /// Destroys a delegate. Memory from the runtime allocator is not released here.
  virtual void destroy([[maybe_unused]] DelegateHandle* handle) const {}
};

/// A backend under its name; both must outlive the program.
struct Backend {
  const char* name;
  BackendInterface* backend;
};

/// Registers a backend; the registry has room for 16. RegistrationAlreadyRegistered for a known
/// name, OutOfResources if the registry is full, InvalidArgument for a null name or backend. Not
/// thread-safe; call it before loading programs.
[[nodiscard]] Error register_backend(const Backend& backend);

/// The backend of this name; nullptr if there is none.
BackendInterface* get_backend_class(const char* name);

size_t get_num_registered_backends();
/// InvalidArgument unless `index` is below the number of backends.
Result<const char*> get_backend_name(size_t index);

/// Set and read options of a backend for all its users. NotFound if no backend has that name.
[[nodiscard]] Error set_option(const char* backend_name,
                               Span<executorch::runtime::BackendOption> options);
[[nodiscard]] Error get_option(const char* backend_name,
                               Span<executorch::runtime::BackendOption> options);

}  // namespace ET_RUNTIME_NAMESPACE
}  // namespace executorch

// Documented names of the same things.
namespace torch::executor {
using ::executorch::runtime::Backend;
using ::executorch::runtime::CompileSpec;
using ::executorch::runtime::DelegateHandle;
using PyTorchBackendInterface = ::executorch::runtime::BackendInterface;
using ::executorch::runtime::get_backend_class;
using ::executorch::runtime::register_backend;
using ::executorch::runtime::SizedBuffer;
}  // namespace torch::executor
