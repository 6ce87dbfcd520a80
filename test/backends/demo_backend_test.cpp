// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// Programs from our compiler whose delegates a backend really executes, and payloads it must
// refuse.
#include "backends/demo_backend.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <fstream>
#include <iterator>
#include <optional>
#include <string>
#include <vector>

#include <executorch/extension/data_loader/buffer_data_loader.h>
#include <executorch/runtime/executor/method.h>
#include <executorch/runtime/executor/program.h>
#include <executorch/runtime/platform/runtime.h>
#include <executorch/test/oracle/tolerances.h>

#include "backends/demo_payload.h"
#include "test_paths.h"

namespace executorch::demo {
namespace {

using aten::Tensor;
using aten::TensorImpl;
using extension::BufferDataLoader;
using runtime::Error;
using runtime::EValue;
using runtime::HierarchicalAllocator;
using runtime::MemoryAllocator;
using runtime::MemoryManager;
using runtime::Method;
using runtime::MethodMeta;
using runtime::Program;
using runtime::Result;
using runtime::Span;

std::vector<char> read_file(const std::string& name) {
  std::ifstream file(std::string(TEST_DATA_DIR) + "/demo/" + name, std::ios::binary);
  EXPECT_TRUE(file.good()) << name;
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

std::vector<float> read_values(const std::string& name) {
  const std::vector<char> bytes = read_file(name);
  std::vector<float> values(bytes.size() / sizeof(float));
  memcpy(values.data(), bytes.data(), values.size() * sizeof(float));
  return values;
}

/// A program in aligned memory, and the memory of its method `forward`.
struct Loaded {
  explicit Loaded(const std::string& name) : bytes(read_file(name)), file(bytes.size() / 16 + 1) {
    memcpy(file.data(), bytes.data(), bytes.size());
  }

  Result<Method> load() {
    loader.emplace(file.data(), bytes.size());
    Result<Program> loaded = Program::load(&*loader);
    if (!loaded.ok()) {
      return loaded.error();
    }
    program.emplace(std::move(loaded.get()));
    const Result<MethodMeta> meta = program->method_meta("forward");
    if (!meta.ok()) {
      return meta.error();
    }
    for (size_t i = 0; i < meta->num_memory_planned_buffers(); ++i) {
      buffers.emplace_back(static_cast<size_t>(meta->memory_planned_buffer_size(i).get()));
      spans.emplace_back(buffers.back().data(), buffers.back().size());
    }
    planned.emplace(Span<Span<uint8_t>>(spans.data(), spans.size()));
    manager.emplace(&method_allocator, &*planned, &temp_allocator);
    return program->load_method("forward", &*manager);
  }

  struct alignas(16) Block {
    char bytes[16];
  };
  std::vector<char> bytes;
  std::vector<Block> file;
  std::optional<BufferDataLoader> loader;
  std::optional<Program> program;
  std::vector<std::vector<uint8_t>> buffers;
  std::vector<Span<uint8_t>> spans;
  std::optional<HierarchicalAllocator> planned;
  std::vector<uint8_t> method_memory = std::vector<uint8_t>(1 << 16);
  std::vector<uint8_t> temp_memory = std::vector<uint8_t>(1 << 16);
  MemoryAllocator method_allocator{1 << 16, method_memory.data()};
  MemoryAllocator temp_allocator{1 << 16, temp_memory.data()};
  std::optional<MemoryManager> manager;
};

class DemoBackendTest : public ::testing::TestWithParam<const char*> {
 protected:
  static void SetUpTestSuite() {
    runtime::runtime_init();
    const Error error = register_demo_backend();
    ASSERT_TRUE(error == Error::Ok || error == Error::RegistrationAlreadyRegistered);
  }
};

/// Sets the inputs from the first `values`, with the sizes of the metadata; the first dimension is
/// `rows` unless that is 0. Returns the number of values used.
size_t set_inputs(Method& method, std::vector<float>& values, int32_t rows) {
  size_t taken = 0;
  for (size_t i = 0; i < method.inputs_size(); ++i) {
    const auto meta = method.method_meta().input_tensor_meta(i);
    std::vector<int32_t> sizes(meta->sizes().begin(), meta->sizes().end());
    if (rows != 0) {
      sizes[0] = rows;
    }
    std::vector<uint8_t> dim_order(meta->dim_order().begin(), meta->dim_order().end());
    std::vector<int32_t> strides(sizes.size(), 1);
    for (size_t d = sizes.size() - 1; d-- > 0;) {
      strides[d] = strides[d + 1] * sizes[d + 1];
    }
    TensorImpl impl(meta->scalar_type(), static_cast<ssize_t>(sizes.size()), sizes.data(),
                    values.data() + taken, dim_order.data(), strides.data());
    EXPECT_EQ(method.set_input(EValue(Tensor(&impl)), i), Error::Ok);
    taken += static_cast<size_t>(impl.numel());
  }
  return taken;
}

void expect_outputs(Method& method, const std::vector<float>& values, size_t taken) {
  for (size_t i = 0; i < method.outputs_size(); ++i) {
    const Tensor& output = method.get_output(i).toTensor();
    for (ssize_t k = 0; k < output.numel(); ++k) {
      ASSERT_LT(taken, values.size());
      EXPECT_NEAR(output.const_data_ptr<float>()[k], values[taken++], tolerance::kLayer)
          << "output " << i;
    }
  }
  EXPECT_EQ(taken, values.size());
}

TEST_P(DemoBackendTest, ADelegatedProgramReturnsEagerResultsEveryTime) {
  const std::string name = GetParam();
  Loaded loaded(name + ".pte");
  Result<Method> method = loaded.load();
  ASSERT_EQ(method.error(), Error::Ok);
  std::vector<float> values = read_values(name + ".f32");
  for (int run = 0; run < 3; ++run) {
    const size_t taken = set_inputs(*method, values, 0);
    ASSERT_EQ(method->execute(), Error::Ok);
    expect_outputs(*method, values, taken);
  }
}

INSTANTIATE_TEST_SUITE_P(Programs, DemoBackendTest,
                         ::testing::Values("matmul_add_sub", "shifted", "cond_true", "cond_false",
                                           "whole", "linear"));

TEST_F(DemoBackendTest, ADelegateWithDynamicShapesTakesASmallerInput) {
  Loaded loaded("dynamic.pte");
  Result<Method> method = loaded.load();
  ASSERT_EQ(method.error(), Error::Ok);
  std::vector<float> values = read_values("dynamic.f32");
  const size_t taken = set_inputs(*method, values, 2);
  ASSERT_EQ(method->execute(), Error::Ok);
  EXPECT_EQ(method->get_output(0).toTensor().size(0), 2);
  expect_outputs(*method, values, taken);
}

TEST_F(DemoBackendTest, AnOperationThatTheBackendLacksIsRefusedAtLoad) {
  Loaded loaded("not_supported.pte");
  EXPECT_EQ(loaded.load().error(), Error::NotSupported);
}

TEST_F(DemoBackendTest, ProgramsDamagedInThePayloadAreRefusedOrRunWithinBounds) {
  const Loaded good("matmul_add_sub.pte");
  const std::string text(good.bytes.begin(), good.bytes.end());
  const size_t payload = text.find("demo 1\n");
  ASSERT_NE(payload, std::string::npos);
  for (size_t at = payload; at < std::min(payload + 160, good.bytes.size()); ++at) {
    for (const char byte : {'\0', '9', '\n', '\xff'}) {
      Loaded loaded("matmul_add_sub.pte");
      reinterpret_cast<char*>(loaded.file.data())[at] = byte;
      Result<Method> method = loaded.load();
      if (method.ok()) {
        std::vector<float> values = read_values("matmul_add_sub.f32");
        set_inputs(*method, values, 0);
        (void)method->execute();  // any result is fine: the sanitizers check the execution
      }
    }
  }
}

struct BadPayload {
  const char* why;
  const char* text;
  Error error;
};

constexpr BadPayload kBadPayloads[] = {
    {"empty", "", Error::InvalidProgram},
    {"another version", "demo 2\ndata 0\n", Error::InvalidProgram},
    {"no data line", "demo 1\nvalue 0 2\ninput 0\n", Error::InvalidProgram},
    {"less data than promised", "demo 1\ndata 8\n1234", Error::InvalidProgram},
    {"more data than promised", "demo 1\ndata 1\n1234", Error::InvalidProgram},
    {"a line of no kind", "demo 1\nhello 0\ndata 0\n", Error::InvalidProgram},
    {"values out of order", "demo 1\nvalue 1 2\ndata 0\n", Error::InvalidProgram},
    {"a negative size", "demo 1\nvalue 0 -2\ndata 0\n", Error::InvalidProgram},
    {"too many dimensions", "demo 1\nvalue 0 1x1x1x1x1x1x1x1x1\ndata 0\n", Error::InvalidProgram},
    {"sizes that overflow", "demo 1\nvalue 0 2147483647x2147483647x2147483647\ndata 0\n",
     Error::InvalidProgram},
    {"an input that is not a value", "demo 1\ninput 0\ndata 0\n", Error::InvalidProgram},
    {"the same input twice", "demo 1\nvalue 0 2\ninput 0\ninput 0\ndata 0\n",
     Error::InvalidProgram},
    {"an output that is never written", "demo 1\nvalue 0 2\noutput 0\ndata 0\n",
     Error::InvalidProgram},
    {"a constant beyond the data", "demo 1\nvalue 0 1\nconstant 0 4 4\ndata 4\n1234",
     Error::InvalidProgram},
    {"a constant of another size", "demo 1\nvalue 0 2\nconstant 0 0 4\ndata 4\n1234",
     Error::InvalidProgram},
    {"an unknown operation", "demo 1\nvalue 0 1\nvalue 1 1\ninput 0\nop cosh 1 0 1.0\ndata 0\n",
     Error::NotSupported},
    {"an operand that is not written yet",
     "demo 1\nvalue 0 1\nvalue 1 1\nop sin 1 0 1.0\ninput 0\ndata 0\n", Error::InvalidProgram},
    {"too few operands", "demo 1\nvalue 0 1\nvalue 1 1\ninput 0\nop add 1 0 1.0\ndata 0\n",
     Error::InvalidProgram},
    {"too many operands", "demo 1\nvalue 0 1\nvalue 1 1\ninput 0\nop sin 1 0,0 1.0\ndata 0\n",
     Error::InvalidProgram},
    {"a result written twice",
     "demo 1\nvalue 0 1\nvalue 1 1\ninput 0\nop sin 1 0 1.0\nop sin 1 0 1.0\ndata 0\n",
     Error::InvalidProgram},
    {"a shared constant that nobody has", "demo 1\nvalue 0 1\nshared 0 weight\ndata 0\n",
     Error::NotFound},
    {"a shared constant that is not a value", "demo 1\nshared 0 weight\ndata 0\n",
     Error::InvalidProgram},
    {"an update of an input",
     "demo 1\nvalue 0 1\nvalue 1 1\ninput 0\nop sin 1 0 1.0\nupdate 0 1\ndata 0\n",
     Error::InvalidProgram},
    {"an update by an input",
     "demo 1\nvalue 0 1\nvalue 1 1\ninput 0\nconstant 1 0 4\nupdate 1 0\ndata 4\n1234",
     Error::InvalidProgram},
    {"an update of another size",
     "demo 1\nvalue 0 1\nvalue 1 2\nvalue 2 2\nconstant 0 0 4\ninput 1\nop sin 2 1 1.0\nupdate 0 "
     "2\n"
     "data 4\n1234",
     Error::InvalidProgram},
    {"an update of no value", "demo 1\nvalue 0 1\ninput 0\nupdate 0 7\ndata 0\n",
     Error::InvalidProgram},
    {"more memory than there is",
     "demo 1\nvalue 0 99999\nvalue 1 99999\ninput 0\nop sin 1 0 1.0\noutput 1\ndata 0\n",
     Error::MemoryAllocationFailed},
};

TEST(DemoPayload, OtherBytesThanAPayloadAreRefused) {
  for (const BadPayload& bad : kBadPayloads) {
    std::vector<uint8_t> memory(1 << 14);
    MemoryAllocator allocator(static_cast<uint32_t>(memory.size()), memory.data());
    EXPECT_EQ(read_payload(bad.text, strlen(bad.text), allocator).error(), bad.error) << bad.why;
  }
}

}  // namespace
}  // namespace executorch::demo
