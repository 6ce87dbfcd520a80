// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
#include "fuzz/given/piece_loader.h"

#include <algorithm>

#include "fuzz/given/checked_copy.h"
#include "fuzz/program/program_editor.h"

namespace executorch::fuzz {

using runtime::Error;
using runtime::FreeableBuffer;
using runtime::Result;

std::vector<ConstantRange> constant_ranges(const testing::TestProgram& program) {
  std::vector<ConstantRange> ranges;
  const std::vector<uint64_t>& offsets = program.constants.offsets;
  for (const testing::TestPlan& plan : program.plans) {
    for (const testing::TestValue& value : plan.values) {
      const testing::TestTensor& tensor = value.tensor;
      if (value.kind == fb::KernelTypes::Tensor && tensor.memory_id == 0 &&
          tensor.data_buffer_idx < offsets.size()) {
        ranges.push_back({offsets[tensor.data_buffer_idx], bytes_of(tensor)});
      }
    }
  }
  return ranges;
}

Result<FreeableBuffer> PieceLoader::load(size_t offset, size_t size,
                                         const SegmentInfo& info) const {
  if (offset > bytes_.size() || size > bytes_.size() - offset) {
    return Error::InvalidArgument;
  }
  FreeableBuffer buffer = checked_copy({bytes_.data() + offset, size});
  auto* const copy = static_cast<uint8_t*>(const_cast<void*>(buffer.data()));
  if (info.segment_type == SegmentInfo::Type::Constant && !constants_.empty()) {
    ASAN_POISON_MEMORY_REGION(copy, size);
    for (const ConstantRange& range : constants_) {
      if (range.offset < size) {
        ASAN_UNPOISON_MEMORY_REGION(copy + range.offset,
                                    std::min<uint64_t>(range.size, size - range.offset));
      }
    }
  }
  return buffer;
}

}  // namespace executorch::fuzz
