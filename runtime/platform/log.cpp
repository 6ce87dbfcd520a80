// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
#include <executorch/runtime/platform/log.h>
#include <stdio.h>
#include <string.h>

namespace executorch::runtime::internal {
namespace {

// On the stack, because the log must work when memory is exhausted. Fits a signature and the shapes
// of several tensors.
constexpr size_t kMaxMessageSize = 512;

constexpr et_pal_log_level_t kPalLevels[] = {kDebug, kInfo, kError, kFatal};
static_assert(sizeof(kPalLevels) / sizeof(kPalLevels[0]) ==
              static_cast<size_t>(LogLevel::NumLevels));

}  // namespace

void vlogf(LogLevel level, const char* filename, const char* function, size_t line,
           const char* format, va_list args) {
  // Take the time before formatting, which often takes longer than the logged operation.
  const et_timestamp_t timestamp = pal_current_ticks();
  char message[kMaxMessageSize];
  const int wanted = vsnprintf(message, sizeof(message), format, args);
  size_t length = 0;
  if (wanted < 0) {
    message[0] = '\0';
  } else if (static_cast<size_t>(wanted) < sizeof(message)) {
    length = static_cast<size_t>(wanted);
  } else {
    length = sizeof(message) - 1;
    memcpy(message + length - 3, "...", 3);
  }
  pal_emit_log_message(
      timestamp, level < LogLevel::NumLevels ? kPalLevels[static_cast<size_t>(level)] : kUnknown,
      filename, function, line, message, length);
}

void logf(LogLevel level, const char* filename, const char* function, size_t line,
          const char* format, ...) {
  va_list args;
  va_start(args, format);
  vlogf(level, filename, function, line, format, args);
  va_end(args);
}

}  // namespace executorch::runtime::internal
