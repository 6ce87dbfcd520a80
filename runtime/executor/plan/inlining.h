// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// What is inlined while programs are verified and loaded: as much as makes that fast, or, in code
// that is compiled for size, as little as makes it small.
#pragma once

#include <executorch/runtime/platform/compiler.h>

/// ET_INLINE_UNLESS_SMALL: a function with one or two callers in a hot loop.
/// ET_INLINE_OR_SHARED: a function in a header, compiled into its callers or once for all of them.
#if defined(__OPTIMIZE_SIZE__)
#define ET_INLINE_UNLESS_SMALL inline
#define ET_INLINE_OR_SHARED ET_NOINLINE inline
#else
#define ET_INLINE_UNLESS_SMALL ET_INLINE
#define ET_INLINE_OR_SHARED inline
#endif
