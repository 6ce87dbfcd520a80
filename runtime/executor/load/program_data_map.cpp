// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
#include <executorch/runtime/executor/load/program_data_map.h>

#include <executorch/runtime/executor/plan/optional_vector.h>
#include <executorch/runtime/executor/plan/plan_values.h>
#include <executorch/runtime/platform/log.h>

namespace executorch {
namespace ET_RUNTIME_NAMESPACE {
namespace internal {

namespace fb = executorch_flatbuffer;
using executorch::runtime::internal::count;
using executorch::runtime::internal::segment_at;
using executorch::runtime::internal::text;
using executorch::runtime::internal::text_view;

namespace {

DataLoader::SegmentInfo external_segment(uint32_t index) {
  return DataLoader::SegmentInfo(DataLoader::SegmentInfo::Type::External, index);
}

}  // namespace

const fb::NamedData* ProgramDataMap::find(std::string_view key, Search* search) const {
  const size_t names = count(program_->named_data());
  for (size_t i = 0; i < names; ++i) {
    if (search->left == 0) {
      ET_LOG(Error, "named data '%.*s': more look-ups than the size of the file allows",
             static_cast<int>(key.size()), key.data());
      return nullptr;
    }
    search->left -= 1;
    search->next = search->next < names ? search->next : 0;
    const fb::NamedData* named = program_->named_data()->Get(search->next++);
    if (key == text_view(named->key())) {
      return named;
    }
  }
  return nullptr;
}

Result<const TensorLayout> ProgramDataMap::get_tensor_layout(std::string_view) const {
  return Error::NotFound;
}

Result<FreeableBuffer> ProgramDataMap::get_data(std::string_view key) const {
  Search search;
  return get_data(key, &search);
}

Result<FreeableBuffer> ProgramDataMap::get_data(std::string_view key, Search* search) const {
  const fb::NamedData* named = find(key, search);
  if (named == nullptr) {
    return Error::NotFound;
  }
  const fb::DataSegment& segment = segment_at(*program_, named->segment_index());
  return loader_->load(segment_base_ + segment.offset(), segment.size(),
                       external_segment(named->segment_index()));
}

Error ProgramDataMap::load_data_into(std::string_view key, void* buffer, size_t size) const {
  Search search;
  return load_data_into(key, buffer, size, &search);
}

Error ProgramDataMap::load_data_into(std::string_view key, void* buffer, size_t size,
                                     Search* search) const {
  const fb::NamedData* named = find(key, search);
  if (named == nullptr) {
    return Error::NotFound;
  }
  const fb::DataSegment& segment = segment_at(*program_, named->segment_index());
  ET_CHECK_OR_RETURN_ERROR(segment.size() == size, InvalidArgument,
                           "named data '%s' has %" PRIu64 " bytes, expected %zu",
                           text(named->key()), segment.size(), size);
  return loader_->load_into(segment_base_ + segment.offset(), size,
                            external_segment(named->segment_index()), buffer);
}

Result<uint32_t> ProgramDataMap::get_num_keys() const {
  return static_cast<uint32_t>(count(program_->named_data()));
}

Result<const char*> ProgramDataMap::get_key(uint32_t index) const {
  ET_CHECK_OR_RETURN_ERROR(index < count(program_->named_data()), InvalidArgument,
                           "named data %u of %zu", index, count(program_->named_data()));
  return text(program_->named_data()->Get(index)->key());
}

Result<const TensorLayout> MergedDataMap::get_tensor_layout(std::string_view key) const {
  if (given_ != nullptr) {
    Result<const TensorLayout> layout = given_->get_tensor_layout(key);
    if (layout.error() != Error::NotFound) {
      return layout;
    }
  }
  return own_.get_tensor_layout(key);
}

Result<FreeableBuffer> MergedDataMap::get_data(std::string_view key) const {
  if (given_ != nullptr) {
    Result<FreeableBuffer> data = given_->get_data(key);
    if (data.error() != Error::NotFound) {
      return data;
    }
  }
  return own_.get_data(key, &search_);
}

Error MergedDataMap::load_data_into(std::string_view key, void* buffer, size_t size) const {
  const Error error =
      given_ == nullptr ? Error::NotFound : given_->load_data_into(key, buffer, size);
  return error == Error::NotFound ? own_.load_data_into(key, buffer, size, &search_) : error;
}

Result<uint32_t> MergedDataMap::get_num_keys() const {
  const uint32_t given = given_ == nullptr ? 0 : ET_UNWRAP(given_->get_num_keys());
  return given + ET_UNWRAP(own_.get_num_keys());
}

Result<const char*> MergedDataMap::get_key(uint32_t index) const {
  const uint32_t given = given_ == nullptr ? 0 : ET_UNWRAP(given_->get_num_keys());
  return index < given ? given_->get_key(index) : own_.get_key(index - given);
}

}  // namespace internal
}  // namespace ET_RUNTIME_NAMESPACE
}  // namespace executorch
