// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
#include <executorch/extension/executor_runner/report/failure.h>

#include <stdio.h>
#include <stdlib.h>

#include <utility>

#include <executorch/runtime/platform/platform.h>

namespace executorch::extension::executor_runner {
namespace {

std::string& messages() {
  static std::string text;
  return text;
}

void keep_errors(et_timestamp_t, et_pal_log_level_t level, const char*, const char*, size_t,
                 const char* message, size_t length) {
  if (level == kError || level == kFatal) {
    messages() += (messages().empty() ? "" : "; ") + std::string(message, length);
  }
}

}  // namespace

void collect_messages() {
  runtime::register_pal(runtime::PalImpl::create(keep_errors, ET_SHORT_FILENAME));
}

std::string take_messages() {
  std::string taken;
  std::swap(taken, messages());
  return taken;
}

void fail(const std::string& what) {
  const std::string line = what + (messages().empty() ? "" : ": ") + messages();
  fprintf(stderr, "executor_runner: %s\n", line.c_str());
  exit(EXIT_FAILURE);
}

}  // namespace executorch::extension::executor_runner
