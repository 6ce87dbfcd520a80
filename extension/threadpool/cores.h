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

/// The physical cores of these processors, the weakest kind left out, as the files below
/// `root`/sys/devices/system/cpu describe them; processors that are not described count each.
size_t count_cores(const std::string& root, const std::vector<int>& processors);

/// The CPU time per time, in processors, that the control groups of the process grant (versions 1
/// and 2, all groups above it too), as the files below `root` say; infinite if there is no limit.
double granted_processors(const std::string& root);

}  // namespace executorch::extension::threadpool
