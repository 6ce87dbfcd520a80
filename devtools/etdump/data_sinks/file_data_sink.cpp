// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
#include <executorch/devtools/etdump/data_sinks/file_data_sink.h>

#include <errno.h>
#include <string.h>

namespace executorch::etdump {

using runtime::Error;
using runtime::Result;

Result<FileDataSink> FileDataSink::create(const char* file_path) {
  FILE* file = fopen(file_path, "wb");
  ET_CHECK_OR_RETURN_ERROR(file != nullptr, AccessFailed, "etdump: cannot write '%s': %s",
                           file_path, strerror(errno));
  return FileDataSink(file);
}

Result<size_t> FileDataSink::write(const void* ptr, size_t length) {
  ET_CHECK_OR_RETURN_ERROR(file_ != nullptr, AccessFailed, "etdump: the data's file is closed");
  ET_CHECK_OR_RETURN_ERROR(length == 0 || fwrite(ptr, 1, length, file_) == length, AccessFailed,
                           "etdump: %zu bytes of data cannot be written: %s", length,
                           strerror(errno));
  const size_t offset = used_;
  used_ += length;
  return offset;
}

void FileDataSink::close() {
  if (file_ != nullptr) {
    fclose(file_);
    file_ = nullptr;
  }
}

}  // namespace executorch::etdump
