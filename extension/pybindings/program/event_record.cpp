// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
#include <executorch/extension/pybindings/program/event_record.h>

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <memory>

#include <executorch/extension/pybindings/interpreter/raise.h>
#include <executorch/runtime/core/event_tracer_hooks.h>

namespace executorch::extension::pybindings {

using runtime::Error;

namespace {

void write_file(const std::string& path, const void* bytes, size_t size) {
  expect_path(path);
  FILE* file = fopen(path.c_str(), "wb");
  const bool is_written = file != nullptr && fwrite(bytes, 1, size, file) == size;
  const int cause = errno;
  if ((file != nullptr && fclose(file) != 0) || !is_written) {
    raise_error(Error::AccessFailed, "cannot write '" + path + "': " + strerror(cause));
  }
}

}  // namespace

EventRecord::EventRecord(size_t debug_buffer_size) : debug_buffer_(debug_buffer_size) {
  if (!ET_RUNTIME_NAMESPACE::internal::event_tracer_enabled()) {
    raise_error(
        Error::NotSupported,
        "enable_etdump=True: the runtime was built with EXECUTORCH_ENABLE_EVENT_TRACER=OFF");
  }
  if (debug_buffer_size != 0) {
    const runtime::Result<bool> set =
        tracer_.set_debug_buffer({debug_buffer_.data(), debug_buffer_.size()});
    if (!set.ok()) {
      raise_error(set.error(), "debug_buffer_size");
    }
    tracer_.set_event_tracer_debug_level(runtime::EventTracerDebugLogLevel::kIntermediateOutputs);
  }
}

void EventRecord::write(const std::string& path,
                        const std::optional<std::string>& debug_buffer_path) {
  const etdump::ETDumpResult record = tracer_.get_etdump_data();
  const std::unique_ptr<void, void (*)(void*)> bytes(record.buf, free);
  if (record.buf == nullptr) {
    raise_error(Error::InvalidState,
                "write_etdump_result_to_file(): nothing was recorded; no method has been loaded");
  }
  write_file(path, record.buf, record.size);
  if (debug_buffer_path.has_value() && !debug_buffer_.empty()) {
    write_file(*debug_buffer_path, debug_buffer_.data(), tracer_.get_data_sink()->get_used_bytes());
  }
}

}  // namespace executorch::extension::pybindings
