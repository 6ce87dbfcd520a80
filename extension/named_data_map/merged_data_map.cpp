// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
#include <executorch/extension/named_data_map/merged_data_map.h>

#include <executorch/extension/memory_allocator/no_memory.h>
#include <executorch/runtime/core/span.h>
#include <executorch/runtime/platform/log.h>

namespace executorch::extension {

using ET_RUNTIME_NAMESPACE::TensorLayout;
using runtime::Error;
using runtime::Result;

Result<MergedDataMap> MergedDataMap::load(runtime::Span<const NamedDataMap* const> maps) {
  MergedDataMap merged;
  for (const NamedDataMap* map : maps) {
    if (map == nullptr) {
      continue;
    }
    const uint32_t count = ET_UNWRAP(map->get_num_keys());
    for (uint32_t i = 0; i < count; ++i) {
      const char* key = ET_UNWRAP(map->get_key(i));
      bool is_new = false;
      ET_CHECK_OK_OR_RETURN_ERROR(or_no_memory("a data map", [&] {
        is_new = merged.maps_.emplace(key, map).second;
        merged.keys_.push_back(key);
        return Error::Ok;
      }));
      ET_CHECK_OR_RETURN_ERROR(is_new, InvalidArgument, "two data maps have data named '%s'", key);
    }
  }
  return merged;
}

Result<const ET_RUNTIME_NAMESPACE::NamedDataMap*> MergedDataMap::map_with(
    std::string_view key) const {
  const auto entry = maps_.find(key);
  if (entry == maps_.end()) {
    return Error::NotFound;
  }
  return entry->second;
}

Result<const TensorLayout> MergedDataMap::get_tensor_layout(std::string_view key) const {
  return ET_UNWRAP(map_with(key))->get_tensor_layout(key);
}

Result<runtime::FreeableBuffer> MergedDataMap::get_data(std::string_view key) const {
  return ET_UNWRAP(map_with(key))->get_data(key);
}

Error MergedDataMap::load_data_into(std::string_view key, void* buffer, size_t size) const {
  return ET_UNWRAP(map_with(key))->load_data_into(key, buffer, size);
}

Result<const char*> MergedDataMap::get_key(uint32_t index) const {
  ET_CHECK_OR_RETURN_ERROR(index < keys_.size(), InvalidArgument, "data map: key %u of %zu", index,
                           keys_.size());
  return keys_[index];
}

}  // namespace executorch::extension
