// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// Every request to the heap fails once while options of XNNPACK's backend are set and read.
#include <cstdint>
#include <functional>
#include <string>

#include <gtest/gtest.h>

#include <executorch/backends/xnnpack/runtime/XNNPACKBackend.h>
#include <executorch/runtime/backend/interface.h>
#include <executorch/runtime/platform/runtime.h>

#include "memory/heap_interposition.h"

namespace executorch::testing {
namespace {

using runtime::Error;

void every_request_fails(const std::function<Error()>& call) {
  int64_t requests = 0;
  for (bool has_failed = true; has_failed; ++requests) {
    Error error = Error::Ok;
    {
      const heap::FailingAt failing(requests);
      error = call();
      has_failed = failing.has_failed();
    }
    EXPECT_EQ(error, has_failed ? Error::MemoryAllocationFailed : Error::Ok) << requests;
  }
  EXPECT_GT(requests, 1);
}

TEST(OptionFaults, OptionsThatCannotBeAllocatedAreAnError) {
  if (!heap::is_watched()) {
    GTEST_SKIP() << "the heap cannot be watched in this build";
  }
  runtime::runtime_init();
  constexpr auto backend = backends::xnnpack::xnnpack_backend_key;
  if (runtime::get_backend_class(backend) == nullptr) {
    GTEST_SKIP() << "this build lacks XnnpackBackend";
  }
  const std::string longer_than_a_short_string(100, 'x');
  runtime::BackendOptions<1> options;
  ASSERT_EQ(options.set_option(backends::xnnpack::packed_cache_path_option_key, ""), Error::Ok);
  // The first call creates what exists once in the process.
  ASSERT_EQ(runtime::get_option(backend, options.view()), Error::Ok);
  ASSERT_EQ(options.set_option(backends::xnnpack::packed_cache_path_option_key,
                               longer_than_a_short_string.c_str()),
            Error::Ok);
  every_request_fails([&] { return runtime::set_option(backend, options.view()); });
  every_request_fails([&] { return runtime::get_option(backend, options.view()); });
  ASSERT_EQ(options.set_option(backends::xnnpack::packed_cache_path_option_key, ""), Error::Ok);
  EXPECT_EQ(runtime::set_option(backend, options.view()), Error::Ok);
}

}  // namespace
}  // namespace executorch::testing
