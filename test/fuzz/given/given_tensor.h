// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
#pragma once

#include <stddef.h>
#include <stdint.h>

#include <memory>
#include <vector>

#include <executorch/runtime/core/exec_aten/exec_aten.h>

#include "fuzz/engine/random.h"

namespace executorch::fuzz {

/// A caller's tensor: memory of exactly its bytes, in a heap block of its own.
class GivenTensor final {
 public:
  /// All ones.
  GivenTensor(aten::ScalarType type, std::vector<int32_t> sizes, std::vector<uint8_t> dim_order);

  /// Small numbers that may be indices, sizes or conditions, and now and then others.
  void fill(Random& random);

  aten::Tensor tensor() { return aten::Tensor(&*impl_); }
  uint8_t* data() { return data_.get(); }
  size_t nbytes() const { return nbytes_; }
  aten::ScalarType type() const { return type_; }

 private:
  aten::ScalarType type_;
  std::vector<int32_t> sizes_;
  std::vector<uint8_t> dim_order_;
  std::vector<int32_t> strides_;
  size_t nbytes_ = 0;
  std::unique_ptr<uint8_t[]> data_;
  std::unique_ptr<aten::TensorImpl> impl_;
};

}  // namespace executorch::fuzz
