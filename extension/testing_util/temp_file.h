// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
#pragma once

#include <errno.h>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <string>

namespace executorch::extension::testing {

/// A file for a googletest test, which the destructor removes. The test fails if it cannot be
/// written; path() is then empty.
class TempFile final {
 public:
  /// A file with these bytes.
  explicit TempFile(const std::string& contents) : TempFile(contents.data(), contents.size()) {}
  TempFile(const void* data, size_t size) { create(data, size); }
  /// A sparse file of `file_size` bytes that has `contents` from `offset` on, and zeros elsewhere.
  TempFile(size_t offset, const std::string& contents, size_t file_size) {
    create("", 0);
    if (!path_.empty()) {
      fill(offset, contents, file_size);
    }
  }
  TempFile(const TempFile&) = delete;
  TempFile& operator=(const TempFile&) = delete;
  ~TempFile() {
    if (!path_.empty()) {
      unlink(path_.c_str());
    }
  }

  /// Absolute.
  const std::string& path() const { return path_; }

 private:
  // googletest's ASSERT_… need a function that returns void.
  void create(const void* data, size_t size) {
    const char* const folder = getenv("TMPDIR");
    std::string path = folder != nullptr && folder[0] == '/' ? folder : "/tmp";
    path += "/executorch-XXXXXX";
    const int file = mkstemp(path.data());
    ASSERT_GE(file, 0) << path << " cannot be made: " << strerror(errno);
    path_ = path;
    for (size_t done = 0; done < size;) {
      const ssize_t written = write(file, static_cast<const char*>(data) + done, size - done);
      if (written < 0) {
        ADD_FAILURE() << path << " cannot be written: " << strerror(errno);
        break;
      }
      done += static_cast<size_t>(written);
    }
    close(file);
  }

  void fill(size_t offset, const std::string& contents, size_t file_size) {
    const int file = open(path_.c_str(), O_WRONLY | O_CLOEXEC);
    ASSERT_GE(file, 0) << path_ << " cannot be opened: " << strerror(errno);
    const bool sized = ftruncate(file, static_cast<off_t>(file_size)) == 0;
    const ssize_t written =
        pwrite(file, contents.data(), contents.size(), static_cast<off_t>(offset));
    close(file);
    ASSERT_TRUE(sized && written == static_cast<ssize_t>(contents.size()))
        << path_ << " cannot be written: " << strerror(errno);
  }

  std::string path_;
};

}  // namespace executorch::extension::testing

// Documented names of the same things.
namespace torch::executor::testing {
using ::executorch::extension::testing::TempFile;
}  // namespace torch::executor::testing
