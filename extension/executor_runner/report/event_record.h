// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
#pragma once

#include <stdint.h>

#include <optional>
#include <vector>

#include <executorch/devtools/etdump/etdump_flatcc.h>
#include <executorch/extension/executor_runner/options.h>

namespace executorch::extension::executor_runner {

/// The events of a run, if the options request them.
class EventRecord final {
 public:
  /// `options` must outlive it.
  explicit EventRecord(const Options& options);

  /// Null: nothing is recorded. Valid as long as this.
  ET_RUNTIME_NAMESPACE::EventTracer* tracer() { return tracer_.has_value() ? &*tracer_ : nullptr; }

  /// Writes the requested files; if that fails, ends the process with a line on stderr.
  void write();

 private:
  const Options& options_;
  std::vector<uint8_t> debug_buffer_;
  std::optional<etdump::ETDumpGen> tracer_;
};

}  // namespace executorch::extension::executor_runner
