// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
#pragma once

#include <executorch/runtime/core/data_loader.h>
#include <executorch/runtime/core/named_data_map.h>

namespace executorch_flatbuffer {
struct NamedData;
struct Program;
}  // namespace executorch_flatbuffer

namespace executorch {
namespace ET_RUNTIME_NAMESPACE {
namespace internal {

/// The data that a program file keeps under names, for its backends: bytes without a tensor's type
/// and shape.
class ProgramDataMap final : public NamedDataMap {
 public:
  /// `loader` and `program` (verified) must outlive the map; segments start at byte `segment_base`.
  ProgramDataMap(const DataLoader* loader, const executorch_flatbuffer::Program* program,
                 size_t segment_base)
      : loader_(loader), program_(program), segment_base_(segment_base) {}

  /// NotFound: what is in a program has no layout.
  Result<const TensorLayout> get_tensor_layout(std::string_view key) const override;
  Result<FreeableBuffer> get_data(std::string_view key) const override;
  Error load_data_into(std::string_view key, void* buffer, size_t size) const override;
  Result<uint32_t> get_num_keys() const override;
  Result<const char*> get_key(uint32_t index) const override;

 private:
  /// nullptr if there is none.
  const executorch_flatbuffer::NamedData* find(std::string_view key) const;

  const DataLoader* loader_;
  const executorch_flatbuffer::Program* program_;
  size_t segment_base_;
};

/// Looks in the map that the caller gave first, then in the program's own.
class MergedDataMap final : public NamedDataMap {
 public:
  /// `given` may be null. Both must outlive the map.
  MergedDataMap(const NamedDataMap* given, const ProgramDataMap& own) : given_(given), own_(own) {}

  Result<const TensorLayout> get_tensor_layout(std::string_view key) const override;
  Result<FreeableBuffer> get_data(std::string_view key) const override;
  Error load_data_into(std::string_view key, void* buffer, size_t size) const override;
  Result<uint32_t> get_num_keys() const override;
  Result<const char*> get_key(uint32_t index) const override;

 private:
  const NamedDataMap* given_;
  const ProgramDataMap& own_;
};

}  // namespace internal
}  // namespace ET_RUNTIME_NAMESPACE
}  // namespace executorch
