// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// typeid and dynamic_cast on objects of the library's polymorphic classes, and on classes derived
// from them.
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <typeinfo>
#include <utility>
#include <vector>

#include <executorch/devtools/etdump/data_sinks/buffer_data_sink.h>
#include <executorch/devtools/etdump/data_sinks/file_data_sink.h>
#include <executorch/devtools/etdump/etdump_filter.h>
#include <executorch/devtools/etdump/etdump_flatcc.h>
#include <executorch/extension/data_loader/buffer_data_loader.h>
#include <executorch/extension/data_loader/file_data_loader.h>
#include <executorch/extension/data_loader/file_descriptor_data_loader.h>
#include <executorch/extension/data_loader/mmap_data_loader.h>
#include <executorch/extension/data_loader/shared_ptr_data_loader.h>
#include <executorch/extension/flat_tensor/flat_tensor_data_map.h>
#include <executorch/extension/memory_allocator/malloc_dynamic_allocator.h>
#include <executorch/extension/memory_allocator/malloc_memory_allocator.h>
#include <executorch/extension/module/bundled_module.h>
#include <executorch/extension/module/module.h>
#include <executorch/extension/named_data_map/merged_data_map.h>
#include <executorch/extension/signature/verified_data_loader.h>
#include <executorch/extension/testing_util/temp_file.h>
#include <executorch/runtime/backend/interface.h>
#include <executorch/runtime/core/device_allocator.h>
#include <executorch/runtime/core/event_tracer.h>
#include <executorch/runtime/executor/program.h>
#include <executorch/runtime/kernel/platform_memory_allocator.h>

#include "test_paths.h"

namespace {

using executorch::extension::BufferDataLoader;
using executorch::extension::FileDataLoader;
using executorch::extension::MallocMemoryAllocator;
using executorch::extension::MmapDataLoader;
using executorch::extension::Module;
using executorch::runtime::BackendInterface;
using executorch::runtime::DataLoader;
using executorch::runtime::DeviceAllocator;
using executorch::runtime::DynamicAllocator;
using executorch::runtime::Error;
using executorch::runtime::EventTracer;
using executorch::runtime::EventTracerFilterBase;
using executorch::runtime::FreeableBuffer;
using executorch::runtime::MemoryAllocator;
using executorch::runtime::NamedDataMap;
using executorch::runtime::Program;
using executorch::runtime::Result;
using executorch::runtime::Span;
using executorch::runtime::TensorLayout;
using executorch::runtime::internal::PlatformMemoryAllocator;

std::string path_of(const char* name) { return std::string(TEST_DATA_DIR) + "/peer/" + name; }

/// Checks the object's type and the pointer that dynamic_cast gives for it.
template <typename Derived, typename Base>
void expect_type(Base& object) {
  EXPECT_TRUE(typeid(object) == typeid(Derived));
  EXPECT_NE(dynamic_cast<Derived*>(&object), nullptr);
}

class UsersLoader : public DataLoader {
 public:
  Result<FreeableBuffer> load(size_t, size_t, const SegmentInfo&) const override {
    return Error::NotSupported;
  }
  Result<size_t> size() const override { return size_t{0}; }
};

class UsersMap : public NamedDataMap {
 public:
  Result<const TensorLayout> get_tensor_layout(std::string_view) const override {
    return Error::NotFound;
  }
  Result<FreeableBuffer> get_data(std::string_view) const override { return Error::NotFound; }
  Error load_data_into(std::string_view, void*, size_t) const override { return Error::NotFound; }
  Result<uint32_t> get_num_keys() const override { return 0u; }
  Result<const char*> get_key(uint32_t) const override { return Error::InvalidArgument; }
};

class UsersBackend : public BackendInterface {
 public:
  bool is_available() const override { return true; }
  Result<executorch::runtime::DelegateHandle*> init(
      executorch::runtime::BackendInitContext&, FreeableBuffer*,
      executorch::runtime::ArrayRef<executorch::runtime::CompileSpec>) const override {
    return Error::NotSupported;
  }
  Error execute(executorch::runtime::BackendExecutionContext&, executorch::runtime::DelegateHandle*,
                Span<executorch::runtime::EValue*>) const override {
    return Error::NotSupported;
  }
};

class UsersAllocator : public MemoryAllocator {
 public:
  UsersAllocator() : MemoryAllocator(0, nullptr) {}
  void* allocate(size_t, size_t) override { return nullptr; }
};

class UsersDynamicAllocator : public DynamicAllocator {
 public:
  void* allocate(size_t, size_t) override { return nullptr; }
  void free(void*) override {}
};

class UsersSink : public executorch::etdump::DataSinkBase {
 public:
  Result<size_t> write(const void*, size_t) override { return size_t{0}; }
  size_t get_used_bytes() const override { return 0; }
};

class UsersFilter : public EventTracerFilterBase {
 public:
  Result<bool> filter(const char*, executorch::runtime::DelegateDebugIntId) override {
    return true;
  }
};

class UsersTracer : public executorch::etdump::ETDumpGen {};

class UsersModule : public Module {
 public:
  using Module::Module;
};

template <typename Base, typename Derived>
void expect_derived() {
  const std::unique_ptr<Base> object = std::make_unique<Derived>();
  expect_type<Derived>(*object);
}

TEST(TypeInformation, ClassesOfUsersAreRecognised) {
  expect_derived<DataLoader, UsersLoader>();
  expect_derived<NamedDataMap, UsersMap>();
  expect_derived<BackendInterface, UsersBackend>();
  expect_derived<MemoryAllocator, UsersAllocator>();
  expect_derived<DynamicAllocator, UsersDynamicAllocator>();
  expect_derived<executorch::etdump::DataSinkBase, UsersSink>();
  expect_derived<EventTracerFilterBase, UsersFilter>();
  expect_derived<EventTracer, UsersTracer>();
  const std::unique_ptr<Module> module = std::make_unique<UsersModule>(path_of("add.pte"));
  expect_type<UsersModule>(*module);
}

TEST(TypeInformation, DataLoadersAreRecognised) {
  const std::string path = path_of("add.pte");
  Result<FileDataLoader> file = FileDataLoader::from(path.c_str());
  ASSERT_TRUE(file.ok());
  expect_type<FileDataLoader, DataLoader>(*file);
  Result<MmapDataLoader> mapped = MmapDataLoader::from(path.c_str());
  ASSERT_TRUE(mapped.ok());
  expect_type<MmapDataLoader, DataLoader>(*mapped);
  EXPECT_EQ(dynamic_cast<FileDataLoader*>(static_cast<DataLoader*>(&*mapped)), nullptr);
  BufferDataLoader buffer("", 0);
  expect_type<BufferDataLoader, DataLoader>(buffer);
  executorch::extension::SharedPtrDataLoader shared(std::make_shared<char>(), 1);
  expect_type<executorch::extension::SharedPtrDataLoader, DataLoader>(shared);
  EXPECT_STRNE(typeid(executorch::extension::FileDescriptorDataLoader).name(), "");
  EXPECT_STRNE(typeid(executorch::extension::signature::VerifiedDataLoader).name(), "");
}

TEST(TypeInformation, DataMapsAreRecognised) {
  Result<FileDataLoader> weights = FileDataLoader::from(path_of("external.ptd").c_str());
  ASSERT_TRUE(weights.ok());
  auto map = executorch::extension::FlatTensorDataMap::load(&*weights);
  ASSERT_TRUE(map.ok());
  expect_type<executorch::extension::FlatTensorDataMap, NamedDataMap>(*map);
  auto merged = executorch::extension::MergedDataMap::load({&*map});
  ASSERT_TRUE(merged.ok());
  expect_type<executorch::extension::MergedDataMap, NamedDataMap>(*merged);
}

TEST(TypeInformation, AllocatorsThatTheCoreMakesAreRecognised) {
  alignas(16) uint8_t memory[64];
  MemoryAllocator block(sizeof(memory), memory);
  EXPECT_TRUE(typeid(block) == typeid(MemoryAllocator));
  MallocMemoryAllocator heap;
  expect_type<MallocMemoryAllocator, MemoryAllocator>(heap);
  PlatformMemoryAllocator platform;
  expect_type<PlatformMemoryAllocator, MemoryAllocator>(platform);
  EXPECT_EQ(dynamic_cast<MallocMemoryAllocator*>(static_cast<MemoryAllocator*>(&platform)),
            nullptr);
  executorch::extension::MallocDynamicAllocator pieces;
  expect_type<executorch::extension::MallocDynamicAllocator, DynamicAllocator>(pieces);
  EXPECT_STRNE(typeid(DeviceAllocator).name(), "");
}

TEST(TypeInformation, TheDataMapOfAProgramHasAType) {
  const std::string path = std::string(TEST_DATA_DIR) + "/int8/rows.pte";
  Result<FileDataLoader> loader = FileDataLoader::from(path.c_str());
  ASSERT_TRUE(loader.ok());
  Result<Program> program = Program::load(&*loader);
  ASSERT_TRUE(program.ok());
  Result<const NamedDataMap*> map = program->get_named_data_map();
  ASSERT_TRUE(map.ok());
  const NamedDataMap& named = **map;
  EXPECT_STRNE(typeid(named).name(), "");
  EXPECT_EQ(dynamic_cast<const UsersMap*>(&named), nullptr);
}

TEST(TypeInformation, TracersAndSinksAreRecognised) {
  executorch::etdump::ETDumpGen tracer;
  expect_type<executorch::etdump::ETDumpGen, EventTracer>(tracer);
  executorch::etdump::ETDumpFilter filter;
  expect_type<executorch::etdump::ETDumpFilter, EventTracerFilterBase>(filter);
  std::vector<uint8_t> memory(256);
  auto sink = executorch::etdump::BufferDataSink::create(memory.data(), memory.size());
  ASSERT_TRUE(sink.ok());
  expect_type<executorch::etdump::BufferDataSink, executorch::etdump::DataSinkBase>(*sink);
  executorch::extension::testing::TempFile file(std::string("0"));
  auto file_sink = executorch::etdump::FileDataSink::create(file.path().c_str());
  ASSERT_TRUE(file_sink.ok());
  expect_type<executorch::etdump::FileDataSink, executorch::etdump::DataSinkBase>(*file_sink);
}

TEST(TypeInformation, ModulesAreRecognised) {
  const std::unique_ptr<Module> plain = std::make_unique<Module>(path_of("add.pte"));
  EXPECT_TRUE(typeid(*plain) == typeid(Module));
  EXPECT_EQ(dynamic_cast<executorch::extension::BundledModule*>(plain.get()), nullptr);
}

}  // namespace
