// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// The program of test/data/make_xnnpack_programs.py and its expected outputs.
#pragma once

#include <cmath>
#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include <executorch/extension/module/module.h>
#include <executorch/extension/tensor/tensor.h>
#include <executorch/test/oracle/tolerances.h>

#include "test_paths.h"

namespace executorch::backends::xnnpack {

inline constexpr char kTwoSizes[] = TEST_DATA_DIR "/xnnpack/two_sizes.pte";

inline std::unique_ptr<extension::Module> two_sizes() {
  return std::make_unique<extension::Module>(kTwoSizes, extension::Module::LoadMode::Mmap);
}

/// Runs "small" or "large" on ones; false, with a test failure, if that fails or the result is
/// another than eager torch's. Thread-safe for different modules.
inline bool matches_eager(extension::Module& module, const std::string& method) {
  constexpr float kExpected[] = {-0.2747683f, -0.0684255f, 0.0550953f, 0.1189409f, -0.2953824f};
  const int size = method == "small" ? 8 : 16;
  const extension::TensorPtr input = extension::ones({1, 3, size, size});
  const runtime::Result<std::vector<runtime::EValue>> outputs = module.execute(method, input);
  if (!outputs.ok()) {
    ADD_FAILURE() << method << ": " << runtime::to_string(outputs.error());
    return false;
  }
  const float* output = (*outputs)[0].toTensor().const_data_ptr<float>();
  for (size_t i = 0; i < 5; ++i) {
    if (!(std::abs(output[i] - kExpected[i]) < tolerance::kLayer)) {
      ADD_FAILURE() << method << ": output " << i << " is " << output[i];
      return false;
    }
  }
  return true;
}

/// Options for XnnpackBackend and the map to load with.
template <size_t N>
struct LoadOptions {
  runtime::BackendOptions<N> options;

  const runtime::LoadBackendOptionsMap* map() {
    EXPECT_EQ(map_.set_options("XnnpackBackend", options.view()), runtime::Error::Ok);
    return &map_;
  }

 private:
  runtime::LoadBackendOptionsMap map_;
};

}  // namespace executorch::backends::xnnpack
