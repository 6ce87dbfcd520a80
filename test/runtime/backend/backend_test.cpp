// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
#include <executorch/runtime/backend/backend_options_map.h>
#include <executorch/runtime/backend/interface.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "runtime/log_capture.h"

using namespace executorch::runtime;

namespace {

/// Adds the number in its payload to its argument.
class AddBackend final : public BackendInterface {
 public:
  bool is_available() const override { return true; }
  Result<DelegateHandle*> init(BackendInitContext& context, FreeableBuffer* processed,
                               ArrayRef<CompileSpec>) const override {
    if (processed->size() != 1) {
      return Error::DelegateInvalidCompatibility;
    }
    int64_t* state = context.get_runtime_allocator()->allocateInstance<int64_t>();
    if (state == nullptr) {
      return Error::DelegateMemoryAllocationFailed;
    }
    *state = *static_cast<const uint8_t*>(processed->data());
    processed->Free();
    return static_cast<DelegateHandle*>(state);
  }
  Error execute(BackendExecutionContext& context, DelegateHandle* handle,
                Span<EValue*> args) const override {
    EXPECT_EQ(context.allocate(1), nullptr);
    *args[0] = EValue(args[0]->toInt() + *static_cast<int64_t*>(handle));
    return Error::Ok;
  }
  Error set_option(BackendOptionContext&, const Span<BackendOption>& options) override {
    return executorch::runtime::internal::read_option(options[0], threads_);
  }
  Error get_option(BackendOptionContext&, Span<BackendOption>& options) override {
    options[0].value = threads_;
    return Error::Ok;
  }

 private:
  int threads_ = 0;
};

AddBackend g_backend;

TEST(BackendRegistryTest, FindsByNameAndRefusesDuplicates) {
  LogCapture log;
  const size_t before = get_num_registered_backends();
  ASSERT_EQ(register_backend({"RegistryBackend", &g_backend}), Error::Ok);
  const std::string name = "RegistryBackend";
  EXPECT_EQ(get_backend_class(name.c_str()), &g_backend);
  EXPECT_EQ(get_backend_class("Other"), nullptr);
  EXPECT_EQ(register_backend({"RegistryBackend", &g_backend}),
            Error::RegistrationAlreadyRegistered);
  EXPECT_EQ(register_backend({nullptr, &g_backend}), Error::InvalidArgument);
  EXPECT_EQ(register_backend({"Null", nullptr}), Error::InvalidArgument);
  EXPECT_EQ(get_num_registered_backends(), before + 1);
  EXPECT_STREQ(*get_backend_name(before), "RegistryBackend");
  EXPECT_EQ(get_backend_name(before + 1).error(), Error::InvalidArgument);
}

TEST(BackendInterfaceTest, ADelegateLivesInTheMemoryItIsGiven) {
  alignas(16) uint8_t memory[8];
  MemoryAllocator allocator(sizeof(memory), memory);
  BackendInitContext init_context(&allocator, nullptr, "forward");
  const uint8_t payload[] = {5};
  FreeableBuffer processed(payload, 1, nullptr);
  DelegateHandle* handle = *g_backend.init(init_context, &processed, {});
  EXPECT_STREQ(init_context.get_method_name(), "forward");
  EXPECT_EQ(allocator.used_size(), 8u);
  EValue value(int64_t{2});
  EValue* args[] = {&value};
  BackendExecutionContext context;
  EXPECT_EQ(g_backend.execute(context, handle, args), Error::Ok);
  EXPECT_EQ(value.toInt(), 7);
  g_backend.destroy(handle);
}

TEST(BackendOptionsTest, KeepsNumbersAndTexts) {
  LogCapture log;
  BackendOptions<3> options;
  EXPECT_EQ(options.set_option("flag", true), Error::Ok);
  EXPECT_EQ(options.set_option("threads", 4), Error::Ok);
  EXPECT_EQ(options.set_option("path", "here"), Error::Ok);
  EXPECT_EQ(options.set_option("path", "there"), Error::Ok);
  EXPECT_EQ(options.set_option("more", 1), Error::InvalidArgument);
  bool flag = false;
  int threads = 0;
  const char* path = nullptr;
  EXPECT_EQ(options.get_option("flag", flag), Error::Ok);
  EXPECT_EQ(options.get_option("threads", threads), Error::Ok);
  EXPECT_EQ(options.get_option("path", path), Error::Ok);
  EXPECT_TRUE(flag);
  EXPECT_EQ(threads, 4);
  EXPECT_STREQ(path, "there");
  EXPECT_EQ(options.get_option("path", threads), Error::InvalidArgument);
  EXPECT_EQ(options.get_option("none", threads), Error::NotFound);
  const std::string long_text(256, 'x');
  EXPECT_EQ(options.set_option("path", long_text.c_str()), Error::InvalidArgument);
  EXPECT_EQ(options.view().size(), 3u);
}

TEST(BackendOptionsTest, AreSetAndReadThroughTheRegistry) {
  LogCapture log;
  ASSERT_EQ(register_backend({"OptionBackend", &g_backend}), Error::Ok);
  BackendOptions<1> options;
  EXPECT_EQ(options.set_option("threads", 4), Error::Ok);
  EXPECT_EQ(set_option("OptionBackend", options.view()), Error::Ok);
  BackendOption read[1];
  EXPECT_EQ(get_option("OptionBackend", read), Error::Ok);
  EXPECT_EQ(std::get<int>(read[0].value), 4);
  EXPECT_EQ(set_option("NoBackend", options.view()), Error::NotFound);
  EXPECT_EQ(get_option("NoBackend", read), Error::NotFound);
}

TEST(BackendOptionsTest, AreFoundByBackendWhenAProgramIsLoaded) {
  LogCapture log;
  BackendOptions<2> options;
  EXPECT_EQ(options.set_option("threads", 4), Error::Ok);
  EXPECT_EQ(options.set_option("path", "x"), Error::Ok);
  LoadBackendOptionsMap map;
  EXPECT_EQ(map.set_options("A", options.view()), Error::Ok);
  EXPECT_EQ(map.set_options("A", options.view()), Error::Ok);
  EXPECT_EQ(map.size(), 1u);
  EXPECT_STREQ(map.entry_at(0).backend_id, "A");
  EXPECT_EQ(map.set_options("", options.view()), Error::InvalidArgument);
  EXPECT_EQ(map.set_options(std::string(64, 'x').c_str(), options.view()), Error::InvalidArgument);
  EXPECT_FALSE(map.has_options("B"));
  EXPECT_TRUE(map.get_options("B").empty());
  BackendInitContext context(nullptr, nullptr, nullptr, nullptr, map.get_options("A"));
  EXPECT_EQ(*context.get_runtime_spec<int>("threads"), 4);
  EXPECT_STREQ(*context.get_runtime_spec<const char*>("path"), "x");
  EXPECT_EQ(context.get_runtime_spec<bool>("threads").error(), Error::InvalidArgument);
  EXPECT_EQ(context.get_runtime_spec<bool>("none").error(), Error::NotFound);
  std::vector<std::string> names;
  for (char c = 'B'; c <= 'H'; ++c) {
    EXPECT_EQ(map.set_options(std::string(1, c).c_str(), options.view()), Error::Ok);
  }
  EXPECT_EQ(map.set_options("I", options.view()), Error::InvalidArgument);
}

// The last suite: it fills the registry.
TEST(FullBackendRegistryTest, OneMoreIsAnError) {
  LogCapture log;
  static const std::vector<std::string> names = [] {
    std::vector<std::string> all;
    for (int i = 0; i < 17; ++i) {
      all.push_back("Full" + std::to_string(i));
    }
    return all;
  }();
  Error error = Error::Ok;
  for (size_t i = 0; i < names.size() && error == Error::Ok; ++i) {
    error = register_backend({names[i].c_str(), &g_backend});
  }
  EXPECT_EQ(error, Error::OutOfResources);
}

}  // namespace
