// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// XNNPACK behind the runtime's backend interface.
#include <executorch/backends/xnnpack/runtime/delegate.h>
#include <executorch/backends/xnnpack/runtime/status.h>
#include <executorch/extension/threadpool/threadpool.h>
#include <executorch/runtime/backend/interface.h>
#include <executorch/runtime/platform/log.h>

namespace executorch::backends::xnnpack {

using runtime::BackendExecutionContext;
using runtime::BackendInitContext;
using runtime::CompileSpec;
using runtime::DelegateHandle;
using runtime::Error;
using runtime::EValue;
using runtime::FreeableBuffer;
using runtime::Result;
using runtime::Span;

namespace {

class XnnpackBackend final : public runtime::BackendInterface {
 public:
  /// Initializes XNNPACK when it is first asked for: whoever has no delegates pays nothing.
  [[nodiscard]] bool is_available() const override {
    static const xnn_status status = xnn_initialize(/*allocator=*/nullptr);
    return status == xnn_status_success;
  }

  [[nodiscard]] Result<DelegateHandle*> init(BackendInitContext& context, FreeableBuffer* processed,
                                             runtime::ArrayRef<CompileSpec>) const override {
    const Payload payload = ET_UNWRAP(
        Payload::parse({static_cast<const uint8_t*>(processed->data()), processed->size()}));
    std::unique_ptr<Delegate> delegate = ET_UNWRAP(
        Delegate::create(payload, context.get_named_data_map(), context.get_runtime_allocator(),
                         extension::threadpool::get_threadpool()->workers()));
    return static_cast<DelegateHandle*>(delegate.release());
  }

  [[nodiscard]] Error execute(BackendExecutionContext&, DelegateHandle* handle,
                              Span<EValue*> args) const override {
    return static_cast<Delegate*>(handle)->run(args);
  }

  void destroy(DelegateHandle* handle) const override { delete static_cast<Delegate*>(handle); }
};

Error register_xnnpack() {
  // Never destroyed: programs may end after static objects do.
  static auto* backend = new XnnpackBackend();
  return runtime::register_backend({"XnnpackBackend", backend});
}

[[maybe_unused]] const Error registered = register_xnnpack();

}  // namespace
}  // namespace executorch::backends::xnnpack

// Linking the library asks for this object file by this symbol.
extern "C" {
extern const int executorch_link_xnnpack_backend;
const int executorch_link_xnnpack_backend = 0;
}
