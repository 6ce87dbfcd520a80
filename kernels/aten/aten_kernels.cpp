// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
#include <executorch/kernels/aten/aten_kernels.h>

#include <ATen/core/LegacyTypeDispatch.h>
#include <ATen/core/dispatch/Dispatcher.h>

#include <string.h>

#include <array>
#include <atomic>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <executorch/kernels/aten/aten_arguments.h>
#include <executorch/kernels/aten/output_layout.h>
#include <executorch/runtime/core/evalue.h>
#include <executorch/runtime/kernel/kernel_source.h>
#include <executorch/runtime/platform/log.h>

namespace executorch::kernels {

using runtime::Error;
using runtime::EValue;
using runtime::Kernel;
using runtime::KernelPriority;
using runtime::KernelRuntimeContext;
using runtime::OpFunction;
using runtime::Span;

namespace {

/// See Kernel::written_.
uint64_t written_by(const c10::OperatorHandle& handle) {
  uint64_t bits = 0;
  const std::vector<c10::Argument>& arguments = handle.schema().arguments();
  for (size_t i = 0; i < arguments.size() && i < 64; ++i) {
    const c10::AliasInfo* alias = arguments[i].alias_info();
    bits |= alias != nullptr && alias->isWrite() ? uint64_t{1} << i : 0;
  }
  return bits;
}

std::optional<c10::OperatorHandle> find_operator(const char* name) {
  const char* const dot = strchr(name, '.');
  const std::string base = dot == nullptr ? name : std::string(name, dot);
  return c10::Dispatcher::singleton().findSchema({base, dot == nullptr ? "" : dot + 1});
}

struct Operator {
  explicit Operator(const c10::OperatorHandle& operator_handle) : handle(operator_handle) {}

  /// The operator's current handle, which changes if the library that defined the operator was
  /// unloaded and the operator has been defined again.
  std::optional<c10::OperatorHandle> current() const {
    if (!is_deregistered) {
      return handle;
    }
    const auto again = find_operator(kernel.name_);
    return again.has_value() && written_by(*again) == kernel.written_ ? again : std::nullopt;
  }

  c10::OperatorHandle handle;
  std::atomic<bool> is_deregistered{false};
  Kernel kernel;
};

/// Operators by name.
using Operators = std::map<std::string, Operator>;

/// Never destroyed: kernels may run until the process ends.
Operators& operators() {
  static auto* const all = new Operators();
  return *all;
}

/// Protects operators() and the functions below: operators may be added to torch, and programs
/// loaded, at any time.
std::mutex& operators_mutex() {
  static auto* const mutex = new std::mutex();
  return *mutex;
}

/// The operator that function i of kFunctions calls: an OpFunction has no state, so each operator
/// takes a function of its own.
const Operator* called_by[kMaxAtenKernels];
size_t functions_used = 0;

/// Marks operators that were removed from torch: their handles must not be used.
class DeregistrationListener final : public c10::OpRegistrationListener {
 public:
  void onOperatorRegistered(const c10::OperatorHandle& /*op*/) override {}
  void onOperatorDeregistered(const c10::OperatorHandle& op) override {
    const std::lock_guard<std::mutex> lock(operators_mutex());
    const auto known = operators().find(c10::toString(op.operator_name()));
    if (known != operators().end()) {
      known->second.is_deregistered = true;
    }
  }
};

void watch_deregistrations() {
  // Never destroyed, as operators().
  [[maybe_unused]] static auto* const watching =
      new c10::RegistrationHandleRAII(c10::Dispatcher::singleton().addRegistrationListener(
          std::make_unique<DeregistrationListener>()));
}

/// Passes warnings of ATen to the log.
class WarningLog final : public c10::WarningHandler {
 public:
  void process(const c10::Warning& warning) override {
    // Outputs may have another size than in the previous execution: programs resize them.
    if (warning.msg().rfind("An output with one or more elements was resized", 0) != 0) {
      ET_LOG(Info, "ATen: %.500s", warning.msg().c_str());
    }
  }
};

void call(const Operator& op, KernelRuntimeContext& context, Span<EValue*> arguments) {
  const std::optional<c10::OperatorHandle> handle = op.current();
  if (!handle.has_value()) {
    ET_LOG(Error, "operator %s is missing in torch: its library was unloaded", op.kernel.name_);
    return context.fail(Error::OperatorMissing);
  }
  const c10::FunctionSchema& schema = handle->schema();
  const std::vector<c10::Argument>& parameters = schema.arguments();
  if (arguments.size() < parameters.size()) {
    ET_LOG(Error, "%s takes %zu arguments, found %zu", schema.name().c_str(), parameters.size(),
           arguments.size());
    return context.fail(Error::InvalidProgram);
  }
  OutputLayouts layouts;
  try {
    WarningLog log;
    const c10::WarningUtils::WarningHandlerGuard to_log(&log);
    const at::AutoDispatchBelowADInplaceOrView below_autograd;
    c10::Stack stack;
    stack.reserve(parameters.size());
    for (size_t i = 0; i < parameters.size(); ++i) {
      stack.push_back(to_ivalue(*arguments[i], parameters[i]));
      const c10::AliasInfo* alias = parameters[i].alias_info();
      if (alias != nullptr && alias->isWrite()) {
        layouts.keep(*arguments[i]);
      }
    }
    handle->callBoxed(stack);
    layouts.restore_dim_orders();
    return;
  } catch (const c10::Error& error) {
    ET_LOG(Error, "%s: %.500s", schema.name().c_str(), error.what_without_backtrace());
  } catch (const std::exception& error) {
    ET_LOG(Error, "%s: %.500s", schema.name().c_str(), error.what());
  }
  layouts.undo();
  context.fail(Error::InvalidArgument);
}

template <size_t index>
void call_operator(KernelRuntimeContext& context, Span<EValue*> arguments) {
  call(*called_by[index], context, arguments);
}

template <size_t... indices>
constexpr std::array<OpFunction, sizeof...(indices)> functions_of(std::index_sequence<indices...>) {
  return {&call_operator<indices>...};
}
constexpr auto kFunctions = functions_of(std::make_index_sequence<kMaxAtenKernels>());

/// The operators that are not known yet, sorted by name for the registry's bisection.
std::map<std::string, c10::OperatorHandle> new_operators(
    const std::vector<c10::OperatorHandle>& handles) {
  std::map<std::string, c10::OperatorHandle> added;
  for (const c10::OperatorHandle& handle : handles) {
    std::string name = c10::toString(handle.operator_name());
    if (operators().count(name) == 0) {
      added.emplace(std::move(name), handle);
    }
  }
  return added;
}

/// The kernel of an operator that is new; there must be a function left for it.
const Kernel& add_operator(const std::string& name, const c10::OperatorHandle& handle) {
  auto& [own_name, op] = *operators().try_emplace(name, handle).first;
  called_by[functions_used] = &op;
  op.kernel = Kernel(own_name.c_str(), kFunctions[functions_used++]);
  op.kernel.written_ = written_by(handle);
  return op.kernel;
}

Error register_operators(const std::vector<c10::OperatorHandle>& handles, KernelPriority priority) {
  watch_deregistrations();
  const std::lock_guard<std::mutex> lock(operators_mutex());
  const std::map<std::string, c10::OperatorHandle> added = new_operators(handles);
  ET_CHECK_OR_RETURN_ERROR(
      added.size() <= kMaxAtenKernels - functions_used, OutOfResources,
      "%zu operators of torch and the %zu registered before exceed the limit of %zu", added.size(),
      functions_used, kMaxAtenKernels);
  if (added.empty()) {
    return Error::Ok;
  }
  auto* const table = new std::vector<Kernel>();
  for (const auto& [name, handle] : added) {
    table->push_back(add_operator(name, handle));
  }
  return runtime::register_kernel_table({table->data(), table->size()}, priority);
}

/// The kernel of an operator that was added to torch after registration; null if torch lacks it.
const Kernel* late_kernel(const char* name) {
  const std::optional<c10::OperatorHandle> handle = find_operator(name);
  if (!handle.has_value() || written_by(*handle) == 0) {
    return nullptr;
  }
  const std::lock_guard<std::mutex> lock(operators_mutex());
  const auto known = operators().find(name);
  if (known != operators().end()) {
    return &known->second.kernel;
  }
  if (functions_used == kMaxAtenKernels) {
    ET_LOG(Error, "%s exceeds the limit of %zu operators of torch", name, kMaxAtenKernels);
    return nullptr;
  }
  return &add_operator(name, *handle);
}

}  // namespace

Error register_aten_kernels(Span<const char* const> names, KernelPriority priority) {
  std::vector<c10::OperatorHandle> handles;
  for (const char* name : names) {
    const std::optional<c10::OperatorHandle> handle = find_operator(name);
    ET_CHECK_OR_RETURN_ERROR(handle.has_value(), OperatorMissing, "torch has no operator %s", name);
    handles.push_back(*handle);
  }
  return register_operators(handles, priority);
}

Error register_all_aten_kernels(KernelPriority priority) {
  std::vector<c10::OperatorHandle> handles;
  for (const c10::OperatorName& name : c10::Dispatcher::singleton().getAllOpNames()) {
    const auto handle = c10::Dispatcher::singleton().findSchema(name);
    if (handle.has_value() && written_by(*handle) != 0) {
      handles.push_back(*handle);
    }
  }
  runtime::set_kernel_source(&late_kernel);
  return register_operators(handles, priority);
}

}  // namespace executorch::kernels
