// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// Platform abstraction layer (PAL): the functions that the runtime requires from its host.
//
// A host replaces a function in one of two ways:
//  - at link time, by defining the et_pal_* function itself (the defaults are weak symbols);
//  - at run time, by register_pal(), before anything else of the runtime is used.
// The runtime calls the pal_* functions of executorch::runtime, which see both.
#pragma once

#include <stddef.h>
#include <stdint.h>

#include <executorch/runtime/platform/compiler.h>
#include <executorch/runtime/platform/types.h>

// The defaults set this to ET_WEAK before they include this header; everyone else leaves it empty,
// so that a host's definition is an ordinary, strong one.
#ifndef ET_INTERNAL_PLATFORM_WEAKNESS
#define ET_INTERNAL_PLATFORM_WEAKNESS
#endif

extern "C" {

/// How many nanoseconds a tick lasts: numerator / denominator.
typedef struct {
  uint64_t numerator;
  uint64_t denominator;
} et_tick_ratio_t;

/// The severity of a message; the value is the letter to print.
typedef enum {
  kDebug = 'D',
  kInfo = 'I',
  kError = 'E',
  kFatal = 'F',
  kUnknown = '?',
} et_pal_log_level_t;

/// Called by runtime_init() and, if registered, by register_pal(); may be called more than once.
void et_pal_init(void) ET_INTERNAL_PLATFORM_WEAKNESS;

/// Ends the program. Only programming errors lead here, never the contents of a file or an input.
ET_NORETURN void et_pal_abort(void) ET_INTERNAL_PLATFORM_WEAKNESS;

/// A clock that never runs backwards, in ticks.
et_timestamp_t et_pal_current_ticks(void) ET_INTERNAL_PLATFORM_WEAKNESS;

/// Type of a pointer to et_pal_current_ticks(), for C.
typedef et_timestamp_t (*et_pal_current_ticks_t)(void);

/// The length of a tick, for conversion to nanoseconds.
et_tick_ratio_t et_pal_ticks_to_ns_multiplier(void) ET_INTERNAL_PLATFORM_WEAKNESS;

/// Takes one message. `message` is NUL-terminated and has `length` bytes before the NUL; it and
/// the names are valid during the call only.
void et_pal_emit_log_message(et_timestamp_t timestamp, et_pal_log_level_t level,
                             const char* filename, const char* function, size_t line,
                             const char* message, size_t length) ET_INTERNAL_PLATFORM_WEAKNESS;

/// Returns memory aligned for any type; nullptr on failure. The core calls it for temporary memory
/// of methods whose MemoryManager lacks a temp allocator, and for get_registered_kernels().
void* et_pal_allocate(size_t size) ET_INTERNAL_PLATFORM_WEAKNESS;

/// Frees what et_pal_allocate() returned; nullptr is allowed.
void et_pal_free(void* ptr) ET_INTERNAL_PLATFORM_WEAKNESS;

}  // extern "C"

namespace executorch::runtime {

using pal_init_method = void (*)();
using pal_abort_method = void (*)();
using pal_current_ticks_method = et_timestamp_t (*)();
using pal_ticks_to_ns_multiplier_method = et_tick_ratio_t (*)();
using pal_emit_log_message_method = void (*)(et_timestamp_t timestamp, et_pal_log_level_t level,
                                             const char* filename, const char* function,
                                             size_t line, const char* message, size_t length);
using pal_allocate_method = void* (*)(size_t size);
using pal_free_method = void (*)(void* ptr);

/// A set of replacements; null members keep the current functions.
struct PalImpl {
  /// Replaces the log sink only.
  static PalImpl create(pal_emit_log_message_method emit_log_message, const char* source_filename);

  static PalImpl create(pal_init_method init, pal_abort_method abort,
                        pal_current_ticks_method current_ticks,
                        pal_ticks_to_ns_multiplier_method ticks_to_ns_multiplier,
                        pal_emit_log_message_method emit_log_message, pal_allocate_method allocate,
                        pal_free_method free, const char* source_filename);

  pal_init_method init = nullptr;
  pal_abort_method abort = nullptr;
  pal_current_ticks_method current_ticks = nullptr;
  pal_ticks_to_ns_multiplier_method ticks_to_ns_multiplier = nullptr;
  pal_emit_log_message_method emit_log_message = nullptr;
  pal_allocate_method allocate = nullptr;
  pal_free_method free = nullptr;

  /// Name of the registering file, for diagnosis; must outlive the registration.
  const char* source_filename = nullptr;
};

/// Installs the non-null members of `impl`, then calls impl.init, if set. Must not be called while
/// other threads use the runtime. Returns true.
bool register_pal(PalImpl impl);

/// Returns the current functions; none is null.
const PalImpl* get_pal_impl();

void pal_init();
ET_NORETURN void pal_abort();
et_timestamp_t pal_current_ticks();
et_tick_ratio_t pal_ticks_to_ns_multiplier();
void pal_emit_log_message(et_timestamp_t timestamp, et_pal_log_level_t level, const char* filename,
                          const char* function, size_t line, const char* message, size_t length);
void* pal_allocate(size_t size);
void pal_free(void* ptr);

}  // namespace executorch::runtime
