// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
#include <executorch/extension/flat_tensor/flat_tensor_data_map.h>

#include <inttypes.h>

#include <algorithm>

#include <executorch/extension/flat_tensor/serialize/flat_tensor_generated.h>
#include <executorch/extension/memory_allocator/no_memory.h>
#include <executorch/runtime/core/overflow.h>
#include <executorch/runtime/executor/plan/optional_vector.h>
#include <executorch/runtime/executor/verify/flatbuffer_structure.h>
#include <executorch/runtime/platform/log.h>

namespace executorch::extension {

namespace fb = flat_tensor_flatbuffer;
using ET_RUNTIME_NAMESPACE::TensorLayout;
using runtime::DataLoader;
using runtime::Error;
using runtime::FreeableBuffer;
using runtime::Result;
using runtime::internal::count;
using runtime::internal::items;

namespace {

using K = runtime::internal::FieldKind;
using runtime::internal::Presence;

enum Table : uint8_t { kTensorLayout, kDataSegment, kNamedData, kFlatTensor };
constexpr const char* kTableNames[] = {"TensorLayout", "DataSegment", "NamedData", "FlatTensor"};

// flat_tensor.fbs as rows, in the order of the tables.
constexpr runtime::internal::FieldRule kFields[] = {
    {kTensorLayout, fb::TensorLayout::VT_SCALAR_TYPE, K::Scalar1},
    {kTensorLayout, fb::TensorLayout::VT_SIZES, K::Vector4},
    {kTensorLayout, fb::TensorLayout::VT_DIM_ORDER, K::Vector1},
    {kDataSegment, fb::DataSegment::VT_OFFSET, K::Scalar8},
    {kDataSegment, fb::DataSegment::VT_SIZE, K::Scalar8},
    {kNamedData, fb::NamedData::VT_KEY, K::String, Presence::Required},
    {kNamedData, fb::NamedData::VT_SEGMENT_INDEX, K::Scalar4},
    {kNamedData, fb::NamedData::VT_TENSOR_LAYOUT, K::Table, Presence::Optional, kTensorLayout},
    {kFlatTensor, fb::FlatTensor::VT_VERSION, K::Scalar4},
    {kFlatTensor, fb::FlatTensor::VT_SEGMENTS, K::TableVector, Presence::Optional, kDataSegment},
    {kFlatTensor, fb::FlatTensor::VT_NAMED_DATA, K::TableVector, Presence::Optional, kNamedData},
};
constexpr runtime::internal::TableRule kTables[] = {{0, 3}, {3, 2}, {5, 3}, {8, 3}};

constexpr uint32_t kVersion = 0;

/// Loads with the type Program: for it, loaders that map files make a copy. The flatbuffer is
/// verified once, so its bytes must not change afterwards.
Result<FreeableBuffer> load_prefix(DataLoader* loader, size_t size) {
  return loader->load(0, size, DataLoader::SegmentInfo(DataLoader::SegmentInfo::Type::Program));
}

Result<const TensorLayout> layout_of(const fb::TensorLayout& layout) {
  return TensorLayout::create(items(layout.sizes()), items(layout.dim_order()),
                              static_cast<executorch::aten::ScalarType>(layout.scalar_type()));
}

}  // namespace

Result<FlatTensorDataMap> FlatTensorDataMap::load(DataLoader* loader) {
  ET_CHECK_OR_RETURN_ERROR(loader != nullptr, InvalidArgument,
                           "data file: the data loader is null");
  const size_t file_size = ET_UNWRAP(loader->size());
  const size_t head_size = std::min(file_size, internal::FlatTensorHeader::kSize);
  internal::FlatTensorHeader header;
  {
    const FreeableBuffer head = ET_UNWRAP(load_prefix(loader, head_size));
    header = ET_UNWRAP(internal::FlatTensorHeader::parse(
        {static_cast<const uint8_t*>(head.data()), head.size()}, file_size));
  }
  FlatTensorDataMap map(loader, ET_UNWRAP(load_prefix(loader, header.flatbuffer_end)));
  ET_CHECK_OK_OR_RETURN_ERROR(
      or_no_memory("a data file's index", [&] { return map.read_index(header); }));
  return map;
}

Error FlatTensorDataMap::read_index(const internal::FlatTensorHeader& header) {
  const auto* bytes = static_cast<const uint8_t*>(index_.data());
  ET_CHECK_OR_RETURN_ERROR(
      reinterpret_cast<uintptr_t>(bytes) % alignof(uint64_t) == 0, InvalidArgument,
      "data file: it was loaded to %p, expected a multiple of 8", index_.data());
  ET_CHECK_OR_RETURN_ERROR(
      runtime::internal::verify_flatbuffer_structure(
          {bytes, index_.size()}, {kFields, kTables, kTableNames, kFlatTensor}) == Error::Ok,
      InvalidExternalData, "data file: its index is damaged");
  const fb::FlatTensor& file = *fb::GetFlatTensor(bytes);
  ET_CHECK_OR_RETURN_ERROR(file.version() == kVersion, InvalidExternalData,
                           "data file: version %u, expected %u", file.version(), kVersion);
  const size_t names = count(file.named_data());
  // Entries refer to items of `layouts_`, and keys to the index: neither may move from here on.
  layouts_.reserve(names);
  keys_.reserve(names);
  for (size_t i = 0; i < names; ++i) {
    const fb::NamedData& named = *file.named_data()->Get(static_cast<uint32_t>(i));
    const char* key = named.key()->c_str();
    ET_CHECK_OR_RETURN_ERROR(named.segment_index() < count(file.segments()), InvalidExternalData,
                             "data file: '%s' is in segment %u of %zu", key, named.segment_index(),
                             count(file.segments()));
    const fb::DataSegment& segment = *file.segments()->Get(named.segment_index());
    uint64_t end = 0;
    ET_CHECK_OR_RETURN_ERROR(!runtime::add_overflows(segment.offset(), segment.size(), &end) &&
                                 end <= header.segment_area_size,
                             InvalidExternalData,
                             "data file: '%s' has %" PRIu64 " bytes at %" PRIu64
                             " of segments' %zu",
                             key, segment.size(), segment.offset(), header.segment_area_size);
    Entry entry{header.segment_base + static_cast<size_t>(segment.offset()),
                static_cast<size_t>(segment.size()), named.segment_index(), -1};
    if (named.tensor_layout() != nullptr) {
      Result<const TensorLayout> layout = layout_of(*named.tensor_layout());
      ET_CHECK_OR_RETURN_ERROR(layout.ok() && layout->nbytes() == entry.size, InvalidExternalData,
                               "data file: '%s': sizes and dtype do not give its %zu bytes", key,
                               entry.size);
      entry.layout = static_cast<ptrdiff_t>(layouts_.size());
      layouts_.push_back(*layout);
    }
    ET_CHECK_OR_RETURN_ERROR(entries_.emplace(key, entry).second, InvalidExternalData,
                             "data file: two entries are named '%s'", key);
    keys_.push_back(key);
  }
  return Error::Ok;
}

Result<const FlatTensorDataMap::Entry*> FlatTensorDataMap::find(std::string_view key) const {
  const auto entry = entries_.find(key);
  if (entry == entries_.end()) {
    return Error::NotFound;
  }
  return &entry->second;
}

Result<const TensorLayout> FlatTensorDataMap::get_tensor_layout(std::string_view key) const {
  const Entry* entry = ET_UNWRAP(find(key));
  ET_CHECK_OR_RETURN_ERROR(entry->layout >= 0, InvalidExternalData,
                           "data file: '%.*s' is not a tensor", static_cast<int>(key.size()),
                           key.data());
  return layouts_[static_cast<size_t>(entry->layout)];
}

Result<FreeableBuffer> FlatTensorDataMap::get_data(std::string_view key) const {
  const Entry* entry = ET_UNWRAP(find(key));
  return loader_->load(
      entry->offset, entry->size,
      DataLoader::SegmentInfo(DataLoader::SegmentInfo::Type::External, entry->segment));
}

Error FlatTensorDataMap::load_data_into(std::string_view key, void* buffer, size_t size) const {
  const Entry* entry = ET_UNWRAP(find(key));
  ET_CHECK_OR_RETURN_ERROR(entry->size == size, InvalidArgument,
                           "data file: '%.*s' has %zu bytes, expected %zu",
                           static_cast<int>(key.size()), key.data(), entry->size, size);
  return loader_->load_into(
      entry->offset, size,
      DataLoader::SegmentInfo(DataLoader::SegmentInfo::Type::External, entry->segment), buffer);
}

Result<const char*> FlatTensorDataMap::get_key(uint32_t index) const {
  ET_CHECK_OR_RETURN_ERROR(index < keys_.size(), InvalidArgument, "data file: key %u of %zu", index,
                           keys_.size());
  return keys_[index];
}

}  // namespace executorch::extension
