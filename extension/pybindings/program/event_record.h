// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
#pragma once

#include <stdint.h>

#include <optional>
#include <string>
#include <vector>

#include <executorch/devtools/etdump/etdump_flatcc.h>

namespace executorch::extension::pybindings {

/// Records events of a program's methods, which take turns to run, and the values that they
/// compute.
class EventRecord final {
 public:
  /// Raises NotSupportedError if the runtime was built without events.
  /// @param debug_buffer_size Bytes for recorded values; 0 records events only.
  explicit EventRecord(size_t debug_buffer_size);

  runtime::EventTracer* tracer() { return &tracer_; }

  /// Writes the record so far. Raises AccessError if a file cannot be written.
  /// @param debug_buffer_path File for the recorded values; nullopt writes events only.
  void write(const std::string& path, const std::optional<std::string>& debug_buffer_path);

 private:
  std::vector<uint8_t> debug_buffer_;
  etdump::ETDumpGen tracer_;
};

}  // namespace executorch::extension::pybindings
