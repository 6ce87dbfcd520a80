// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// Rows as items for threads.
#pragma once

#include <algorithm>
#include <cstddef>

#include <executorch/kernels/engine/arithmetic.h>
#include <executorch/kernels/engine/threads.h>

namespace executorch::kernels::engine {

/// Numbers of an item: enough to be worth a thread's wake-up.
inline constexpr size_t kNumbersOfItem = size_t{1} << 14;

/// Calls f(first, count) for blocks of rows of `length` numbers each.
template <class F>
void for_each_rows(Threads& threads, size_t rows, size_t length, F&& f) {
  const size_t each = std::max(kNumbersOfItem / std::max(length, size_t{1}), size_t{1});
  for_each_item(threads, divide_up(rows, each),
                [&](size_t item, size_t) { f(item * each, std::min(each, rows - item * each)); });
}

}  // namespace executorch::kernels::engine
