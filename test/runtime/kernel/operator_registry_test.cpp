// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
#include <executorch/runtime/kernel/operator_registry.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "runtime/log_capture.h"

using namespace executorch::runtime;
using executorch::aten::ScalarType;

namespace {

// Different bodies, so that no linker folds them into one.
int g_called = 0;
template <int kNumber>
void op(KernelRuntimeContext&, Span<EValue*>) {
  g_called = kNumber;
}

const void* address(OpFunction function) { return reinterpret_cast<const void*>(function); }

uint8_t g_order[] = {0, 1};
const TensorMeta kFloat[] = {{ScalarType::Float, g_order}};
const TensorMeta kInt[] = {{ScalarType::Int, g_order}};

// The registry is one for the process: every test uses names of its own.

TEST(OperatorRegistryTest, KeysAndTensorsAreLoggedByTheDocumentedMacros) {
  const LogCapture log;
  ET_LOG_KERNEL_KEY(KernelKey("v1/6;0,1"))
  ET_LOG_KERNEL_KEY(KernelKey());
  ET_LOG_TENSOR_META(kInt)
  EXPECT_EQ(log.text(),
            "key: v1/6;0,1, is_fallback: false\nkey: (null), is_fallback: true\n"
            "dtype: 3 | dim order of 2 dimensions:\n0\n1\n");
}

TEST(OperatorRegistryTest, FindsWhatWasRegistered) {
  const std::string name = "find::a.out";  // not the pointer that was registered
  EXPECT_FALSE(registry_has_op_function(name.c_str()));
  ASSERT_EQ(register_kernel(Kernel("find::a.out", op<1>)), Error::Ok);
  EXPECT_TRUE(registry_has_op_function(name.c_str()));
  EXPECT_EQ(address(*get_op_function_from_registry(name.c_str())), address(op<1>));
  EXPECT_EQ((*find_kernel(name.c_str()))->check_, nullptr);
}

TEST(OperatorRegistryTest, AMissingOperatorIsNamed) {
  LogCapture log;
  EXPECT_EQ(get_op_function_from_registry("nowhere::a.out").error(), Error::OperatorMissing);
  EXPECT_TRUE(log.contains("nowhere::a.out"));
  EXPECT_EQ(find_kernel("nowhere::a.out").error(), Error::OperatorMissing);
}

TEST(OperatorRegistryTest, ASpecializedKernelComesBeforeTheFallback) {
  const Kernel kernels[] = {Kernel("partial::a.out", op<1>),
                            Kernel("partial::a.out", "v1/6;0,1", op<2>)};
  ASSERT_EQ(register_kernels(kernels), Error::Ok);
  EXPECT_EQ((*find_kernel("partial::a.out", kFloat))->op_, OpFunction(op<2>));
  EXPECT_EQ((*find_kernel("partial::a.out", kInt))->op_, OpFunction(op<1>));
  EXPECT_EQ((*find_kernel("partial::a.out"))->op_, OpFunction(op<1>));
}

TEST(OperatorRegistryTest, WithoutAFallbackOthersAreMissing) {
  ASSERT_EQ(register_kernel(Kernel("only::a.out", "v1/6;0,1", op<1>)), Error::Ok);
  EXPECT_TRUE(registry_has_op_function("only::a.out", kFloat));
  EXPECT_FALSE(registry_has_op_function("only::a.out", kInt));
  EXPECT_FALSE(registry_has_op_function("only::a.out"));
}

TEST(OperatorRegistryTest, ADuplicateRegistersNothingOfTheCall) {
  LogCapture log;
  ASSERT_EQ(register_kernel(Kernel("twice::a.out", op<1>)), Error::Ok);
  const size_t count = registered_kernel_count();
  const Kernel kernels[] = {Kernel("twice::b.out", op<1>), Kernel("twice::a.out", op<2>)};
  EXPECT_EQ(register_kernels(kernels), Error::RegistrationAlreadyRegistered);
  EXPECT_EQ(register_kernel_table(kernels), Error::RegistrationAlreadyRegistered);
  EXPECT_EQ(registered_kernel_count(), count);
  EXPECT_FALSE(registry_has_op_function("twice::b.out"));
  EXPECT_TRUE(
      log.contains("kernel twice::a.out (key none) is registered already: nothing of its "
                   "library (2 kernels, the first twice::b.out) is registered"));
  const Kernel same[] = {Kernel("twice::c.out", op<1>), Kernel("twice::c.out", op<2>)};
  EXPECT_EQ(register_kernels(same), Error::RegistrationAlreadyRegistered);
  EXPECT_EQ(register_kernel_table(same), Error::RegistrationAlreadyRegistered);
  // Another key is another kernel.
  EXPECT_EQ(register_kernel(Kernel("twice::a.out", "v1/6;0,1", op<2>)), Error::Ok);
  EXPECT_EQ(register_kernel(Kernel("twice::a.out", "v1/6;0,1", op<3>)),
            Error::RegistrationAlreadyRegistered);
}

TEST(OperatorRegistryTest, AnIncompleteKernelIsRefused) {
  LogCapture log;
  EXPECT_EQ(register_kernel(Kernel("null::a.out", nullptr)), Error::InvalidArgument);
  EXPECT_EQ(register_kernel(Kernel()), Error::InvalidArgument);
}

TEST(OperatorRegistryTest, TablesAreFoundSortedOrNot) {
  static constexpr Kernel kSorted[] = {Kernel("table::a.out", op<1>), Kernel("table::b.out", op<2>),
                                       Kernel("table::b.out", "v1/6;0,1", op<3>),
                                       Kernel("table::c.out", op<4>)};
  static constexpr Kernel kUnsorted[] = {Kernel("table::z.out", op<5>),
                                         Kernel("table::d.out", op<6>)};
  ASSERT_EQ(register_kernel_table(kSorted), Error::Ok);
  ASSERT_EQ(register_kernel_table(kUnsorted), Error::Ok);
  EXPECT_EQ(*find_kernel("table::a.out"), &kSorted[0]);
  EXPECT_EQ(*find_kernel("table::b.out", kInt), &kSorted[1]);
  EXPECT_EQ(*find_kernel("table::b.out", kFloat), &kSorted[2]);
  EXPECT_EQ(*find_kernel("table::c.out"), &kSorted[3]);
  EXPECT_EQ(*find_kernel("table::d.out"), &kUnsorted[1]);
  EXPECT_EQ(*find_kernel("table::z.out"), &kUnsorted[0]);
  EXPECT_FALSE(registry_has_op_function("table::bb.out"));
  LogCapture log;
  EXPECT_EQ(register_kernel(Kernel("table::z.out", op<1>)), Error::RegistrationAlreadyRegistered);
}

TEST(OperatorRegistryTest, AnOverridingTableIsFoundFirst) {
  static constexpr Kernel kPortable[] = {Kernel("over::a.out", op<1>), Kernel("over::b.out", op<2>),
                                         Kernel("over::c.out", "v1/6;0,1", op<3>)};
  static constexpr Kernel kFast[] = {Kernel("over::a.out", op<4>), Kernel("over::c.out", op<5>)};
  // Whichever is registered first.
  ASSERT_EQ(register_kernel_table(kFast, KernelPriority::Override), Error::Ok);
  ASSERT_EQ(register_kernel_table(kPortable), Error::Ok);
  EXPECT_EQ(*find_kernel("over::a.out"), &kFast[0]);
  EXPECT_EQ(*find_kernel("over::b.out"), &kPortable[1]);
  // A specialized kernel is more special than an overriding fallback.
  EXPECT_EQ(*find_kernel("over::c.out", kFloat), &kPortable[2]);
  EXPECT_EQ(*find_kernel("over::c.out", kInt), &kFast[1]);
  LogCapture log;
  EXPECT_EQ(register_kernel_table(kFast, KernelPriority::Override),
            Error::RegistrationAlreadyRegistered);
}

TEST(OperatorRegistryTest, ALookUpCanUseAListOfItsOwn) {
  LogCapture log;
  const Kernel kernels[] = {Kernel("own::a.out", op<1>)};
  EXPECT_EQ(address(*get_op_function_from_registry("own::a.out", {}, kernels)), address(op<1>));
  EXPECT_EQ(get_op_function_from_registry("own::b.out", {}, kernels).error(),
            Error::OperatorMissing);
  EXPECT_FALSE(registry_has_op_function("own::a.out"));
}

TEST(OperatorRegistryTest, AllKernelsCanBeListed) {
  static constexpr Kernel kTable[] = {Kernel("list::b.out", op<1>)};
  ASSERT_EQ(register_kernel(Kernel("list::a.out", op<1>)), Error::Ok);
  ASSERT_EQ(register_kernel_table(kTable), Error::Ok);
  const auto lists = [](const char* name) {
    size_t count = 0;
    for (const Kernel& kernel : get_registered_kernels()) {
      count += std::string(kernel.name_) == name;
    }
    return count;
  };
  EXPECT_EQ(lists("list::a.out"), 1u);
  EXPECT_EQ(lists("list::b.out"), 1u);
  EXPECT_EQ(get_registered_kernels().size(), registered_kernel_count());
  ASSERT_EQ(register_kernel(Kernel("list::c.out", op<1>)), Error::Ok);
  EXPECT_EQ(lists("list::c.out"), 1u);
}

// The last suite: it fills the registry.
TEST(FullOperatorRegistryTest, OneMoreIsAnError) {
  LogCapture log;
  std::vector<std::string> names;
  for (int i = 0; i < 300; ++i) {
    names.push_back("full::" + std::to_string(i));
  }
  Error error = Error::Ok;
  for (size_t i = 0; i < names.size() && error == Error::Ok; ++i) {
    static std::vector<std::string> kept;
    kept.reserve(names.size());
    kept.push_back(names[i]);
    error = register_kernel(Kernel(kept.back().c_str(), op<1>));
  }
  EXPECT_EQ(error, Error::RegistrationExceedingMaxKernels);
  EXPECT_TRUE(log.contains("MAX_KERNEL_NUM"));
}

}  // namespace
