// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
#include <executorch/runtime/backend/interface.h>
#include <string.h>

namespace executorch {
namespace ET_RUNTIME_NAMESPACE {
namespace {

constexpr size_t kMaxBackends = 16;
Backend g_backends[kMaxBackends];
size_t g_num_backends = 0;

Result<BackendInterface*> registered_backend(const char* name) {
  BackendInterface* const backend = get_backend_class(name);
  ET_CHECK_OR_RETURN_ERROR(backend != nullptr, NotFound, "no backend %s is registered",
                           name == nullptr ? "(null)" : name);
  return backend;
}

}  // namespace

BackendInterface::~BackendInterface() = default;

Error register_backend(const Backend& backend) {
  ET_CHECK_OR_RETURN_ERROR(backend.name != nullptr && backend.backend != nullptr, InvalidArgument,
                           "a backend without a name or an implementation");
  ET_CHECK_OR_RETURN_ERROR(get_backend_class(backend.name) == nullptr,
                           RegistrationAlreadyRegistered, "backend %s is registered already",
                           backend.name);
  ET_CHECK_OR_RETURN_ERROR(g_num_backends < kMaxBackends, OutOfResources,
                           "no room for backend %s: there are %zu already", backend.name,
                           g_num_backends);
  g_backends[g_num_backends++] = backend;
  return Error::Ok;
}

BackendInterface* get_backend_class(const char* name) {
  if (name == nullptr) {
    return nullptr;
  }
  for (size_t i = 0; i < g_num_backends; ++i) {
    if (strcmp(g_backends[i].name, name) == 0) {
      return g_backends[i].backend;
    }
  }
  return nullptr;
}

size_t get_num_registered_backends() { return g_num_backends; }

Result<const char*> get_backend_name(size_t index) {
  if (index >= g_num_backends) {
    return Error::InvalidArgument;
  }
  return g_backends[index].name;
}

Error set_option(const char* backend_name, Span<executorch::runtime::BackendOption> options) {
  BackendInterface* const backend = ET_UNWRAP(registered_backend(backend_name));
  BackendOptionContext context;
  return backend->set_option(context, options);
}

Error get_option(const char* backend_name, Span<executorch::runtime::BackendOption> options) {
  BackendInterface* const backend = ET_UNWRAP(registered_backend(backend_name));
  BackendOptionContext context;
  return backend->get_option(context, options);
}

}  // namespace ET_RUNTIME_NAMESPACE
}  // namespace executorch
