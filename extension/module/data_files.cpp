// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
#include <executorch/extension/module/data_files.h>

#include <executorch/extension/memory_allocator/no_memory.h>

namespace executorch::extension {

using ET_RUNTIME_NAMESPACE::NamedDataMap;
using runtime::Error;
using runtime::Result;

Result<std::unique_ptr<DataFiles>> DataFiles::load(
    std::vector<std::unique_ptr<runtime::DataLoader>>&& loaders) {
  std::unique_ptr<DataFiles> files;
  std::vector<const NamedDataMap*> maps;
  ET_CHECK_OK_OR_RETURN_ERROR(or_no_memory("data files", [&] {
    files.reset(new DataFiles);
    // The merged map refers to them: they must not move.
    files->maps_.reserve(loaders.size());
    maps.reserve(loaders.size());
    return Error::Ok;
  }));
  for (const std::unique_ptr<runtime::DataLoader>& loader : loaders) {
    files->maps_.push_back(ET_UNWRAP(FlatTensorDataMap::load(loader.get())));
    maps.push_back(&files->maps_.back());
  }
  files->merged_ = ET_UNWRAP(MergedDataMap::load({maps.data(), maps.size()}));
  files->loaders_ = std::move(loaders);
  return files;
}

}  // namespace executorch::extension
