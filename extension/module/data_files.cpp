// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
#include <executorch/extension/module/data_files.h>

namespace executorch::extension {

using ET_RUNTIME_NAMESPACE::NamedDataMap;
using runtime::Result;

Result<std::unique_ptr<DataFiles>> DataFiles::load(
    std::vector<std::unique_ptr<runtime::DataLoader>> loaders) {
  std::unique_ptr<DataFiles> files(new DataFiles);
  files->loaders_ = std::move(loaders);
  // The merged map refers to them: they must not move.
  files->maps_.reserve(files->loaders_.size());
  std::vector<const NamedDataMap*> maps;
  for (const std::unique_ptr<runtime::DataLoader>& loader : files->loaders_) {
    files->maps_.push_back(ET_UNWRAP(FlatTensorDataMap::load(loader.get())));
    maps.push_back(&files->maps_.back());
  }
  files->merged_ = ET_UNWRAP(MergedDataMap::load({maps.data(), maps.size()}));
  return files;
}

}  // namespace executorch::extension
