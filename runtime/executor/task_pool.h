// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// Interface to the application's threads for Method::execute_async(). The runtime starts no
// threads.
#pragma once

#include <stddef.h>

namespace executorch::runtime {

struct Task;

/// Wraps the execution of tasks on a thread.
struct TaskScope {
  /// Runs the task. The scope may be destroyed once the task has run.
  virtual void run(Task& task) = 0;

 protected:
  ~TaskScope() = default;
};

/// Work to run once. The poster owns it and may destroy it as soon as run() returns.
struct Task {
  virtual void run() = 0;
  // Queue link, used by pools while the task waits.
  Task* next = nullptr;
  TaskScope* scope = nullptr;

 protected:
  ~Task() = default;
};

/// Runs tasks. extension::TaskThreads is an implementation. Must outlive its tasks.
class TaskPool {
 public:
  virtual ~TaskPool() = default;

  /// Queues the task for a thread of the pool and returns at once. Tasks may post others. Every
  /// task must run eventually, regardless of the others.
  virtual void post(Task& task) = 0;
};

}  // namespace executorch::runtime
