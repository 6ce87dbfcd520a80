// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// The platform layer of a POSIX system: the monotonic clock, messages to stderr, the C library's
// memory.
#define ET_INTERNAL_PLATFORM_WEAKNESS ET_WEAK
#include <executorch/runtime/platform/platform.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

void et_pal_init(void) {}

void et_pal_abort(void) { abort(); }

et_timestamp_t et_pal_current_ticks(void) {
  timespec now;
  if (clock_gettime(CLOCK_MONOTONIC, &now) != 0) {
    return 0;
  }
  return static_cast<et_timestamp_t>(now.tv_sec) * 1000000000u +
         static_cast<et_timestamp_t>(now.tv_nsec);
}

et_tick_ratio_t et_pal_ticks_to_ns_multiplier(void) { return {1, 1}; }

void et_pal_emit_log_message(et_timestamp_t timestamp, et_pal_log_level_t level,
                             const char* filename, const char* function, size_t line,
                             const char* message, size_t length) {
  // Write each line in one call, so that lines of different threads do not mix.
  const unsigned long long us = timestamp / 1000;
  fprintf(stderr, "%c %02llu:%02llu:%02llu.%06llu executorch:%s:%zu (%s)] %.*s\n",
          static_cast<char>(level), us / 3600000000u, us / 60000000u % 60, us / 1000000u % 60,
          us % 1000000u, filename, line, function, static_cast<int>(length), message);
}

void* et_pal_allocate(size_t size) { return malloc(size); }

void et_pal_free(void* ptr) { free(ptr); }
