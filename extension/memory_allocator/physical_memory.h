// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// The memory that the process may use, on which default limits depend.
#pragma once

#include <stddef.h>
#include <stdint.h>

namespace executorch::extension {

namespace internal {

/// The smallest memory limit of the process's control groups and of their parents, which containers
/// set: `memory.max` of version 2, `memory.limit_in_bytes` of version 1, mounted at
/// /sys/fs/cgroup. UINT64_MAX if there is none that can be read; 0 if the process lacks a file
/// descriptor or memory to read one.
/// @param root Replaces the folder `/`.
uint64_t control_group_limit(const char* root);

}  // namespace internal

/// Three quarters of the machine's memory, or of a smaller limit of the process's control groups
/// when this first read them; 0 if they are unknown. If the process lacks a file descriptor or
/// memory to read them, this logs an error, returns the machine's, and the next call reads them.
size_t three_quarters_of_memory();

/// The same as a limit: SIZE_MAX if the memory is unknown.
inline size_t memory_limit() {
  const size_t bytes = three_quarters_of_memory();
  return bytes == 0 ? SIZE_MAX : bytes;
}

}  // namespace executorch::extension
