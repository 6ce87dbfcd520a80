// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// Method::execute_async(): the future that it returns, and the threads that it takes.
#pragma once

#include <executorch/extension/async/task_pool.h>
#include <executorch/runtime/executor/execution.h>
