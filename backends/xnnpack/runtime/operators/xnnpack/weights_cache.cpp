// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// Adapter of a session's packed weights to XNNPACK's cache. The offset of a block in XNNPACK's
// cache is its address here.
#include <executorch/backends/xnnpack/runtime/operators/xnnpack/emergency_pool.h>
#include <executorch/backends/xnnpack/runtime/operators/xnnpack/operator.h>
#include <executorch/extension/memory_allocator/no_memory.h>

namespace executorch::backends::xnnpack {
namespace {

/// Calls a function of a session. Returns `otherwise` on std::bad_alloc, because exceptions must
/// not pass through XNNPACK.
template <typename T, typename Answer>
T answer(void* session, T otherwise, const Answer& of) {
  const runtime::Result<T> result = extension::or_no_memory(
      "xnnpack: packed weights",
      [&]() -> runtime::Result<T> { return of(*static_cast<WeightsSession*>(session)); });
  if (!result.ok()) {
    note_shortage();
  }
  return result.ok() ? *result : otherwise;
}

size_t place_of(const void* packed) {
  return packed == nullptr ? SIZE_MAX : reinterpret_cast<size_t>(packed);
}

UnpackedWeights weights_of(const xnn_weights_cache_look_up_key& key) {
  return {key.seed, key.kernel, key.bias};
}

xnn_weights_cache_provider provider_of(WeightsSession* session) {
  xnn_weights_cache_provider provider{};
  provider.context = session;
  provider.look_up = [](void* self, const xnn_weights_cache_look_up_key* key) {
    return answer(self, place_of(nullptr), [&](WeightsSession& weights) {
      return place_of(weights.look_up(weights_of(*key)));
    });
  };
  provider.reserve_space = [](void* self, size_t size) {
    return answer(self, static_cast<void*>(nullptr), [&](WeightsSession& weights) {
      return weights.reserve(size, /*overwritten=*/false);
    });
  };
  provider.look_up_or_insert = [](void* self, const xnn_weights_cache_look_up_key* key,
                                  void* packed, size_t) {
    return answer(self, place_of(nullptr), [&](WeightsSession& weights) {
      return place_of(weights.look_up_or_insert(weights_of(*key), packed));
    });
  };
  provider.is_finalized = [](void* self) {
    return static_cast<WeightsSession*>(self)->is_finished();
  };
  provider.offset_to_addr = [](void*, size_t place) { return reinterpret_cast<void*>(place); };
  // The session ends with the delegate.
  provider.delete_cache = [](void*) { return xnn_status_success; };
  return provider;
}

}  // namespace

xnn_weights_cache_t weights_cache(const OperatorContext& context) {
  if (context.weights == nullptr) {
    return nullptr;
  }
  if (context.weights->adapter == nullptr) {
    context.weights->adapter =
        std::make_shared<xnn_weights_cache_provider>(provider_of(context.weights));
  }
  return static_cast<xnn_weights_cache_t>(context.weights->adapter.get());
}

}  // namespace executorch::backends::xnnpack
