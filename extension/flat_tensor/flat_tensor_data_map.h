// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
#pragma once

#include <map>
#include <string_view>
#include <vector>

#include <executorch/extension/flat_tensor/flat_tensor_header.h>
#include <executorch/runtime/core/data_loader.h>
#include <executorch/runtime/core/named_data_map.h>

namespace executorch::extension {

/// The named data of a .ptd file. Immutable: threads may share it.
class FlatTensorDataMap final : public ET_RUNTIME_NAMESPACE::NamedDataMap {
 public:
  /// Reads and verifies the file's index; data is loaded on request. `loader` must outlive the map
  /// and all data from it.
  /// @retval Error::InvalidExternalData The file is damaged or not a data file; the log names the
  ///     place.
  static runtime::Result<FlatTensorDataMap> load(runtime::DataLoader* loader);

  FlatTensorDataMap(FlatTensorDataMap&&) = default;
  FlatTensorDataMap& operator=(FlatTensorDataMap&&) = default;

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
  /// Data of a name: bytes of the file and, for a tensor, the index of its layout.
  struct Entry {
    size_t offset;
    size_t size;
    uint32_t segment;
    ptrdiff_t layout;
  };

  FlatTensorDataMap(runtime::DataLoader* loader, runtime::FreeableBuffer index)
      : loader_(loader), index_(std::move(index)) {}

  runtime::Error read_index(const internal::FlatTensorHeader& header);
  runtime::Result<const Entry*> find(std::string_view key) const;

  runtime::DataLoader* loader_;
  /// The file up to the flatbuffer's end: names and layouts lie in it.
  runtime::FreeableBuffer index_;
  std::vector<const char*> keys_;
  std::vector<ET_RUNTIME_NAMESPACE::TensorLayout> layouts_;
  /// Sorted: names that all have one hash would make a hash table quadratic.
  std::map<std::string_view, Entry> entries_;
};

}  // namespace executorch::extension
