// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// Temporary memory of loops that are divided among threads.
#pragma once

#include <executorch/runtime/kernel/kernel_runtime_context.h>

namespace executorch::kernels::optimized {

/// `bytes` of temporary memory for each part of a Division or NestDivision, one after the other.
/// Where there is too little for all, the division is limited to one part; nullptr if there is none
/// for that either.
template <class Parts>
char* part_buffers(KernelRuntimeContext& ctx, Parts& division, size_t bytes) {
  const auto take = [&]() -> char* {
    const auto memory = ctx.allocate_temp(bytes * size_t(division.parts()), 64);
    return memory.ok() ? static_cast<char*>(*memory) : nullptr;
  };
  char* const all = take();
  if (all != nullptr || division.parts() == 1) return all;
  division.limit(1);
  return take();
}

}  // namespace executorch::kernels::optimized
