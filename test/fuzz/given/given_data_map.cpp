// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
#include "fuzz/given/given_data_map.h"

#include <string.h>

#include "fuzz/given/checked_copy.h"
#include "fuzz/program/program_editor.h"

namespace executorch::fuzz {

using runtime::Error;
using runtime::FreeableBuffer;
using runtime::Result;
using runtime::TensorLayout;

namespace {

constexpr size_t kMaxBytes = 1u << 16;

}  // namespace

GivenDataMap::GivenDataMap(const testing::TestProgram& program, Random& random) {
  for (const testing::TestPlan& plan : program.plans) {
    for (const testing::TestValue& value : plan.values) {
      const bool is_named = value.kind == fb::KernelTypes::Tensor && !value.tensor.name.empty();
      if (is_named && value.tensor.name != kNameWithoutData && find(value.tensor.name) == nullptr) {
        add(value.tensor, random);
      }
    }
  }
}

void GivenDataMap::add(const testing::TestTensor& tensor, Random& random) {
  Entry entry{tensor.name, tensor, {}};
  if (random.one_in(8)) {
    entry.tensor.type = any_type(random);
  }
  if (random.one_in(8) && !entry.tensor.sizes.empty()) {
    random.pick(entry.tensor.sizes) = static_cast<int32_t>(random.between(-1, 5));
  }
  const size_t bytes = bytes_of(entry.tensor);
  if (bytes > kMaxBytes) {
    return;
  }
  entry.bytes.assign(random.one_in(8) ? random.below(bytes + 1) : bytes, 1);
  entries_.push_back(std::move(entry));
}

const GivenDataMap::Entry* GivenDataMap::find(std::string_view key) const {
  for (const Entry& entry : entries_) {
    if (entry.name == key) {
      return &entry;
    }
  }
  return nullptr;
}

Result<const TensorLayout> GivenDataMap::get_tensor_layout(std::string_view key) const {
  const Entry* const entry = find(key);
  if (entry == nullptr) {
    return Error::NotFound;
  }
  const testing::TestTensor& tensor = entry->tensor;
  return TensorLayout::create({tensor.sizes.data(), tensor.sizes.size()},
                              {tensor.dim_order.data(), tensor.dim_order.size()},
                              static_cast<aten::ScalarType>(tensor.type));
}

Result<FreeableBuffer> GivenDataMap::get_data(std::string_view key) const {
  const Entry* const entry = find(key);
  if (entry == nullptr) {
    return Error::NotFound;
  }
  return checked_copy({entry->bytes.data(), entry->bytes.size()});
}

Error GivenDataMap::load_data_into(std::string_view key, void* buffer, size_t size) const {
  const Entry* const entry = find(key);
  if (entry == nullptr) {
    return Error::NotFound;
  }
  if (entry->bytes.size() != size) {
    return Error::InvalidArgument;
  }
  if (size > 0) {
    memcpy(buffer, entry->bytes.data(), size);
  }
  return Error::Ok;
}

Result<uint32_t> GivenDataMap::get_num_keys() const {
  return static_cast<uint32_t>(entries_.size());
}

Result<const char*> GivenDataMap::get_key(uint32_t index) const {
  if (index >= entries_.size()) {
    return Error::InvalidArgument;
  }
  return entries_[index].name.c_str();
}

}  // namespace executorch::fuzz
