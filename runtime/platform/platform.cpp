// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
#include <executorch/runtime/platform/abort.h>
#include <executorch/runtime/platform/platform.h>
#include <executorch/runtime/platform/runtime.h>

namespace executorch::runtime {
namespace {

// The current functions, initially the linked et_pal_* functions.
PalImpl g_pal = {
    et_pal_init,
    et_pal_abort,
    et_pal_current_ticks,
    et_pal_ticks_to_ns_multiplier,
    et_pal_emit_log_message,
    et_pal_allocate,
    et_pal_free,
    "link time",
};

template <typename Function>
void replace(Function& in_force, Function replacement) {
  if (replacement != nullptr) {
    in_force = replacement;
  }
}

}  // namespace

PalImpl PalImpl::create(pal_emit_log_message_method emit_log_message, const char* source_filename) {
  return create(nullptr, nullptr, nullptr, nullptr, emit_log_message, nullptr, nullptr,
                source_filename);
}

PalImpl PalImpl::create(pal_init_method init, pal_abort_method abort,
                        pal_current_ticks_method current_ticks,
                        pal_ticks_to_ns_multiplier_method ticks_to_ns_multiplier,
                        pal_emit_log_message_method emit_log_message, pal_allocate_method allocate,
                        pal_free_method free, const char* source_filename) {
  return {init,     abort, current_ticks,  ticks_to_ns_multiplier, emit_log_message,
          allocate, free,  source_filename};
}

bool register_pal(PalImpl impl) {
  replace(g_pal.init, impl.init);
  replace(g_pal.abort, impl.abort);
  replace(g_pal.current_ticks, impl.current_ticks);
  replace(g_pal.ticks_to_ns_multiplier, impl.ticks_to_ns_multiplier);
  replace(g_pal.emit_log_message, impl.emit_log_message);
  replace(g_pal.allocate, impl.allocate);
  replace(g_pal.free, impl.free);
  replace(g_pal.source_filename, impl.source_filename);
  if (impl.init != nullptr) {
    impl.init();
  }
  return true;
}

const PalImpl* get_pal_impl() { return &g_pal; }

void pal_init() { g_pal.init(); }

void pal_abort() {
  g_pal.abort();
  // Registered functions are not [[noreturn]]: fall back to the default if one returns.
  et_pal_abort();
}

et_timestamp_t pal_current_ticks() { return g_pal.current_ticks(); }

et_tick_ratio_t pal_ticks_to_ns_multiplier() { return g_pal.ticks_to_ns_multiplier(); }

void pal_emit_log_message(et_timestamp_t timestamp, et_pal_log_level_t level, const char* filename,
                          const char* function, size_t line, const char* message, size_t length) {
  g_pal.emit_log_message(timestamp, level, filename, function, line, message, length);
}

void* pal_allocate(size_t size) { return g_pal.allocate(size); }

void pal_free(void* ptr) { g_pal.free(ptr); }

void runtime_init() { pal_init(); }

void runtime_abort() { pal_abort(); }

}  // namespace executorch::runtime
