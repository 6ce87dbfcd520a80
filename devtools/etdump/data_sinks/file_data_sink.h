// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
#pragma once

#include <stdio.h>

#include <executorch/devtools/etdump/data_sinks/data_sink_base.h>

namespace executorch::etdump {

/// Appends the bytes to a file.
class FileDataSink final : public DataSinkBase {
 public:
  /// AccessFailed if the file cannot be written.
  static runtime::Result<FileDataSink> create(const char* file_path);
  FileDataSink(FileDataSink&& other) noexcept : file_(other.file_), used_(other.used_) {
    other.file_ = nullptr;
  }
  FileDataSink(const FileDataSink&) = delete;
  FileDataSink& operator=(const FileDataSink&) = delete;
  FileDataSink& operator=(FileDataSink&&) = delete;
  ~FileDataSink() override { close(); }

  runtime::Result<size_t> write(const void* ptr, size_t length) override;
  size_t get_used_bytes() const override { return used_; }
  /// Closes the file. Later writes fail.
  void close();

 private:
  explicit FileDataSink(FILE* file) : file_(file) {}

  FILE* file_;
  size_t used_ = 0;
};

}  // namespace executorch::etdump
