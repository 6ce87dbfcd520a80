// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include <executorch/extension/flat_tensor/flat_tensor_data_map.h>
#include <executorch/extension/named_data_map/merged_data_map.h>
#include <executorch/runtime/core/data_loader.h>

namespace executorch::extension {

/// The .ptd files with a program's weights and their loaders, as one map of all names. Immutable.
/// Must outlive the methods loaded with it.
class DataFiles final {
 public:
  /// @retval Error::InvalidExternalData A file is damaged, or not a data file.
  /// @retval Error::InvalidArgument Two files have data of the same name.
  /// @param loaders Left to the caller if it fails.
  static runtime::Result<std::unique_ptr<DataFiles>> load(
      std::vector<std::unique_ptr<runtime::DataLoader>>&& loaders);

  const ET_RUNTIME_NAMESPACE::NamedDataMap* map() const { return &*merged_; }

 private:
  DataFiles() = default;

  std::vector<std::unique_ptr<runtime::DataLoader>> loaders_;
  std::vector<FlatTensorDataMap> maps_;
  std::optional<MergedDataMap> merged_;
};

}  // namespace executorch::extension
