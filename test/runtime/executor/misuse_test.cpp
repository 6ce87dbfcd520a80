// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// Null pointers and objects that were moved from give errors and never crash.
#include <gtest/gtest.h>

#include <utility>
#include <vector>

#include "../log_capture.h"
#include "loaded_program.h"
#include "program_builder.h"
#include "test_kernels.h"

namespace executorch::testing {
namespace {

using runtime::Error;
using runtime::EValue;
using runtime::Method;
using runtime::Program;

TEST(Misuse, NullPointersInPlaceOfAProgramsPartsAreErrors) {
  const LogCapture log;
  EXPECT_EQ(Program::load(nullptr).error(), Error::InvalidArgument);
  LoadedProgram program(add_program());
  MethodMemory memory(*program->method_meta("forward"));
  EXPECT_EQ(program->method_meta(nullptr).error(), Error::InvalidArgument);
  EXPECT_EQ(program->load_method(nullptr, &memory.manager()).error(), Error::InvalidArgument);
  EXPECT_EQ(program->load_method("forward", nullptr).error(), Error::InvalidArgument);
  EXPECT_EQ(program->get_output_flattening_encoding(nullptr).error(), Error::InvalidArgument);
  uint8_t temp[8];
  runtime::MemoryAllocator temp_allocator(sizeof(temp), temp);
  runtime::MemoryManager no_method_allocator(nullptr, nullptr, &temp_allocator);
  EXPECT_EQ(program->load_method("forward", &no_method_allocator).error(), Error::InvalidArgument);
  EXPECT_EQ(Program::check_header(nullptr, 64), Program::HeaderStatus::ShortData);
}

#ifdef NDEBUG  // else the span itself is refused
TEST(Misuse, PlannedMemoryAtANullPointerIsAnError) {
  const LogCapture log;
  LoadedProgram program(add_program());
  MethodMemory memory(*program->method_meta("forward"));
  runtime::Span<uint8_t> buffers[] = {{static_cast<uint8_t*>(nullptr), size_t{1024}}};
  runtime::HierarchicalAllocator planned({buffers, 1});
  runtime::MemoryManager manager(&memory.method_allocator(), &planned);
  EXPECT_EQ(program->load_method("forward", &manager).error(), Error::MemoryAllocationFailed);
}
#endif

TEST(Misuse, NullNamesOfKernelsAndBackendsAreNotFound) {
  const LogCapture log;
  EXPECT_FALSE(runtime::registry_has_op_function(nullptr));
  EXPECT_EQ(runtime::find_kernel(nullptr).error(), Error::OperatorMissing);
  EXPECT_EQ(runtime::get_backend_class(nullptr), nullptr);
  EXPECT_EQ(runtime::set_option(nullptr, {}), Error::NotFound);
}

TEST(Misuse, UsingAMethodThatWasMovedFromIsAnError) {
  const LogCapture log;
  LoadedMethod method(add_program());
  FloatTensor a({1, 2});
  ASSERT_EQ(set_inputs(*method, {a.value(), a.value()}), Error::Ok);
  Method moved(std::move(*method));
  EXPECT_EQ(method->execute(), Error::InvalidState);
  EXPECT_EQ(method->step(), Error::InvalidState);
  EXPECT_EQ(method->reset_execution(), Error::InvalidState);
  EXPECT_EQ(method->set_input(a.value(), 0), Error::InvalidState);
  EXPECT_EQ(method->clear_input(0), Error::InvalidState);
  EXPECT_EQ(method->set_inputs({}), Error::InvalidState);
  EXPECT_EQ(method->bind_input_data(a.value(), 0), Error::InvalidState);
  EXPECT_EQ(method->set_output_data_ptr(a.data(), 8, 0), Error::InvalidState);
  EXPECT_EQ(method->replace_output_data_ptr(a.data(), 8, 0), Error::InvalidState);
  EXPECT_EQ(method->get_outputs(nullptr, 0), Error::InvalidState);
  EXPECT_EQ(method->get_inputs(nullptr, 0), Error::InvalidState);
  EXPECT_EQ(method->get_attribute("x").error(), Error::InvalidState);
  EXPECT_EQ(method->inputs_size() + method->outputs_size(), 0u);
  EXPECT_FALSE(method->in_progress());
  EXPECT_EQ(moved.execute(), Error::Ok) << "the other method has its inputs";
  EXPECT_TRUE(log.contains("method 'forward' was moved from")) << log.text();
}

TEST(Misuse, AProgramThatWasMovedFromHasNoMethodsAndNoConstants) {
  const LogCapture log;
  LoadedProgram program(add_program());
  Program moved(std::move(*program));
  EXPECT_EQ(program->num_methods(), 0u);
  EXPECT_EQ(program->method_meta("forward").error(), Error::InvalidArgument);
  EXPECT_EQ(program->get_method_name(0).error(), Error::InvalidArgument);
  EXPECT_EQ(program->get_named_data_map().error(), Error::NotFound);
  EXPECT_EQ(moved.num_methods(), 1u);
  {
    // Its flatbuffer ends with the other program.
    const Program last(std::move(moved));
  }
  EXPECT_EQ(program->constants_size(), 0u);
  EXPECT_EQ(program->get_constant_buffer_data(0, 1).error(), Error::InvalidArgument);
}

TEST(Misuse, NullArraysOfInputsAndOutputsAreErrors) {
  const LogCapture log;
  LoadedMethod method(add_program());
  EXPECT_EQ(method->get_outputs(nullptr, 1), Error::InvalidArgument);
  EXPECT_EQ(method->get_inputs(nullptr, 2), Error::InvalidArgument);
}

TEST(Misuse, AnInputWhoseBytesCannotBeCountedIsAnError) {
  const LogCapture log;
  LoadedMethod method(add_program());
  int32_t sizes[] = {INT32_MAX, INT32_MAX};
  uint8_t dim_order[] = {0, 1};
  int32_t strides[] = {INT32_MAX, 1};
  double data = 0;
  aten::TensorImpl impl(aten::ScalarType::Double, 2, sizes, &data, dim_order, strides);
  EXPECT_EQ(impl.nbytes(), SIZE_MAX);
  EXPECT_EQ(method->set_input(EValue(aten::Tensor(&impl)), 0), Error::InvalidArgument);
}

TEST(Misuse, AClearedInputIsNotSet) {
  const LogCapture log;
  LoadedMethod method(add_program());
  FloatTensor a({1, 2});
  ASSERT_EQ(set_inputs(*method, {a.value(), a.value()}), Error::Ok);
  ASSERT_EQ(method->clear_input(1), Error::Ok);
  EXPECT_EQ(method->execute(), Error::InvalidState);
  EXPECT_TRUE(log.contains("input 1 is not set")) << log.text();
  EXPECT_EQ(method->clear_input(2), Error::InvalidArgument);
  ASSERT_EQ(method->set_input(a.value(), 1), Error::Ok);
  EXPECT_EQ(method->execute(), Error::Ok);
}

/// Kernels for two float tensors and `out`; the key of the second has `out` twice, as in
/// ExecuTorch 1.4.
constexpr const char* kKeys[] = {"v1/6;0|6;0|6;0", "v1/6;0|6;0|6;0|6;0"};

TEST(KernelKeys, MayListTheResultOnceMore) {
  static int calls;
  for (const char* key : kKeys) {
    const runtime::Kernel kernels[] = {
        runtime::Kernel("test::add.out",
                        [](runtime::KernelRuntimeContext& context, runtime::Span<EValue*>) {
                          context.fail(Error::Internal);
                        }),
        runtime::Kernel("test::add.out", key,
                        [](runtime::KernelRuntimeContext&, runtime::Span<EValue*>) { ++calls; }),
    };
    LoadedProgram program(add_program());
    MethodMemory memory(*program->method_meta("forward"));
    auto method = program->load_method("forward", &memory.manager(), nullptr, nullptr, nullptr,
                                       runtime::Span<const runtime::Kernel>(kernels));
    ASSERT_EQ(method.error(), Error::Ok);
    FloatTensor a({1, 2});
    ASSERT_EQ(set_inputs(*method, {a.value(), a.value()}), Error::Ok);
    EXPECT_EQ(method->execute(), Error::Ok) << key;
  }
  EXPECT_EQ(calls, 2);
}

TEST(KernelKeys, CallsThatNoKeyFitsFindTheKernelWithoutKey) {
  const auto nothing = [](runtime::KernelRuntimeContext&, runtime::Span<EValue*>) {};
  const runtime::Kernel kernels[] = {runtime::Kernel("test::add.out", nothing),
                                     runtime::Kernel("test::add.out", kKeys[0], nothing)};
  std::vector<int32_t> many(20, 0);
  many.back() = 2;
  struct Case {
    std::vector<int32_t> arguments;
    bool fits = false;
  };
  const std::vector<Case> cases = {
      {{}}, {{2}}, {{3}}, {{0, 2}}, {{0, 2, 2}, true}, {{0, 3, 3}}, {{3, 0, 1, 2}, true}, {many}};
  for (const auto& [arguments, fits] : cases) {
    TestProgram source = add_program();
    source.plans[0].values.push_back(integer(1));
    source.plans[0].chains = {{kernel(0, arguments)}};
    LoadedProgram program(source);
    const auto load = [&](runtime::Span<const runtime::Kernel> from) {
      MethodMemory own(*program->method_meta("forward"));
      return program->load_method("forward", &own.manager(), nullptr, nullptr, nullptr, from)
          .error();
    };
    const LogCapture log;
    EXPECT_EQ(load({kernels, 2}), Error::Ok) << arguments.size();
    EXPECT_EQ(load({kernels + 1, 1}), fits ? Error::Ok : Error::OperatorMissing)
        << arguments.size();
  }
}

}  // namespace
}  // namespace executorch::testing
