// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
#pragma once

#include <stdint.h>

#include <executorch/extension/threadpool/cores.h>

namespace executorch::extension::cpuinfo {

/// The number of cores for which the default pool has a thread: threadpool::usable_cores().
inline uint32_t get_num_performant_cores() {
  return static_cast<uint32_t>(threadpool::usable_cores());
}

}  // namespace executorch::extension::cpuinfo

// Documented names of the same things.
// Within namespace torch, executorch::… still finds what ::executorch has.
namespace torch::executorch {
using namespace ::executorch;  // NOLINT: the purpose of it
}  // namespace torch::executorch
namespace torch::executorch::cpuinfo {
using ::executorch::extension::cpuinfo::get_num_performant_cores;
}  // namespace torch::executorch::cpuinfo
