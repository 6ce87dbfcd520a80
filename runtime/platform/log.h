// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// Logging: ET_LOG(Error, "size %zu", size). One message is one line of the platform's log.
//
// ET_LOG_ENABLED=0 removes every message and its text from the binary;
// ET_MIN_LOG_LEVEL=Error (a level's name) removes those below that level.
#pragma once

#include <inttypes.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <executorch/runtime/platform/compiler.h>
#include <executorch/runtime/platform/platform.h>

#ifndef ET_LOG_ENABLED
#define ET_LOG_ENABLED 1
#endif
#ifndef ET_MIN_LOG_LEVEL
#define ET_MIN_LOG_LEVEL Info
#endif

namespace executorch::runtime {

enum class LogLevel : uint8_t {
  Debug,
  Info,
  Error,
  Fatal,
  NumLevels,
};

namespace internal {

/// Formats like printf and hands the message to the platform; text beyond 511 bytes is cut, its
/// end then reads "...".
void logf(LogLevel level, const char* filename, const char* function, size_t line,
          const char* format, ...) ET_PRINTF_FORMAT(5, 6) ET_COLD;
void vlogf(LogLevel level, const char* filename, const char* function, size_t line,
           const char* format, va_list args) ET_COLD;

}  // namespace internal
}  // namespace executorch::runtime

// Documented names of the same things.
namespace torch::executor {
using ::executorch::runtime::LogLevel;
}  // namespace torch::executor

#if ET_LOG_ENABLED
#define ET_LOG(level, ...)                                                                         \
  do {                                                                                             \
    if (::executorch::runtime::LogLevel::level >=                                                  \
        ::executorch::runtime::LogLevel::ET_MIN_LOG_LEVEL) {                                       \
      ::executorch::runtime::internal::logf(::executorch::runtime::LogLevel::level,                \
                                            ET_SHORT_FILENAME, ET_FUNCTION, ET_LINE, __VA_ARGS__); \
    }                                                                                              \
  } while (0)
#else
// `if (false)` keeps the arguments used (no warnings) and emits nothing.
#define ET_LOG(level, ...)                                                                     \
  do {                                                                                         \
    if (false) {                                                                               \
      ::executorch::runtime::internal::logf(::executorch::runtime::LogLevel::level, "", "", 0, \
                                            __VA_ARGS__);                                      \
    }                                                                                          \
  } while (0)
#endif

/// Logs a message if `cond` is false, and continues.
#define ET_CHECK_OR_LOG_ERROR(cond, ...) \
  do {                                   \
    if (!(cond)) {                       \
      ET_LOG(Error, __VA_ARGS__);        \
    }                                    \
  } while (0)
