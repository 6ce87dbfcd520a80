// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
#include <executorch/extension/executor_runner/report/event_record.h>

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <executorch/extension/executor_runner/report/failure.h>
#include <executorch/runtime/core/event_tracer_hooks.h>

namespace executorch::extension::executor_runner {
namespace {

void write_file(const std::string& path, const void* bytes, size_t size) {
  FILE* file = fopen(path.c_str(), "wb");
  const bool is_written = file != nullptr && fwrite(bytes, 1, size, file) == size;
  if ((file != nullptr && fclose(file) != 0) || !is_written) {
    fail("cannot write '" + path + "': " + strerror(errno));
  }
}

}  // namespace

EventRecord::EventRecord(const Options& options) : options_(options) {
  if (options.etdump_path.empty()) {
    return;
  }
  if (!ET_RUNTIME_NAMESPACE::internal::event_tracer_enabled()) {
    fail("--etdump_path: this program was built with EXECUTORCH_ENABLE_EVENT_TRACER=OFF");
  }
  tracer_.emplace();
  if (!options.debug_output_path.empty()) {
    debug_buffer_.resize(options.debug_buffer_size);
    require(tracer_->set_debug_buffer({debug_buffer_.data(), debug_buffer_.size()}),
            "--debug_buffer_size");
    tracer_->set_event_tracer_debug_level(
        ET_RUNTIME_NAMESPACE::EventTracerDebugLogLevel::kIntermediateOutputs);
  }
}

void EventRecord::write() {
  if (!tracer_.has_value()) {
    return;
  }
  const etdump::ETDumpResult record = tracer_->get_etdump_data();
  if (record.buf == nullptr) {
    fail("no memory for the record of --etdump_path");
  }
  write_file(options_.etdump_path, record.buf, record.size);
  free(record.buf);
  if (!options_.debug_output_path.empty()) {
    write_file(options_.debug_output_path, debug_buffer_.data(),
               tracer_->get_data_sink()->get_used_bytes());
  }
}

}  // namespace executorch::extension::executor_runner
