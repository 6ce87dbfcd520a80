// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// parallel_for(), under its documented path.
#pragma once

#include <executorch/runtime/kernel/thread_parallel_interface.h>
