// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
#pragma once

#include <stddef.h>
#include <stdint.h>

#include <string_view>

#include <executorch/runtime/core/data_loader.h>
#include <executorch/runtime/core/named_data_map.h>

namespace executorch_flatbuffer {
struct NamedData;
struct Program;
}  // namespace executorch_flatbuffer

namespace executorch {
namespace ET_RUNTIME_NAMESPACE {
namespace internal {

/// The named data of a program file, for its backends: bytes without a tensor's type
/// and shape.
class ProgramDataMap final : public NamedDataMap {
 public:
  /// `loader` and `program` (verified) must outlive the map; segments start at byte `segment_base`.
  ProgramDataMap(const DataLoader* loader, const executorch_flatbuffer::Program* program,
                 size_t segment_base)
      : loader_(loader), program_(program), segment_base_(segment_base) {}

  /// Returns NotFound: data in a program has no tensor layout.
  Result<const TensorLayout> get_tensor_layout(std::string_view key) const override;
  Result<FreeableBuffer> get_data(std::string_view key) const override;
  Error load_data_into(std::string_view key, void* buffer, size_t size) const override;
  Result<uint32_t> get_num_keys() const override;
  Result<const char*> get_key(uint32_t index) const override;

  /// State that successive look-ups share.
  struct Search {
    /// How many more names the look-ups may compare.
    size_t left = SIZE_MAX;
    /// Index of the name to begin with: backends mostly look names up in the order of the file.
    uint32_t next = 0;
  };
  Result<FreeableBuffer> get_data(std::string_view key, Search* search) const;
  Error load_data_into(std::string_view key, void* buffer, size_t size, Search* search) const;

 private:
  /// nullptr if there is none.
  const executorch_flatbuffer::NamedData* find(std::string_view key, Search* search) const;

  const DataLoader* loader_;
  const executorch_flatbuffer::Program* program_;
  size_t segment_base_;
};

/// Searches the caller's map first, then the program's own. Not thread-safe: it caches its
/// position.
class MergedDataMap final : public NamedDataMap {
 public:
  /// `given` may be null. Both must outlive the map. `program_size` in bytes bounds how many of the
  /// program's names a look-up compares.
  MergedDataMap(const NamedDataMap* given, const ProgramDataMap& own, size_t program_size)
      : given_(given), own_(own), search_{kNamesPerByte * program_size, 0} {}

  Result<const TensorLayout> get_tensor_layout(std::string_view key) const override;
  Result<FreeableBuffer> get_data(std::string_view key) const override;
  Error load_data_into(std::string_view key, void* buffer, size_t size) const override;
  Result<uint32_t> get_num_keys() const override;
  Result<const char*> get_key(uint32_t index) const override;

 private:
  static constexpr size_t kNamesPerByte = 8;

  const NamedDataMap* given_;
  const ProgramDataMap& own_;
  mutable ProgramDataMap::Search search_;
};

}  // namespace internal
}  // namespace ET_RUNTIME_NAMESPACE
}  // namespace executorch
