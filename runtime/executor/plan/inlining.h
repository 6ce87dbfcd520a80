// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// Inlining in the code that verifies and loads programs: generous for speed, sparing in builds for
// size.
#pragma once

#include <executorch/runtime/platform/compiler.h>

/// ET_INLINE_UNLESS_SMALL marks a function with one or two callers in a hot loop.
/// ET_INLINE_OR_SHARED marks a function in a header; builds for size compile it once.
/// ET_SHORTCUTS is 0 in builds for size, which do without faster ways to the same result.
#if defined(__OPTIMIZE_SIZE__)
#define ET_INLINE_UNLESS_SMALL inline
#define ET_INLINE_OR_SHARED ET_NOINLINE inline
#define ET_SHORTCUTS 0
#elif !defined(__OPTIMIZE__)
// Copies would divide the counts of coverage (test/coverage.sh).
#define ET_INLINE_UNLESS_SMALL inline
#define ET_INLINE_OR_SHARED inline
#define ET_SHORTCUTS 1
#else
#define ET_INLINE_UNLESS_SMALL ET_INLINE
#define ET_INLINE_OR_SHARED ET_INLINE
#define ET_SHORTCUTS 1
#endif
