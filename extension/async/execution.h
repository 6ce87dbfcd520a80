// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// Declarations for Method::execute_async(): the future that it returns, and pools of threads.
#pragma once

#include <executorch/runtime/executor/execution.h>
#include <executorch/runtime/executor/task_pool.h>
