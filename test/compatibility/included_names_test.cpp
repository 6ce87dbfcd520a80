// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// Names that documented kernels use with kernel_includes.h as their only header.
#include <executorch/runtime/kernel/kernel_includes.h>
// Programs hold planned buffers by this type.
using PlannedBuffer = std::unique_ptr<uint8_t[]>;
// The test itself needs these.
#include <gtest/gtest.h>

namespace torch::executor::native {

/// A kernel as the documentation of custom operators writes it.
executorch::aten::Tensor& scaled_out(KernelRuntimeContext& context,
                                     const executorch::aten::Tensor& input, optional<double> scale,
                                     string_view name, executorch::aten::Tensor& out) {
  ET_LOG(Debug, "%zu", name.size());
  ET_CHECK_MSG(input.numel() == out.numel(), "sizes differ");
  const double factor = scale.has_value() ? *scale : std::exp(0.0f);
  for (ssize_t i = 0; i < out.numel(); ++i) {
    out.mutable_data_ptr<float>()[i] =
        static_cast<float>(input.const_data_ptr<float>()[i] * factor);
  }
  const executorch::runtime::internal::EventTracerProfileOpScope event(
      context.internal_event_tracer(), "scaled.out");
  return out;
}

}  // namespace torch::executor::native

namespace {

TEST(IncludedNames, AKernelNeedsOneHeader) {
  int32_t sizes[] = {2};
  float numbers[] = {1, 2}, scaled[2];
  executorch::aten::TensorImpl in(executorch::aten::ScalarType::Float, 1, sizes, numbers);
  executorch::aten::TensorImpl out(executorch::aten::ScalarType::Float, 1, sizes, scaled);
  executorch::aten::Tensor result(&out);
  torch::executor::KernelRuntimeContext context;
  const executorch::runtime::etensor::optional<double> half = 0.5;
  torch::executor::native::scaled_out(context, executorch::aten::Tensor(&in), half, "scaled",
                                      result);
  const PlannedBuffer zero = std::make_unique<uint8_t[]>(1);
  EXPECT_EQ(zero[0], 0);
  EXPECT_EQ(scaled[0], 0.5f);
  EXPECT_EQ(scaled[1], 1.0f);
}

}  // namespace
