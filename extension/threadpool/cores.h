// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// How many cores this process may use.
#pragma once

#include <stddef.h>

#include <string>
#include <vector>

namespace executorch::extension::threadpool {

/// The physical cores among the processors that the process may run on (its affinity), without the
/// cores of the weakest kind where the system has several kinds, and no more than the CPU time that
/// its control groups grant (rounded down); at least 1. Read once.
size_t usable_cores();

/// Number of physical cores of these processors, without the slowest kind, from the files below
/// `root`/sys/devices/system/cpu. Each undescribed processor counts as one.
size_t count_cores(const std::string& root, const std::vector<int>& processors);

/// CPU quota, in processors, of the process's control groups (versions 1 and 2, including
/// ancestors), from the files below `root`; infinite without a limit.
double granted_processors(const std::string& root);

}  // namespace executorch::extension::threadpool
