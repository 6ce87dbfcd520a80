// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
#include "fuzz/engine/features.h"

#include <mutex>
#include <utility>

#include <executorch/runtime/platform/platform.h>
#include <executorch/runtime/platform/runtime.h>

namespace executorch::fuzz {
namespace {

/// Messages come from every thread that a target starts.
std::mutex& mutex() {
  static std::mutex lock;
  return lock;
}
std::vector<uint64_t>& features() {
  static std::vector<uint64_t> list;
  return list;
}

void note_message(et_timestamp_t, et_pal_log_level_t, const char* file, const char*, size_t line,
                  const char*, size_t) {
  // The driver's processes are copies of one, in which the name has one address.
  note_feature(reinterpret_cast<uintptr_t>(file) * 0x9e3779b97f4a7c15u + line);
}

}  // namespace

void start() {
  static const bool started = [] {
    runtime::runtime_init();
    return runtime::register_pal(runtime::PalImpl::create(&note_message, __FILE__));
  }();
  (void)started;
}

void note_feature(uint64_t feature) {
  const std::lock_guard<std::mutex> guard(mutex());
  features().push_back(feature);
}

std::vector<uint64_t> take_features() {
  const std::lock_guard<std::mutex> guard(mutex());
  return std::exchange(features(), {});
}

}  // namespace executorch::fuzz

/// Options of AddressSanitizer: an allocation above the limit returns null, as without the
/// sanitizer. Freed blocks are kept for some dozens of executions: more would cost page faults.
extern "C" __attribute__((visibility("default"))) const char* __asan_default_options() {
  return "allocator_may_return_null=1:max_allocation_size_mb=1024:quarantine_size_mb=32";
}
