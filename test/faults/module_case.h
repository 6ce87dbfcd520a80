// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
#pragma once

#include <stdint.h>

#include <vector>

#include <executorch/extension/module/module.h>

namespace executorch::testing {

/// A program of the test data, and how to load and execute it while faults are injected.
struct ModuleCase {
  const char* file;
  const char* method;
  std::vector<int32_t> sizes;
  extension::Module::LoadMode mode = extension::Module::LoadMode::File;
  bool is_async = false;
  const char* data_file = nullptr;
};

}  // namespace executorch::testing
