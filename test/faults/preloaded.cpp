// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// A library for LD_PRELOAD: one system call or start of a thread fails in a program that knows
// nothing of faults. whole_suite.py runs the tests with it.
#include <stdio.h>
#include <stdlib.h>

#include <optional>

#include "faults/fault_points.h"

namespace faults = executorch::testing::faults;

namespace {

/// EXECUTORCH_FAIL_AT is the index of the point that fails. At the end, the number of points that
/// the program passed and the name of the failed one are written to EXECUTORCH_FAULT_REPORT.
class Faults final {
 public:
  Faults() {
    if (const char* index = getenv("EXECUTORCH_FAIL_AT")) {
      failing_.emplace(strtoll(index, nullptr, 10));
    }
  }
  ~Faults() {
    const char* const path = getenv("EXECUTORCH_FAULT_REPORT");
    FILE* const file = !failing_ || path == nullptr ? nullptr : fopen(path, "w");
    if (file != nullptr) {
      const char* const name = failing_->failed();
      fprintf(file, "%lld %s\n", static_cast<long long>(faults::points_passed()),
              name == nullptr ? "" : name);
      fclose(file);
    }
  }

 private:
  std::optional<faults::FailingAt> failing_;
};

const Faults faults_of_process;

}  // namespace
