// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
#pragma once

#include <string>
#include <vector>

#include <executorch/runtime/core/named_data_map.h>

#include "fuzz/engine/random.h"
#include "runtime/executor/program_builder.h"

namespace executorch::fuzz {

/// The name that no GivenDataMap has.
inline constexpr char kNameWithoutData[] = "nowhere";

/// Data for every other name that the program's tensors have: one entry a name, which tensors of
/// that name share. Now and then an entry has another dtype, other sizes, or fewer bytes than its
/// sizes.
class GivenDataMap final : public runtime::NamedDataMap {
 public:
  GivenDataMap(const testing::TestProgram& program, Random& random);

  runtime::Result<const runtime::TensorLayout> get_tensor_layout(
      std::string_view key) const override;
  /// A heap block of the entry's bytes. It ends the process if it was written to before it is
  /// released.
  runtime::Result<runtime::FreeableBuffer> get_data(std::string_view key) const override;
  runtime::Error load_data_into(std::string_view key, void* buffer, size_t size) const override;
  runtime::Result<uint32_t> get_num_keys() const override;
  runtime::Result<const char*> get_key(uint32_t index) const override;

 private:
  struct Entry {
    std::string name;
    testing::TestTensor tensor;
    std::vector<uint8_t> bytes;
  };
  void add(const testing::TestTensor& tensor, Random& random);
  const Entry* find(std::string_view key) const;

  std::vector<Entry> entries_;
};

}  // namespace executorch::fuzz
