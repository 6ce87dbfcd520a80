// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// Marks of ExecuTorch's old profiler, for kernels and backends that contain them. This runtime
// lacks that profiler: marks evaluate to nothing, and PROFILING_ENABLED is a compile error. Use an
// EventTracer.
#pragma once

#include <stdint.h>

#ifdef PROFILING_ENABLED
#error \
    "PROFILING_ENABLED: this runtime lacks the built-in profiler; pass an EventTracer to load_method()"
#endif

namespace executorch {
namespace runtime {

/// The result of EXECUTORCH_DUMP_PROFILE_RESULTS, which is always empty.
struct prof_result_t {
  uint8_t* prof_data;
  uint32_t num_bytes;
  uint32_t num_blocks;
};

}  // namespace runtime
}  // namespace executorch

// Documented names of the same things.
namespace torch::executor {
using ::executorch::runtime::prof_result_t;
}  // namespace torch::executor

#define EXECUTORCH_PROFILE_CREATE_BLOCK(name) static_cast<void>(name)
#define EXECUTORCH_BEGIN_PROF(name) (static_cast<void>(name), uint32_t{0})
#define EXECUTORCH_END_PROF(token) static_cast<void>(token)
#define EXECUTORCH_SCOPE_PROF(name) static_cast<void>(name)
#define EXECUTORCH_PROFILE_INSTRUCTION_SCOPE(chain, instruction) \
  (static_cast<void>(chain), static_cast<void>(instruction))
#define EXECUTORCH_DUMP_PROFILE_RESULTS(result) (*(result) = ::executorch::runtime::prof_result_t{})
#define EXECUTORCH_RESET_PROFILE_RESULTS() static_cast<void>(0)
#define EXECUTORCH_TRACK_ALLOCATOR(name) (static_cast<void>(name), int32_t{-1})
#define EXECUTORCH_TRACK_ALLOCATION(id, size) (static_cast<void>(id), static_cast<void>(size))
