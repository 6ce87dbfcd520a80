// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
#pragma once

#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include <executorch/devtools/bundled_program/bundled_program.h>
#include <executorch/extension/module/module.h>

namespace executorch::extension {

/// The program of a .bpte file, whose methods can be run on its test cases.
class BundledModule : public Module {
 public:
  /// Reads and verifies the file.
  /// @return The errors of FileDataLoader, and of bundled_program::Bundle::open().
  static runtime::Result<std::unique_ptr<BundledModule>> from_file(
      const std::string& file_path,
      std::unique_ptr<runtime::MemoryAllocator> memory_allocator = nullptr,
      std::unique_ptr<runtime::MemoryAllocator> temp_allocator = nullptr,
      std::unique_ptr<runtime::EventTracer> event_tracer = nullptr,
      std::unique_ptr<runtime::DataLoader> data_map_loader = nullptr);

  /// @param bundled_program_ptr The bytes of a .bpte file that bundled_program::get_program_data()
  ///     has accepted; must outlive the module. Others are as for Module.
  explicit BundledModule(const void* bundled_program_ptr,
                         std::unique_ptr<runtime::MemoryAllocator> memory_allocator = nullptr,
                         std::unique_ptr<runtime::MemoryAllocator> temp_allocator = nullptr,
                         std::unique_ptr<runtime::EventTracer> event_tracer = nullptr,
                         std::unique_ptr<runtime::DataLoader> data_map_loader = nullptr);

  using Module::execute;
  /// Runs the method on the inputs of test case `testset_idx`.
  /// @retval Error::NotFound The method lacks test cases.
  /// @retval Error::InvalidArgument The case does not exist, or its inputs do not match the
  ///     method's.
  [[nodiscard]] runtime::Result<std::vector<runtime::EValue>> execute(
      const std::string& method_name, size_t testset_idx);

  /// Compares the outputs of the method's last run with those that test case `testset_idx` expects.
  /// @return The errors of bundled_program::verify_method_outputs().
  [[nodiscard]] runtime::Error verify_method_outputs(const std::string& method_name,
                                                     size_t testset_idx, double rtol = 1e-5,
                                                     double atol = 1e-8);

 private:
  BundledModule(const void* bundle, std::unique_ptr<runtime::DataLoader> program_loader,
                std::unique_ptr<runtime::MemoryAllocator> memory_allocator,
                std::unique_ptr<runtime::MemoryAllocator> temp_allocator,
                std::unique_ptr<runtime::EventTracer> event_tracer,
                std::unique_ptr<runtime::DataLoader> data_map_loader);

  const void* bundle_;
  /// Method → inputs of its last test case.
  std::unordered_map<std::string, bundled_program::InputMemory> inputs_;
};

}  // namespace executorch::extension

// Documented names of the same things.
#ifdef USE_ATEN_LIB
#define ET_BUNDLED_MODULE_NAMESPACE bundled_module::aten
#else
#define ET_BUNDLED_MODULE_NAMESPACE bundled_module
#endif
namespace executorch::extension::bundled_module {
using ::executorch::extension::BundledModule;
#ifdef USE_ATEN_LIB
namespace aten {
using ::executorch::extension::BundledModule;
}  // namespace aten
#endif
}  // namespace executorch::extension::bundled_module
