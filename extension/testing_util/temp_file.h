// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
#pragma once

#include <errno.h>
#include <gtest/gtest.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <string>

namespace executorch::extension::testing {

/// A file for a googletest test, removed when the object goes. The test fails if it cannot be
/// written; path() is then empty.
class TempFile final {
 public:
  /// A file with these bytes.
  explicit TempFile(const std::string& contents) : TempFile(contents.data(), contents.size()) {}
  TempFile(const void* data, size_t size) { create(data, size); }
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
  // googletest's ASSERT_… return from a function that returns nothing.
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

  std::string path_;
};

}  // namespace executorch::extension::testing

// Documented names of the same things.
namespace torch::executor::testing {
using ::executorch::extension::testing::TempFile;
}  // namespace torch::executor::testing
