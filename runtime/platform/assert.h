// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// Checks of the programmer's own assumptions. They end the program, so no file, model or input may
// be able to reach one: what comes from outside is checked with ET_CHECK_OR_RETURN_ERROR.
#pragma once

#include <executorch/runtime/platform/abort.h>
#include <executorch/runtime/platform/compiler.h>
#include <executorch/runtime/platform/log.h>

#define ET_CHECK_MSG(cond, ...)                        \
  do {                                                 \
    if (ET_UNLIKELY(!(cond))) {                        \
      ET_LOG(Fatal, "assertion failed: " __VA_ARGS__); \
      ::executorch::runtime::runtime_abort();          \
    }                                                  \
  } while (0)

#define ET_CHECK(cond) ET_CHECK_MSG(cond, "%s", #cond)

/// Ends the program: control must not come here.
#define ET_ASSERT_UNREACHABLE() ET_ASSERT_UNREACHABLE_MSG("reached code that must not be reached")
#define ET_ASSERT_UNREACHABLE_MSG(...) \
  do {                                 \
    ET_CHECK_MSG(false, __VA_ARGS__);  \
    ET_UNREACHABLE();                  \
  } while (0)

#ifdef NDEBUG
// Compiled but not evaluated, so that its operands count as used.
#define ET_DCHECK(cond) ((void)sizeof(!(cond)))
/// Marks a variable that only debug builds read.
#define ET_DEBUG_ONLY [[maybe_unused]]
#define ET_DCHECK_MSG(cond, ...) ((void)sizeof(!(cond)))
#else
#define ET_DCHECK(cond) ET_CHECK(cond)
#define ET_DEBUG_ONLY
#define ET_DCHECK_MSG(cond, ...) ET_CHECK_MSG(cond, __VA_ARGS__)
#endif
