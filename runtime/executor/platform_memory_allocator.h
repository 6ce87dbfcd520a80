// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// The place of the allocator in ExecuTorch 1.4.
#pragma once

#include <executorch/runtime/kernel/platform_memory_allocator.h>  // IWYU pragma: export
