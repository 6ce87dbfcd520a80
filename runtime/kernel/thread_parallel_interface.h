// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// parallel_for() for kernels outside of this project, on the threads that runtime/kernel/parallel.h
// provides: those of the linked thread pool, else only the calling thread.
#pragma once

#include <inttypes.h>
#include <stdint.h>

#include <algorithm>

#include <executorch/runtime/core/error.h>
#include <executorch/runtime/core/function_ref.h>
#include <executorch/runtime/kernel/parallel.h>

namespace executorch::extension {

namespace internal {
/// A grain size for loops of little work.
constexpr int64_t GRAIN_SIZE = 32768;

inline int64_t& parallel_part() {
  static thread_local int64_t part = 0;
  return part;
}

inline bool check_range(int64_t begin, int64_t end, int64_t grain_size) {
  ET_CHECK_OR_RETURN_FALSE(0 <= begin && begin <= end && 0 < grain_size,
                           "begin %" PRId64 ", end %" PRId64 ", grain size %" PRId64, begin, end,
                           grain_size);
  return true;
}

/// parallel_for() on the calling thread alone, which calls f(begin, end) once.
inline bool parallel_for_no_threadpool(int64_t begin, int64_t end, int64_t grain_size,
                                       runtime::FunctionRef<void(int64_t, int64_t)> f) {
  if (!check_range(begin, end, grain_size)) {
    return false;
  }
  if (begin < end) {
    f(begin, end);
  }
  return true;
}
}  // namespace internal

/// Within a call that parallel_for() makes: the index of its part. Elsewhere 0.
inline int64_t get_thread_num() { return internal::parallel_part(); }
inline void set_thread_num(int64_t thread_num) { internal::parallel_part() = thread_num; }

/// Divides [begin, end) into at most one part per thread, each of `grain_size` numbers or more if
/// there are enough, and calls f(first, last) for every part, in any order and at the same time.
/// Returns when all calls have; false, after a log message, unless
/// 0 <= begin <= end and 0 < grain_size.
inline bool parallel_for(int64_t begin, int64_t end, int64_t grain_size,
                         runtime::FunctionRef<void(int64_t, int64_t)> f) {
  if (!internal::check_range(begin, end, grain_size)) {
    return false;
  }
  const int64_t count = end - begin;
  if (count == 0) {
    return true;
  }
  const size_t parts =
      runtime::parallel_parts(static_cast<size_t>(count), static_cast<size_t>(grain_size));
  const int64_t size = (count - 1) / static_cast<int64_t>(parts) + 1;
  const size_t used = static_cast<size_t>((count - 1) / size + 1);
  runtime::run_parallel(
      [&](size_t part) {
        const int64_t outer = get_thread_num();
        set_thread_num(static_cast<int64_t>(part));
        const int64_t first = begin + static_cast<int64_t>(part) * size;
        f(first, std::min(first + size, end));
        set_thread_num(outer);
      },
      used);
  return true;
}

}  // namespace executorch::extension

// Documented names of the same things.
namespace torch::executor {
using ::executorch::extension::get_thread_num;
using ::executorch::extension::parallel_for;
using ::executorch::extension::set_thread_num;
}  // namespace torch::executor
