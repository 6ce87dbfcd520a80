// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
#include <executorch/runtime/executor/load/delegate_loader.h>

#include <new>
#include <utility>

#include <executorch/runtime/executor/plan/optional_vector.h>
#include <executorch/runtime/platform/log.h>

namespace executorch {
namespace ET_RUNTIME_NAMESPACE {
namespace internal {

namespace fb = executorch_flatbuffer;
using executorch::runtime::internal::items;
using executorch::runtime::internal::text;

namespace {

void log_missing_backend(const char* method, const char* wanted) {
  ET_LOG(Error, "method '%s': backend '%s' is not registered; %zu are", method, wanted,
         get_num_registered_backends());
  for (size_t i = 0; i < get_num_registered_backends(); ++i) {
    const Result<const char*> name = get_backend_name(i);
    ET_LOG(Error, "registered backend: '%s'", name.ok() ? *name : "");
  }
}

}  // namespace

Error DelegateLoader::load(const fb::BackendDelegate& source, Span<CompileSpec> specs,
                           Delegate* delegate) const {
  const char* name = text(source.id());
  const BackendInterface* backend = get_backend_class(name);
  if (backend == nullptr) {
    log_missing_backend(method_name_, name);
    return Error::NotFound;
  }
  ET_CHECK_OR_RETURN_ERROR(backend->is_available(), NotFound,
                           "method '%s': backend '%s' cannot be used on this machine", method_name_,
                           name);
  for (size_t i = 0; i < specs.size(); ++i) {
    const fb::CompileSpec& spec = *source.compile_specs()->Get(i);
    const auto bytes = items(spec.value());
    new (&specs[i])
        CompileSpec{text(spec.key()), {const_cast<uint8_t*>(bytes.data()), bytes.size()}};
  }
  FreeableBuffer processed = ET_UNWRAP(load_processed(source));
  new (delegate) Delegate{backend, nullptr, std::move(processed), specs};
  BackendInitContext context(
      allocator_, event_tracer_, method_name_, &data_,
      options_ == nullptr ? Span<const BackendOption>() : options_->get_options(name), &program_);
  const Result<DelegateHandle*> handle =
      backend->init(context, &delegate->processed, {specs.data(), specs.size()});
  if (!handle.ok()) {
    ET_LOG(Error, "method '%s': backend '%s' could not prepare its delegate: %s", method_name_,
           name, to_string(handle.error()));
    delegate->~Delegate();
    return handle.error();
  }
  delegate->handle = *handle;
  return Error::Ok;
}

Result<FreeableBuffer> DelegateLoader::load_processed(const fb::BackendDelegate& source) const {
  const fb::BackendDelegateDataReference& where = *source.processed();
  if (where.location() == fb::DataLocation::INLINE) {
    const auto bytes =
        items(program_.program_->backend_delegate_data()->Get(where.index())->data());
    return FreeableBuffer(bytes.data(), bytes.size(), nullptr);
  }
  return program_.load_segment(DataLoader::SegmentInfo(DataLoader::SegmentInfo::Type::Backend,
                                                       where.index(), text(source.id())));
}

void destroy_delegate(Delegate& delegate) {
  delegate.backend->destroy(delegate.handle);
  delegate.~Delegate();
}

}  // namespace internal
}  // namespace ET_RUNTIME_NAMESPACE
}  // namespace executorch
