// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
#pragma once

#include <map>
#include <string_view>
#include <vector>

#include <executorch/runtime/core/named_data_map.h>

namespace executorch::extension {

/// Several maps as one. Their names must be disjoint.
class MergedDataMap final : public ET_RUNTIME_NAMESPACE::NamedDataMap {
 public:
  /// The maps must outlive this one and all data from it. Null pointers are skipped.
  /// @retval Error::InvalidArgument Two maps have the same name; the log says which.
  static runtime::Result<MergedDataMap> load(
      runtime::Span<const ET_RUNTIME_NAMESPACE::NamedDataMap* const> maps);

  [[nodiscard]] runtime::Result<const ET_RUNTIME_NAMESPACE::TensorLayout> get_tensor_layout(
      std::string_view key) const override;
  [[nodiscard]] runtime::Result<runtime::FreeableBuffer> get_data(
      std::string_view key) const override;
  [[nodiscard]] runtime::Error load_data_into(std::string_view key, void* buffer,
                                              size_t size) const override;
  [[nodiscard]] runtime::Result<uint32_t> get_num_keys() const override {
    return static_cast<uint32_t>(keys_.size());
  }
  [[nodiscard]] runtime::Result<const char*> get_key(uint32_t index) const override;

 private:
  using NamedDataMap = ET_RUNTIME_NAMESPACE::NamedDataMap;

  MergedDataMap() = default;

  runtime::Result<const NamedDataMap*> map_with(std::string_view key) const;

  std::vector<const char*> keys_;
  /// Sorted: names that all have one hash would make a hash table quadratic.
  std::map<std::string_view, const NamedDataMap*> maps_;
};

}  // namespace executorch::extension
