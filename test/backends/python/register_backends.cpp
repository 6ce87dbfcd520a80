// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// Makes the demo backends part of the Python extension that this is linked into.
#include <executorch/runtime/platform/log.h>
#include <executorch/runtime/platform/runtime.h>

#include "backends/demo_backend.h"
#include "backends/executor_backend.h"

namespace {

using executorch::runtime::Error;

const bool registered = [] {
  executorch::runtime::runtime_init();
  const bool done = executorch::demo::register_demo_backend() == Error::Ok &&
                    executorch::demo::register_executor_backend() == Error::Ok;
  if (!done) {
    ET_LOG(Error, "the demo backends are not registered");
  }
  return done;
}();

}  // namespace
