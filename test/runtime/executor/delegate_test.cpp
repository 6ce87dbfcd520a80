// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "../log_capture.h"
#include "loaded_program.h"
#include "program_builder.h"

namespace executorch::testing {
namespace {

using runtime::Error;
using runtime::EValue;
using runtime::Method;
using runtime::Result;
using runtime::Span;
using Floats = std::vector<float>;

/// Multiplies by the factor in its compile spec or payload; fails on demand.
class ScaleBackend final : public runtime::BackendInterface {
 public:
  bool is_available() const override { return available; }

  Result<runtime::DelegateHandle*> init(
      runtime::BackendInitContext& context, runtime::FreeableBuffer* processed,
      runtime::ArrayRef<runtime::CompileSpec> specs) const override {
    seen_payload = std::string(static_cast<const char*>(processed->data()), processed->size());
    seen_specs.clear();
    for (const runtime::CompileSpec& spec : specs) {
      seen_specs += std::string(spec.key) + "=" +
                    std::string(static_cast<const char*>(spec.value.buffer), spec.value.nbytes) +
                    ";";
    }
    seen_method = context.get_method_name();
    if (seen_payload == "bad") {
      return Error::DelegateInvalidCompatibility;
    }
    auto* factor = static_cast<float*>(context.allocate(sizeof(float)));
    if (factor == nullptr) {
      return Error::MemoryAllocationFailed;
    }
    *factor = static_cast<float>(seen_payload.size());
    ++alive;
    return factor;
  }

  Error execute(runtime::BackendExecutionContext&, runtime::DelegateHandle* handle,
                Span<EValue*> args) const override {
    if (fails) {
      return Error::OutOfResources;
    }
    const aten::Tensor& in = args[0]->toTensor();
    const aten::Tensor& out = args[1]->toTensor();
    for (ssize_t i = 0; i < in.numel(); ++i) {
      out.mutable_data_ptr<float>()[i] =
          in.const_data_ptr<float>()[i] * *static_cast<float*>(handle);
    }
    return Error::Ok;
  }

  void destroy(runtime::DelegateHandle*) const override { --alive; }

  bool available = true;
  bool fails = false;
  mutable int alive = 0;
  mutable std::string seen_payload;
  mutable std::string seen_specs;
  mutable std::string seen_method;
};

ScaleBackend backend;
[[maybe_unused]] const Error registered = runtime::register_backend({"ScaleBackend", &backend});

TestProgram delegated_program() {
  TestProgram program = add_program();
  TestPlan& plan = program.plans[0];
  plan.inputs = {0};
  plan.outputs = {2};
  plan.delegates = {{"ScaleBackend", fb::DataLocation::INLINE, 0, {{"a", "1"}, {"b", "22"}}},
                    {"ScaleBackend", fb::DataLocation::SEGMENT, 1, {}}};
  plan.chains = {{delegate(0, {0, 1}), delegate(1, {1, 2})}};
  program.inline_data = {"xxx"};
  program.segment_data = "0123456789";
  program.segments = {{0, 4}, {4, 5}};
  return program;
}

TEST(Delegate, RunsOnItsBackend) {
  LoadedProgram program(delegated_program());
  MethodMemory memory(*program->method_meta("forward"), 64);
  {
    Result<Method> method = program->load_method("forward", &memory.manager());
    ASSERT_EQ(method.error(), Error::Ok);
    EXPECT_EQ(backend.seen_payload, "45678");
    EXPECT_EQ(backend.seen_method, "forward");
    EXPECT_EQ(backend.alive, 2);
    FloatTensor x({1, 2});
    ASSERT_EQ(method->set_input(x.value(), 0), Error::Ok);
    ASSERT_EQ(method->execute(), Error::Ok);
    EXPECT_EQ(floats(method->get_output(0)), (Floats{15, 30}));
  }
  EXPECT_EQ(backend.alive, 0);
  // The program itself and the segment of a delegate: the segment has been given back.
  EXPECT_EQ(program.loader().frees, program.loader().loads - 1);
}

TEST(Delegate, ReadsALentInputWhereItIs) {
  LoadedMethod method(delegated_program(), 64);
  ASSERT_TRUE(method->is_input_unaliased(0));
  FloatTensor lent({1, 2});
  FloatTensor copied({3, 4});
  for (int round = 0; round < 2; ++round) {
    ASSERT_EQ(method->bind_input_data(lent.value(), 0), Error::Ok);
    EXPECT_EQ(method->get_input(0).toTensor().const_data_ptr(),
              lent.value().toTensor().const_data_ptr());
    ASSERT_EQ(method->execute(), Error::Ok);
    EXPECT_EQ(floats(method->get_output(0)), (Floats{15, 30}));
    ASSERT_EQ(method->set_input(copied.value(), 0), Error::Ok);
    EXPECT_NE(method->get_input(0).toTensor().const_data_ptr(),
              copied.value().toTensor().const_data_ptr());
    ASSERT_EQ(method->execute(), Error::Ok);
    EXPECT_EQ(floats(method->get_output(0)), (Floats{45, 60}));
    EXPECT_EQ(floats(lent.value()), (Floats{1, 2}));
  }
}

TEST(Delegate, TakesNoLentInputThatDoesNotFitOrThatOthersDependOn) {
  LoadedMethod method(delegated_program(), 64);
  const LogCapture log;
  FloatTensor longer({1, 2, 3});
  EXPECT_EQ(method->bind_input_data(longer.value(), 0), Error::InvalidArgument);
  EXPECT_EQ(method->bind_input_data(EValue(int64_t{1}), 0), Error::InvalidArgument);
  EXPECT_EQ(method->bind_input_data(longer.value(), 1), Error::InvalidArgument);
  LoadedMethod of_kernels(add_program());
  FloatTensor x({1, 2});
  EXPECT_FALSE(of_kernels->is_input_unaliased(0));
  EXPECT_EQ(of_kernels->bind_input_data(x.value(), 0), Error::InvalidState);
  EXPECT_TRUE(log.contains("input 0 cannot be bound")) << log.text();
  TestProgram shared = delegated_program();
  shared.plans[0].values[2].tensor.offset = 0;  // the output lies where the input was
  LoadedMethod reused(shared, 64);
  EXPECT_FALSE(reused->is_input_unaliased(0));
}

TEST(Delegate, IsGivenItsCompileSpecs) {
  TestProgram source = delegated_program();
  source.plans[0].delegates.resize(1);
  source.plans[0].chains = {{delegate(0, {0, 2})}};
  LoadedProgram program(source);
  MethodMemory memory(*program->method_meta("forward"), 64);
  ASSERT_EQ(program->load_method("forward", &memory.manager()).error(), Error::Ok);
  EXPECT_EQ(backend.seen_specs, "a=1;b=22;");
}

TEST(Delegate, AFailedLoadLeavesNothing) {
  TestProgram source = delegated_program();
  source.segment_data = "0123bad89";
  source.segments = {{0, 4}, {4, 3}};
  LoadedProgram program(source);
  MethodMemory memory(*program->method_meta("forward"), 64);
  const LogCapture log;
  EXPECT_EQ(program->load_method("forward", &memory.manager()).error(),
            Error::DelegateInvalidCompatibility);
  EXPECT_TRUE(log.contains("'ScaleBackend' could not prepare")) << log.text();
  EXPECT_EQ(backend.alive, 0);
  EXPECT_EQ(program.loader().frees, program.loader().loads - 1);
}

TEST(Delegate, NamesTheBackendThatIsMissing) {
  TestProgram source = delegated_program();
  source.plans[0].delegates[0].id = "NoSuchBackend";
  LoadedProgram program(source);
  MethodMemory memory(*program->method_meta("forward"), 64);
  const LogCapture log;
  EXPECT_EQ(program->load_method("forward", &memory.manager()).error(), Error::NotFound);
  EXPECT_TRUE(log.contains("'NoSuchBackend' is not registered")) << log.text();
  EXPECT_TRUE(log.contains("registered backend: 'ScaleBackend'")) << log.text();
}

TEST(Delegate, IsNotLoadedForABackendThatCannotBeUsed) {
  LoadedProgram program(delegated_program());
  MethodMemory memory(*program->method_meta("forward"), 64);
  const LogCapture log;
  backend.available = false;
  EXPECT_EQ(program->load_method("forward", &memory.manager()).error(), Error::NotFound);
  backend.available = true;
}

TEST(Delegate, TakesItsMemoryInAddition) {
  LoadedProgram program(delegated_program());
  const runtime::MethodMeta meta = *program->method_meta("forward");
  MethodMemory memory = MethodMemory::of_size(meta, meta.method_allocator_size());
  const LogCapture log;
  EXPECT_EQ(program->load_method("forward", &memory.manager()).error(),
            Error::MemoryAllocationFailed);
  EXPECT_EQ(backend.alive, 0);
}

TEST(Delegate, MayFailAndRunAgain) {
  LoadedProgram program(delegated_program());
  MethodMemory memory(*program->method_meta("forward"), 64);
  Result<Method> method = program->load_method("forward", &memory.manager());
  ASSERT_EQ(method.error(), Error::Ok);
  FloatTensor x({1, 2});
  ASSERT_EQ(method->set_input(x.value(), 0), Error::Ok);
  backend.fails = true;
  {
    const LogCapture log;
    EXPECT_EQ(method->execute(), Error::OutOfResources);
    EXPECT_TRUE(log.contains("instruction 0: backend ScaleBackend, delegate 0")) << log.text();
  }
  backend.fails = false;
  ASSERT_EQ(method->set_input(x.value(), 0), Error::Ok);
  EXPECT_EQ(method->execute(), Error::Ok);
  EXPECT_EQ(floats(method->get_output(0)), (Floats{15, 30}));
}

}  // namespace
}  // namespace executorch::testing
