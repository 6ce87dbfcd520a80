// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// Compiler-specific attributes, and the POSIX type that C++ lacks.
#pragma once

#include <stddef.h>
#include <stdint.h>

#include <executorch/runtime/platform/standard_headers.h>

#if defined(_MSC_VER)
using ssize_t = ptrdiff_t;
#else
#include <sys/types.h>
#endif

#if __cplusplus < 201703L && !defined(_MSC_VER)
#error "ExecuTorch needs C++17."
#endif

/// 1 if `({ … })` is an expression, as in ET_UNWRAP().
#if defined(__GNUC__)
#define ET_HAVE_GNU_STATEMENT_EXPRESSIONS 1
#else
#define ET_HAVE_GNU_STATEMENT_EXPRESSIONS 0
#endif

#define ET_NODISCARD [[nodiscard]]
#define ET_NORETURN [[noreturn]]
#define ET_UNUSED [[maybe_unused]]
#define ET_DEPRECATED [[deprecated]]
/// Marks an interface that may still change; it has no effect here.
#define ET_EXPERIMENTAL
#define ET_FALLTHROUGH [[fallthrough]]

#if defined(__GNUC__)
#define ET_INLINE inline __attribute__((always_inline))
#define ET_NOINLINE __attribute__((noinline))
#define ET_WEAK __attribute__((weak))
#define ET_COLD __attribute__((cold))
/// Visible outside of a shared library, whatever its default.
#define ET_EXPORT __attribute__((visibility("default")))
#define ET_PRINTF_FORMAT(format_index, first_argument) \
  __attribute__((format(printf, format_index, first_argument)))
#define ET_LIKELY(expr) (__builtin_expect(!!(expr), 1))
#define ET_UNLIKELY(expr) (__builtin_expect(!!(expr), 0))
#define ET_RESTRICT __restrict__
/// Marks unreachable control flow for the compiler.
#define ET_UNREACHABLE() __builtin_unreachable()
#else
#define ET_INLINE inline
#define ET_NOINLINE
#define ET_WEAK
#define ET_COLD
#define ET_EXPORT
#define ET_PRINTF_FORMAT(format_index, first_argument)
#define ET_LIKELY(expr) (expr)
#define ET_UNLIKELY(expr) (expr)
#define ET_RESTRICT __restrict
#define ET_UNREACHABLE() __assume(0)
#endif

// The name of the source file without its folders, so that no build path ends up in a binary.
#if defined(__FILE_NAME__)
#define ET_SHORT_FILENAME __FILE_NAME__
#else
#define ET_SHORT_FILENAME __FILE__
#endif
#define ET_LINE __LINE__
#define ET_FUNCTION __func__

#define ET_PRINTFLIKE(format_index, first_argument) ET_PRINTF_FORMAT(format_index, first_argument)
/// 1 where exceptions can be thrown and caught.
#if defined(__cpp_exceptions) || defined(_CPPUNWIND)
#define ET_HAS_EXCEPTIONS 1
#else
#define ET_HAS_EXCEPTIONS 0
#endif

// Spellings of older code.
#define __ET_DEPRECATED ET_DEPRECATED
#define __ET_FALLTHROUGH ET_FALLTHROUGH
#define __ET_FUNCTION ET_FUNCTION
#define __ET_HAVE_GNU_STATEMENT_EXPRESSIONS ET_HAVE_GNU_STATEMENT_EXPRESSIONS
#define __ET_INLINE ET_INLINE
#define __ET_LIKELY ET_LIKELY
#define __ET_LINE ET_LINE
#define __ET_NODISCARD ET_NODISCARD
#define __ET_NOINLINE ET_NOINLINE
#define __ET_NORETURN ET_NORETURN
#define __ET_PRINTFLIKE ET_PRINTFLIKE
#define __ET_SHORT_FILENAME ET_SHORT_FILENAME
#define __ET_UNLIKELY ET_UNLIKELY
#define __ET_UNREACHABLE ET_UNREACHABLE
#define __ET_UNUSED ET_UNUSED
#define __ET_WEAK ET_WEAK

// printf conversions of size_t and ssize_t.
#define ET_PRIsize_t "zu"
#define ET_PRIssize_t "zd"
