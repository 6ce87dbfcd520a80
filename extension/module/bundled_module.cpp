// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
#include <executorch/extension/module/bundled_module.h>

#include <utility>

#include <executorch/extension/data_loader/buffer_data_loader.h>
#include <executorch/extension/data_loader/mmap_data_loader.h>
#include <executorch/extension/memory_allocator/no_memory.h>

namespace executorch::extension {

using bundled_program::Bundle;
using runtime::DataLoader;
using runtime::Error;
using runtime::EValue;
using runtime::Result;

namespace {

BufferDataLoader loader_over(Bundle bundle) {
  return {bundle.program().data(), bundle.program().size()};
}

/// A null bundle has no bytes, so loading from it fails.
BufferDataLoader loader_over(const void* bundle) {
  return bundle == nullptr ? BufferDataLoader(nullptr, 0)
                           : loader_over(Bundle::of_accepted(bundle));
}

/// Loads the program of a bundle file that it keeps in memory. Lives as long as the program, which
/// may outlive the module.
class BundledFileLoader final : public DataLoader {
 public:
  BundledFileLoader(runtime::FreeableBuffer file, Bundle bundle)
      : file_(std::move(file)), program_(loader_over(bundle)) {}

  Result<runtime::FreeableBuffer> load(size_t offset, size_t size,
                                       const SegmentInfo& segment_info) const override {
    return program_.load(offset, size, segment_info);
  }
  Error load_into(size_t offset, size_t size, const SegmentInfo& segment_info,
                  void* buffer) const override {
    return program_.load_into(offset, size, segment_info, buffer);
  }
  Result<size_t> size() const override { return program_.size(); }

 private:
  runtime::FreeableBuffer file_;
  BufferDataLoader program_;
};

}  // namespace

Result<std::unique_ptr<BundledModule>> BundledModule::from_file(
    const std::string& file_path, std::unique_ptr<runtime::MemoryAllocator> memory_allocator,
    std::unique_ptr<runtime::MemoryAllocator> temp_allocator,
    std::unique_ptr<runtime::EventTracer> event_tracer,
    std::unique_ptr<DataLoader> data_map_loader) {
  const MmapDataLoader loader =
      ET_UNWRAP(MmapDataLoader::from(file_path.c_str(), MmapDataLoader::MlockConfig::NoMlock));
  runtime::FreeableBuffer file =
      ET_UNWRAP(loader.load(0, ET_UNWRAP(loader.size()),
                            DataLoader::SegmentInfo(DataLoader::SegmentInfo::Type::Program)));
  const void* bytes = file.data();
  const Bundle bundle = ET_UNWRAP(Bundle::open({static_cast<const uint8_t*>(bytes), file.size()}));
  return or_no_memory("a module", [&]() -> Result<std::unique_ptr<BundledModule>> {
    return std::unique_ptr<BundledModule>(
        new BundledModule(bytes, std::make_unique<BundledFileLoader>(std::move(file), bundle),
                          std::move(memory_allocator), std::move(temp_allocator),
                          std::move(event_tracer), std::move(data_map_loader)));
  });
}

BundledModule::BundledModule(const void* bundle, std::unique_ptr<DataLoader> program_loader,
                             std::unique_ptr<runtime::MemoryAllocator> memory_allocator,
                             std::unique_ptr<runtime::MemoryAllocator> temp_allocator,
                             std::unique_ptr<runtime::EventTracer> event_tracer,
                             std::unique_ptr<DataLoader> data_map_loader)
    : Module(std::move(program_loader), std::move(memory_allocator), std::move(temp_allocator),
             std::move(event_tracer), std::move(data_map_loader)),
      bundle_(bundle) {}

BundledModule::BundledModule(const void* bundled_program_ptr,
                             std::unique_ptr<runtime::MemoryAllocator> memory_allocator,
                             std::unique_ptr<runtime::MemoryAllocator> temp_allocator,
                             std::unique_ptr<runtime::EventTracer> event_tracer,
                             std::unique_ptr<DataLoader> data_map_loader)
    : BundledModule(bundled_program_ptr,
                    std::make_unique<BufferDataLoader>(loader_over(bundled_program_ptr)),
                    std::move(memory_allocator), std::move(temp_allocator), std::move(event_tracer),
                    std::move(data_map_loader)) {}

Result<std::vector<EValue>> BundledModule::execute(const std::string& method_name,
                                                   size_t testset_idx) {
  runtime::Method* const method = ET_UNWRAP(this->method(method_name));
  const bundled_program::TestSuite suite =
      ET_UNWRAP(Bundle::of_accepted(bundle_).suite_of(method_name));
  // The place for the inputs comes first: once they are set, nothing may free them.
  bundled_program::InputMemory* place = nullptr;
  ET_CHECK_OK_OR_RETURN_ERROR(or_no_memory("a test case", [&] {
    place = &inputs_[method_name];
    return Error::Ok;
  }));
  *place = ET_UNWRAP(bundled_program::set_inputs(*method, ET_UNWRAP(suite.test_case(testset_idx))));
  return Module::execute(method_name);
}

Error BundledModule::verify_method_outputs(const std::string& method_name, size_t testset_idx,
                                           double rtol, double atol) {
  runtime::Method* const method = ET_UNWRAP(this->method(method_name));
  return bundled_program::verify_method_outputs(*method, bundle_, testset_idx, rtol, atol);
}

}  // namespace executorch::extension
