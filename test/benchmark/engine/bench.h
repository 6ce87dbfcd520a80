// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// Processor time and aligned memory, shared by the benchmarks of the engine.
#pragma once

#include <cstddef>
#include <cstdlib>
#include <ctime>
#include <memory>

namespace engine_bench {

inline double now() {
  timespec time = {};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
  return double(time.tv_sec) + 1e-9 * double(time.tv_nsec);
}

struct Free {
  void operator()(void* memory) const { std::free(memory); }
};
inline std::unique_ptr<void, Free> aligned(size_t bytes) {
  return std::unique_ptr<void, Free>(std::aligned_alloc(64, (bytes / 64 + 1) * 64));
}

}  // namespace engine_bench
