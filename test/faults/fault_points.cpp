// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
#include "faults/fault_points.h"

#include <atomic>

namespace executorch::testing::faults {
namespace {

std::atomic<bool> is_armed{false};
std::atomic<int64_t> passed{0};
std::atomic<int64_t> failing{0};
std::atomic<const char*> failed_name{nullptr};
std::atomic<Kind> failed_kind{Kind::SystemCall};

}  // namespace

bool fails(Kind kind, const char* name) {
  if (!is_armed || passed++ != failing) {
    return false;
  }
  failed_name = name;
  failed_kind = kind;
  return true;
}

FailingAt::FailingAt(int64_t index) {
  passed = 0;
  failing = index;
  failed_name = nullptr;
  is_armed = true;
}
FailingAt::~FailingAt() { is_armed = false; }
int64_t points_passed() { return passed; }
const char* FailingAt::failed() const { return failed_name; }
Kind FailingAt::kind() const { return failed_kind; }

}  // namespace executorch::testing::faults
