// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// The backend of EXECUTORCH_XNNPACK_LIBRARY=NONE. This program compiles that build's source, so the
// linker prefers its functions to those of XNNPACK's operators.
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include <backends/xnnpack/two_sizes.h>
#include <executorch/runtime/platform/runtime.h>
#include <executorch/test/oracle/tolerances.h>

#include "runtime/log_capture.h"
#include "test_paths.h"

namespace executorch::backends::xnnpack {
namespace {

using runtime::Error;

constexpr char kData[] = TEST_DATA_DIR "/xnnpack/";

/// Runs a program of test/data/make_quantized_programs.py on inputs spaced evenly from -1 to 1.
void expect_results(const std::string& name, const std::vector<executorch::aten::SizesType>& sizes,
                    const std::vector<float>& expected, double bound) {
  runtime::runtime_init();
  extension::Module module(kData + name);
  size_t total = 1;
  for (const auto size : sizes) {
    total *= static_cast<size_t>(size);
  }
  std::vector<float> numbers(total);
  for (size_t i = 0; i < total; ++i) {
    numbers[i] = -1 + 2 * static_cast<float>(i) / static_cast<float>(total - 1);
  }
  const extension::TensorPtr input = extension::from_blob(numbers.data(), sizes);
  const runtime::Result<std::vector<runtime::EValue>> outputs = module.forward(input);
  ASSERT_TRUE(outputs.ok());
  const executorch::aten::Tensor output = (*outputs)[0].toTensor();
  ASSERT_EQ(static_cast<size_t>(output.numel()), expected.size());
  for (size_t i = 0; i < expected.size(); ++i) {
    EXPECT_NEAR(output.const_data_ptr<float>()[i], expected[i], bound) << i;
  }
}

TEST(EngineAlone, RunsFloat32Models) {
  runtime::runtime_init();
  const std::unique_ptr<extension::Module> module = two_sizes();
  EXPECT_TRUE(matches_eager(*module, "small"));
  EXPECT_TRUE(matches_eager(*module, "large"));
}

TEST(EngineAlone, RunsInt8ModelsWithinOneQuantumOfXnnpack) {
  expect_results("quantized.pte", {1, 3, 8, 8},
                 {-0.3690814f, 0.3604981f, 0.1201660f, 0.0743885f, 0.1916934f},
                 tolerance::kOutputQuantum);
}

TEST(EngineAlone, RunsLayersQuantizedAtRunTime) {
  expect_results("quantized_rows.pte", {2, 12},
                 {0.0333730f, 0.3784531f, -0.2163984f, 0.2060784f, -0.2248327f, 0.3889067f,
                  -0.1068652f, 0.0316333f},
                 tolerance::kInt8Rows);
}

TEST(EngineAlone, RefusesByNameWhatOnlyXnnpackComputes) {
  runtime::runtime_init();
  extension::Module module(std::string(kData) + "four_bits.pte");
  LogCapture log;
  EXPECT_EQ(module.load_method("forward"), Error::NotSupported);
  EXPECT_TRUE(log.contains("node FullyConnected on QDInt8, QCInt4, Float32 to Float32"))
      << log.text();
  EXPECT_TRUE(log.contains("EXECUTORCH_XNNPACK_LIBRARY=NONE")) << log.text();
}

}  // namespace
}  // namespace executorch::backends::xnnpack
