// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// Quantized kernels by their documented names, with a default context and without a context.
#include <gtest/gtest.h>

#include <executorch/kernels/quantized/NativeFunctions.h>
#include <executorch/runtime/core/exec_aten/testing_util/tensor_factory.h>
#include <executorch/runtime/core/exec_aten/testing_util/tensor_util.h>
#include <executorch/test/utils/DeathTest.h>

namespace {

using executorch::aten::ScalarType;
using executorch::aten::Tensor;
using executorch::runtime::Error;
using executorch::runtime::KernelRuntimeContext;
using torch::executor::native::choose_qparams_tensor_out;
using torch::executor::native::quantize_per_tensor_out;
using torch::executor::native::quantized_add_out;
using torch::executor::native::quantized_embedding_4bit_out;
using torch::executor::testing::TensorFactory;

TEST(QuantizedKernelsTest, TheyNeedNoContext) {
  TensorFactory<ScalarType::Float> floats;
  TensorFactory<ScalarType::Double> doubles;
  TensorFactory<ScalarType::Long> longs;
  TensorFactory<ScalarType::Byte> bytes;

  Tensor out = bytes.zeros({2, 3});
  quantize_per_tensor_out(floats.full({2, 3}, 4), 0.5, 127, 0, 255, ScalarType::Byte, out);
  EXPECT_TENSOR_EQ(out, bytes.full({2, 3}, 135));

  quantized_add_out(bytes.full({2, 3}, 8), 0.5, 1, 0, 255, bytes.full({2, 3}, 16), 0.25, 2, 0, 255,
                    0.1, 5, 0, 255, out);
  EXPECT_TENSOR_EQ(out, bytes.full({2, 3}, 75));

  Tensor scale = doubles.zeros({1});
  Tensor zero_point = longs.zeros({1});
  choose_qparams_tensor_out(floats.make({2}, {0, 255}), 0, 255, 0.0, ScalarType::Byte, scale,
                            zero_point);
  EXPECT_TENSOR_CLOSE(scale, doubles.make({1}, {1}));
}

TEST(QuantizedKernelsTest, TheyRunWithADefaultContext) {
  TensorFactory<ScalarType::Float> floats;
  TensorFactory<ScalarType::Long> longs;
  TensorFactory<ScalarType::Byte> bytes;
  KernelRuntimeContext context;
  Tensor out = floats.zeros({2, 4});
  quantized_embedding_4bit_out(context, bytes.make({2, 2}, {89, 239, 163, 72}),
                               floats.make({2}, {0.5, 1}), floats.make({2}, {1, -5}), -8, 7,
                               longs.make({2}, {1, 0}), out);
  EXPECT_EQ(context.failure_state(), Error::Ok);
  EXPECT_TENSOR_EQ(out, floats.make({2, 4}, {7, 0, 1, 5, -2, 0, 2.5, 3}));
}

TEST(QuantizedKernelsDeathTest, AFailureWithoutAContextEndsTheProgram) {
  TensorFactory<ScalarType::Byte> bytes;
  Tensor out = bytes.zeros({2});
  ET_EXPECT_DEATH(quantized_add_out(bytes.ones({2}), 0.5, 1, 0, 255, bytes.ones({2}), 0.5, 1, 0,
                                    255, 0.1, 5, -1, 256, out),
                  "quantized_decomposed::add.out failed");
}

}  // namespace
