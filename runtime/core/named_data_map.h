// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
#pragma once

#include <stddef.h>
#include <stdint.h>

#include <string_view>

#include <executorch/runtime/core/data_loader.h>
#include <executorch/runtime/core/freeable_buffer.h>
#include <executorch/runtime/core/result.h>
#include <executorch/runtime/core/tensor_layout.h>

namespace executorch {
namespace ET_RUNTIME_NAMESPACE {

/// Data by name, stored in a program or a separate data file for tensors and backends.
class NamedDataMap {
 public:
  virtual ~NamedDataMap() = default;

  /// Type and shape of the tensor of this name; NotFound if there is none. Valid as long as the
  /// map.
  [[nodiscard]] virtual Result<const TensorLayout> get_tensor_layout(
      std::string_view key) const = 0;

  /// The data of this name; NotFound if there is none. The map must outlive the buffer.
  [[nodiscard]] virtual Result<FreeableBuffer> get_data(std::string_view key) const = 0;

  /// Reads the data of this name into `buffer`, which has `size` bytes; NotFound if there is none,
  /// InvalidArgument if it has another size.
  [[nodiscard]] virtual Error load_data_into(std::string_view key, void* buffer,
                                             size_t size) const = 0;

  [[nodiscard]] virtual Result<uint32_t> get_num_keys() const = 0;

  /// Name number `index`, valid as long as the map; InvalidArgument if `index` is too large.
  [[nodiscard]] virtual Result<const char*> get_key(uint32_t index) const = 0;
};

}  // namespace ET_RUNTIME_NAMESPACE
}  // namespace executorch

// Documented names of the same things.
namespace torch::executor {
using ::executorch::runtime::NamedDataMap;
}  // namespace torch::executor
