// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
#pragma once

#include <vector>

#include <executorch/runtime/core/data_loader.h>
#include <executorch/runtime/core/span.h>

#include "runtime/executor/program_builder.h"

namespace executorch::fuzz {

/// Bytes of the constant segment that belong to a tensor.
struct ConstantRange {
  uint64_t offset;
  uint64_t size;
};

std::vector<ConstantRange> constant_ranges(const testing::TestProgram& program);

/// Loads every piece into a heap block of its own, so that sanitizers see reads past its end. In
/// the constant segment, bytes outside of all tensors are poisoned. Ends the process if a read-only
/// piece has changed when it is freed.
class PieceLoader final : public runtime::DataLoader {
 public:
  explicit PieceLoader(runtime::Span<const uint8_t> bytes,
                       std::vector<ConstantRange> constants = {})
      : bytes_(bytes), constants_(std::move(constants)) {}

  runtime::Result<runtime::FreeableBuffer> load(size_t offset, size_t size,
                                                const SegmentInfo& info) const override;
  runtime::Result<size_t> size() const override { return bytes_.size(); }

 private:
  runtime::Span<const uint8_t> bytes_;
  std::vector<ConstantRange> constants_;
};

}  // namespace executorch::fuzz
