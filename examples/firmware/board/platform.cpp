// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// The runtime's platform layer on this board: each function defined here takes the place of the
// default at link time. Time is the SysTick counter's, which counts the processor's cycles.
#include <executorch/runtime/platform/platform.h>

#include "semihosting.h"

namespace {

volatile uint32_t* const kSysTick = reinterpret_cast<volatile uint32_t*>(0xE000E010u);
enum : uint32_t { kControl, kReload, kValue };
constexpr uint32_t kRange = 1u << 24;
volatile uint32_t g_wraps = 0;

}  // namespace

// There is no heap. Classes with virtual destructors refer to these operators; they are never
// called.
void operator delete(void*) noexcept { et_pal_abort(); }
void operator delete(void*, size_t) noexcept { et_pal_abort(); }

extern "C" {

void systick(void) { g_wraps = g_wraps + 1; }

void et_pal_init(void) {
  kSysTick[kReload] = kRange - 1;
  kSysTick[kValue] = 0;
  kSysTick[kControl] = 7;  // count, interrupt at 0, the processor's clock
}

void et_pal_abort(void) {
  print("abort\n");
  leave(126);
}

et_timestamp_t et_pal_current_ticks(void) {
  uint32_t wraps = 0;
  uint32_t value = 0;
  do {
    wraps = g_wraps;
    value = kSysTick[kValue];
  } while (wraps != g_wraps);
  return static_cast<et_timestamp_t>(wraps) * kRange + (kRange - 1 - value);
}

et_tick_ratio_t et_pal_ticks_to_ns_multiplier(void) { return {1000, BOARD_MHZ}; }

void et_pal_emit_log_message(et_timestamp_t, et_pal_log_level_t level, const char* filename,
                             const char*, size_t line, const char* message, size_t) {
  const char letter[] = {static_cast<char>(level), ' ', '\0'};
  print(letter);
  print(filename);
  print(":");
  print_int(static_cast<int64_t>(line));
  print("] ");
  print(message);
  print("\n");
}

}  // extern "C"
