// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// Threads for Method::execute_async(), which the application gives. The runtime starts none.
#pragma once

#include <stddef.h>

namespace executorch::runtime {

struct Task;

/// What surrounds tasks where they run; it runs them.
struct TaskScope {
  /// When the task has run, the scope may be gone.
  virtual void run(Task& task) = 0;

 protected:
  ~TaskScope() = default;
};

/// Something to be run once. It belongs to whoever posts it, and may be gone when run() returns.
struct Task {
  virtual void run() = 0;
  // For pools, while the task waits.
  Task* next = nullptr;
  TaskScope* scope = nullptr;

 protected:
  ~Task() = default;
};

/// What runs tasks; extension/threadpool/task_threads.h is one. It must outlive what runs on it.
class TaskPool {
 public:
  virtual ~TaskPool() = default;

  /// Runs the task soon, on a thread of the pool, without waiting for it; tasks may post others.
  /// Every task must be run in the end, whatever the others do.
  virtual void post(Task& task) = 0;
};

}  // namespace executorch::runtime
