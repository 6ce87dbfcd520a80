// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// Implementation of the runtime's backend interface.
#include <string_view>

#include <executorch/backends/xnnpack/runtime/execution/delegate.h>
#include <executorch/backends/xnnpack/runtime/operators/library.h>
#include <executorch/backends/xnnpack/runtime/payload/work_estimate.h>
#include <executorch/extension/memory_allocator/no_memory.h>
#include <executorch/extension/threadpool/threadpool.h>
#include <executorch/runtime/backend/interface.h>
#include <executorch/runtime/core/event_tracer_hooks.h>
#include <executorch/runtime/platform/log.h>

namespace executorch::backends::xnnpack {

using extension::or_no_memory;
using runtime::BackendExecutionContext;
using runtime::BackendInitContext;
using runtime::BackendOption;
using runtime::CompileSpec;
using runtime::DelegateHandle;
using runtime::Error;
using runtime::EValue;
using runtime::FreeableBuffer;
using runtime::Result;
using runtime::Span;

namespace {

/// XNNPACK reports allocation failures with different statuses, or continues.
Error check_memory() {
  ET_CHECK_OR_RETURN_ERROR(!has_run_out(), MemoryAllocationFailed,
                           "xnnpack: an allocation of the library failed");
  return Error::Ok;
}

/// The precision that a program was exported with.
Result<kernels::engine::Precision> precision_of(runtime::ArrayRef<CompileSpec> specs) {
  for (const CompileSpec& spec : specs) {
    if (std::string_view(spec.key) == compute_precision_option_key) {
      const auto* const name = static_cast<const char*>(spec.value.buffer);
      return precision_named({name, spec.value.nbytes}, "compile spec compute_precision");
    }
  }
  return kernels::engine::Precision::Float32;
}

class XnnpackBackend final : public runtime::BackendInterface {
 public:
  /// Initializes XNNPACK at the first call, so that programs without delegates do not pay for it.
  [[nodiscard]] bool is_available() const override { return start_library(); }

  [[nodiscard]] Result<DelegateHandle*> init(BackendInitContext& context, FreeableBuffer* processed,
                                             runtime::ArrayRef<CompileSpec> specs) const override {
    const Payload payload = ET_UNWRAP(or_no_memory("xnnpack: a delegate's payload", [&] {
      return Payload::parse({static_cast<const uint8_t*>(processed->data()), processed->size()});
    }));
    extension::threadpool::ThreadPool* const pool = extension::threadpool::get_threadpool();
    const runtime::EventTracer* const tracer = context.event_tracer();
    DelegateOptions options;
    options.names = context.get_named_data_map();
    options.settings = ET_UNWRAP(
        or_no_memory("xnnpack: options", [&] { return settings_with(context.runtime_specs()); }));
    if (!options.settings.precision) {
      options.settings.precision = ET_UNWRAP(precision_of(specs));
    }
    options.workspace_user = {
        context.program() == nullptr ? context.get_runtime_allocator() : context.program(), pool};
    options.threads = benefits_from_threads(payload) ? pool->workers() : nullptr;
    // Do not record operators if values are recorded: readers expect a value with each event, and
    // delegates record no values.
    options.is_profiled =
        tracer != nullptr &&
        tracer->event_tracer_profiling_level() ==
            runtime::EventTracerProfilingLevel::kProfileAllEvents &&
        tracer->event_tracer_debug_level() == runtime::EventTracerDebugLogLevel::kNoLogging;
    forget_shortage();
    Result<std::unique_ptr<Delegate>> delegate = or_no_memory(
        "xnnpack: a delegate", [&] { return Delegate::create(payload, std::move(options)); });
    ET_CHECK_OK_OR_RETURN_ERROR(check_memory());
    ET_CHECK_OK_OR_RETURN_ERROR(delegate.error());
    if ((*delegate)->packed_size() != 0) {
      using namespace ET_RUNTIME_NAMESPACE::internal;
      event_tracer_track_allocation(
          context.event_tracer(),
          event_tracer_track_allocator(context.event_tracer(), "packed weights"),
          (*delegate)->packed_size());
    }
    return static_cast<DelegateHandle*>(delegate->release());
  }

  [[nodiscard]] Error execute(BackendExecutionContext& context, DelegateHandle* handle,
                              Span<EValue*> args) const override {
    forget_shortage();
    const Error error = or_no_memory("xnnpack: a delegate's execution", [&] {
      return static_cast<Delegate*>(handle)->run(args, context.event_tracer());
    });
    ET_CHECK_OK_OR_RETURN_ERROR(check_memory());
    return error;
  }

  [[nodiscard]] Error set_option(runtime::BackendOptionContext&,
                                 const Span<BackendOption>& options) override {
    return or_no_memory("xnnpack: options", [&] { return change_settings(options); });
  }
  [[nodiscard]] Error get_option(runtime::BackendOptionContext&,
                                 Span<BackendOption>& options) override {
    return or_no_memory("xnnpack: options", [&] {
      for (BackendOption& option : options) {
        ET_CHECK_OK_OR_RETURN_ERROR(current_settings().get(option));
      }
      return Error::Ok;
    });
  }

  [[nodiscard]] runtime::Scratch scratch(DelegateHandle* handle) const override {
    Workspace& workspace = static_cast<Delegate*>(handle)->workspace();
    return {&workspace, workspace.size()};
  }

  [[nodiscard]] size_t output_count(DelegateHandle* handle) const override {
    return static_cast<Delegate*>(handle)->output_count();
  }

  [[nodiscard]] Error describe(DelegateHandle* handle,
                               runtime::DelegateOperatorVisitor visit) const override {
    return or_no_memory("xnnpack: the description of a delegate", [&] {
      static_cast<const Delegate*>(handle)->describe(visit);
      return Error::Ok;
    });
  }

  void destroy(DelegateHandle* handle) const override { delete static_cast<Delegate*>(handle); }
};

Error register_xnnpack() {
  // Never destroyed: programs may be destroyed after static objects.
  static auto* backend = new XnnpackBackend();
  return runtime::register_backend({"XnnpackBackend", backend});
}

[[maybe_unused]] const Error registered = register_xnnpack();

}  // namespace
}  // namespace executorch::backends::xnnpack

// The link options of the library refer to this symbol, so that the linker keeps this object file.
extern "C" {
extern const int executorch_link_xnnpack_backend;
const int executorch_link_xnnpack_backend = 0;
}
