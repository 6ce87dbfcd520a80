// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
#pragma once

#include <sys/resource.h>

namespace executorch::testing {

/// Opening a file fails while this exists.
class NoDescriptors final {
 public:
  NoDescriptors() {
    getrlimit(RLIMIT_NOFILE, &before_);
    const rlimit none{0, before_.rlim_max};
    setrlimit(RLIMIT_NOFILE, &none);
  }
  ~NoDescriptors() { setrlimit(RLIMIT_NOFILE, &before_); }
  NoDescriptors(const NoDescriptors&) = delete;
  NoDescriptors& operator=(const NoDescriptors&) = delete;

 private:
  rlimit before_{};
};

}  // namespace executorch::testing
