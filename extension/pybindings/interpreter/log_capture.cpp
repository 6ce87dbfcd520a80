// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
#include <executorch/extension/pybindings/interpreter/log_capture.h>

#include <new>
#include <utility>

#include <executorch/runtime/platform/platform.h>

namespace executorch::extension::pybindings {
namespace {

thread_local LogCapture* current_capture = nullptr;
runtime::pal_emit_log_message_method previous_sink = nullptr;

void sink(et_timestamp_t timestamp, et_pal_log_level_t level, const char* filename,
          const char* function, size_t line, const char* message, size_t length) {
  if (level == kError && current_capture != nullptr && current_capture->add(message, length)) {
    return;
  }
  previous_sink(timestamp, level, filename, function, line, message, length);
}

}  // namespace

void install_log_sink() {
  previous_sink = runtime::get_pal_impl()->emit_log_message;
  runtime::register_pal(runtime::PalImpl::create(sink, ET_SHORT_FILENAME));
}

LogCapture::LogCapture() : outer_(current_capture) { current_capture = this; }

LogCapture::LogCapture(std::shared_ptr<SharedLog> shared)
    : outer_(current_capture), shared_(std::move(shared)) {
  current_capture = this;
}

LogCapture* LogCapture::current() { return current_capture; }

bool LogCapture::add(const char* message, size_t length) {
  try {
    if (shared_ != nullptr) {
      shared_->add(message, length);
    } else {
      lines_.emplace_back(message, length);
    }
    return true;
  } catch (const std::bad_alloc&) {
    return false;
  }
}

LogCapture::~LogCapture() {
  current_capture = outer_;
  for (const std::string& line : lines_) {
    runtime::pal_emit_log_message(runtime::pal_current_ticks(), kError, "", "", 0, line.c_str(),
                                  line.size());
  }
}

std::vector<std::string> LogCapture::take() {
  std::vector<std::string> lines;
  if (current_capture != nullptr) {
    lines.swap(current_capture->lines_);
  }
  return lines;
}

}  // namespace executorch::extension::pybindings
