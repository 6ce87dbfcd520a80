// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// Running a program, and a backend, by the names of torch::executor.
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <type_traits>
#include <vector>

#include <executorch/devtools/bundled_program/bundled_program.h>
#include <executorch/devtools/etdump/etdump_flatcc.h>
#include <executorch/extension/data_loader/buffer_data_loader.h>
#include <executorch/extension/data_loader/file_data_loader.h>
#include <executorch/extension/evalue_util/print_evalue.h>
#include <executorch/extension/memory_allocator/malloc_memory_allocator.h>
#include <executorch/extension/module/bundled_module.h>
#include <executorch/extension/module/module.h>
#include <executorch/extension/runner_util/inputs.h>
#include <executorch/extension/testing_util/temp_file.h>
#include <executorch/extension/threadpool/cpuinfo_utils.h>
#include <executorch/extension/threadpool/threadpool.h>
#include <executorch/runtime/backend/interface.h>
#include <executorch/runtime/core/exec_aten/testing_util/tensor_factory.h>
#include <executorch/runtime/core/exec_aten/testing_util/tensor_util.h>
#include <executorch/runtime/core/portable_type/optional.h>
#include <executorch/runtime/core/portable_type/string_view.h>
#include <executorch/runtime/executor/method.h>
#include <executorch/runtime/executor/program.h>
#include <executorch/runtime/executor/test/managed_memory_manager.h>
#include <executorch/runtime/kernel/operator_registry.h>
#include <executorch/runtime/kernel/test/test_util.h>
#include <executorch/runtime/platform/runtime.h>

#include "test_paths.h"

using torch::executor::Error;
using torch::executor::EValue;
using torch::executor::Method;
using torch::executor::MethodMeta;
using torch::executor::Program;
using torch::executor::Result;
using torch::executor::ScalarType;
using torch::executor::Span;
using torch::executor::testing::ManagedMemoryManager;
using torch::executor::testing::TensorFactory;
using torch::executor::util::BufferDataLoader;
using torch::executor::util::FileDataLoader;
using torch::executor::util::MallocMemoryAllocator;

namespace {

std::string path_of(const char* name) {
  return std::string(TEST_DATA_DIR) + "/peer/" + name + ".pte";
}

class ProgramClientTest : public ::testing::Test {
 protected:
  void SetUp() override { torch::executor::runtime_init(); }
};

TEST_F(ProgramClientTest, AMethodIsLoadedAndExecuted) {
  Result<FileDataLoader> loader = FileDataLoader::from(path_of("add").c_str());
  ASSERT_EQ(loader.error(), Error::Ok);
  Result<Program> program =
      Program::Load(&loader.get(), Program::Verification::InternalConsistency);
  ASSERT_EQ(program.error(), Error::Ok);
  Result<MethodMeta> meta = program->method_meta("forward");
  ASSERT_TRUE(meta.ok());

  MallocMemoryAllocator method_allocator;
  std::vector<std::vector<uint8_t>> buffers;
  std::vector<Span<uint8_t>> spans;
  for (size_t i = 0; i < meta->num_non_const_buffers(); ++i) {
    buffers.emplace_back(static_cast<size_t>(*meta->non_const_buffer_size(i)));
    spans.emplace_back(buffers.back().data(), buffers.back().size());
  }
  torch::executor::HierarchicalAllocator planned({spans.data(), spans.size()});
  torch::executor::MemoryManager memory_manager(&method_allocator, &planned);
  torch::executor::ETDumpGen etdump;
  Result<Method> method = program->load_method("forward", &memory_manager, &etdump);
  ASSERT_EQ(method.error(), Error::Ok);

  auto inputs = torch::executor::util::prepare_input_tensors(*method);
  ASSERT_TRUE(inputs.ok());
  ASSERT_EQ(method->execute(), Error::Ok);
  TensorFactory<ScalarType::Float> tf;
  EXPECT_TENSOR_EQ(method->get_output(0).toTensor(), tf.full({2, 3}, 2));
  torch::executor::etdump_result dump = etdump.get_etdump_data();
  EXPECT_GT(dump.size, 0u);
  free(dump.buf);
}

TEST_F(ProgramClientTest, ATestHasMemoryForAMethod) {
  Result<FileDataLoader> loader = FileDataLoader::from(path_of("add").c_str());
  ASSERT_TRUE(loader.ok());
  Result<Program> program = Program::load(&*loader);
  ASSERT_TRUE(program.ok());
  ManagedMemoryManager mmm(32 * 1024, 32 * 1024);
  EXPECT_EQ(program->load_method("forward", &mmm.get()).error(), Error::Ok);
}

TEST_F(ProgramClientTest, ADamagedFileIsRefused) {
  const torch::executor::testing::TempFile file(std::string(256, 'x'));
  Result<FileDataLoader> loader = FileDataLoader::from(file.path().c_str());
  ASSERT_TRUE(loader.ok());
  EXPECT_EQ(Program::load(&*loader).error(), Error::InvalidProgram);
}

/// A backend as the older documentation writes them.
class NothingBackend final : public torch::executor::PyTorchBackendInterface {
 public:
  bool is_available() const override { return false; }
  Result<torch::executor::DelegateHandle*> init(
      torch::executor::BackendInitContext&, torch::executor::FreeableBuffer*,
      torch::executor::ArrayRef<torch::executor::CompileSpec>) const override {
    return Error::NotSupported;
  }
  Error execute(torch::executor::BackendExecutionContext&, torch::executor::DelegateHandle*,
                Span<EValue*>) const override {
    return Error::NotSupported;
  }
};

TEST_F(ProgramClientTest, ABackendIsRegistered) {
  static NothingBackend backend;
  ASSERT_EQ(torch::executor::register_backend({"NothingBackend", &backend}), Error::Ok);
  EXPECT_EQ(torch::executor::get_backend_class("NothingBackend"), &backend);
}

TEST_F(ProgramClientTest, AKernelIsRegisteredAndFound) {
  char key[64];
  ASSERT_EQ(
      executorch::runtime::testing::make_kernel_key({{ScalarType::Float, {0, 1}}}, key, sizeof key),
      Error::Ok);
  const torch::executor::Kernel kernel(
      "compatibility::count.out", torch::executor::KernelKey(key),
      [](torch::executor::KernelRuntimeContext& context, Span<EValue*> args) {
        (void)context;
        *args[0] = EValue(int64_t{7});
      });
  ASSERT_EQ(torch::executor::register_kernel(kernel), Error::Ok);
  executorch::aten::DimOrderType dim_order[] = {0, 1};
  const torch::executor::TensorMeta meta[] = {{ScalarType::Float, {dim_order, 2}}};
  EXPECT_TRUE(torch::executor::hasOpsFn("compatibility::count.out", meta));
  EXPECT_FALSE(torch::executor::hasOpsFn("compatibility::count.out"));
  EValue value;
  EValue* values[] = {&value};
  torch::executor::KernelRuntimeContext context;
  torch::executor::getOpsFn("compatibility::count.out", meta)(context, Span<EValue*>(values, 1));
  EXPECT_EQ(value.toInt(), 7);
  EXPECT_FALSE(torch::executor::get_kernels().empty());
}

Result<int> halved(Result<int> number) {
  ET_ASSIGN_OR_RETURN(value, std::move(number));
  return value / 2;
}

Result<int> halved_with_message(Result<int> number) {
  ET_ASSIGN_OR_RETURN(value, std::move(number), "no number: %s", "why");
  return value / 2;
}

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"
TEST(ProgramTest, TheOlderMemoryManagerIgnoresItsConstantAllocator) {
  torch::executor::MemoryAllocator constants(0, nullptr), method(0, nullptr), temp(0, nullptr);
  torch::executor::HierarchicalAllocator planned({});
  torch::executor::MemoryManager manager(&constants, &planned, &method, &temp);
  EXPECT_EQ(manager.method_allocator(), &method);
  EXPECT_EQ(manager.planned_memory(), &planned);
  EXPECT_EQ(manager.temp_allocator(), &temp);
}
#pragma GCC diagnostic pop

TEST(ResultTest, AValueIsDeclaredOrItsErrorReturned) {
  EXPECT_EQ(*halved(6), 3);
  EXPECT_EQ(halved(Error::NotFound).error(), Error::NotFound);
  EXPECT_EQ(*halved_with_message(6), 3);
  EXPECT_EQ(halved_with_message(Error::NotFound).error(), Error::NotFound);
}

TEST(TensorTest, DataIsReadAndReplacedByItsOlderNames) {
  float first[] = {1, 2};
  float second[] = {3, 4};
  torch::executor::TensorImpl::SizesType sizes[] = {2};
  torch::executor::TensorImpl impl(ScalarType::Float, 1, sizes, first);
  torch::executor::Tensor tensor(&impl);
  EXPECT_EQ(tensor.data_ptr<float>(), first);
  tensor.set_data(second);
  EXPECT_EQ(tensor.data_ptr(), second);
}

// Both names are of one thing.
static_assert(std::is_same_v<torch::executor::Module, executorch::extension::Module>);
static_assert(std::is_same_v<executorch::extension::module::Module, executorch::extension::Module>);
static_assert(std::is_same_v<executorch::extension::bundled_module::BundledModule,
                             executorch::extension::BundledModule>);
static_assert(std::is_same_v<torch::executor::Half, executorch::aten::Half>);
static_assert(std::is_same_v<torch::executor::optional<int>, std::optional<int>>);
static_assert(std::is_same_v<torch::executor::string_view, std::string_view>);
static_assert(std::is_same_v<torch::executorch::threadpool::ThreadPool,
                             executorch::extension::threadpool::ThreadPool>);
static_assert(std::is_same_v<torch::executor::util::evalue_edge_items,
                             executorch::extension::evalue_edge_items>);
[[maybe_unused]] constexpr auto kVerify =
    &torch::executor::bundled_program::VerifyResultWithBundledExpectedOutput;

}  // namespace

// Within namespace torch, executorch:: is still the whole namespace.
namespace torch::executor::client {
[[maybe_unused]] executorch::aten::ScalarType dtype = executorch::aten::ScalarType::Int;
}  // namespace torch::executor::client
