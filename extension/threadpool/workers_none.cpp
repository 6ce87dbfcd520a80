// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
#include <executorch/extension/threadpool/workers.h>

namespace executorch::extension::threadpool {

const bool kHasWorkers = false;

std::shared_ptr<pthreadpool> start_workers(size_t) { return nullptr; }

void run_on_workers(pthreadpool_t, runtime::FunctionRef<void(size_t)> fn, size_t range) {
  for (size_t i = 0; i < range; ++i) {
    fn(i);
  }
}

}  // namespace executorch::extension::threadpool
