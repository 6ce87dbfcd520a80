// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
#include "fuzz/program/piece_loader.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <algorithm>

#include "fuzz/program/program_editor.h"

#ifdef __SANITIZE_ADDRESS__
#include <sanitizer/asan_interface.h>
#else
#define ASAN_POISON_MEMORY_REGION(address, size) (static_cast<void>(0))
#define ASAN_UNPOISON_MEMORY_REGION(address, size) (static_cast<void>(0))
#endif

namespace executorch::fuzz {

using runtime::Error;
using runtime::FreeableBuffer;
using runtime::Result;

std::vector<ConstantRange> constant_ranges(const testing::TestProgram& program) {
  std::vector<ConstantRange> made;
  const std::vector<uint64_t>& offsets = program.constants.offsets;
  for (const testing::TestPlan& plan : program.plans) {
    for (const testing::TestValue& value : plan.values) {
      const testing::TestTensor& tensor = value.tensor;
      if (value.kind == fb::KernelTypes::Tensor && tensor.memory_id == 0 &&
          tensor.data_buffer_idx < offsets.size()) {
        made.push_back({offsets[tensor.data_buffer_idx], bytes_of(tensor)});
      }
    }
  }
  return made;
}

namespace {

void give_back(void* origin, void* data, size_t size) {
  ASAN_UNPOISON_MEMORY_REGION(data, size);
  if (size > 0 && memcmp(origin, data, size) != 0) {
    fprintf(stderr, "SUMMARY: a constant, or the program, was written to\n");
    abort();
  }
  delete[] static_cast<uint8_t*>(data);
}

}  // namespace

Result<FreeableBuffer> PieceLoader::load(size_t offset, size_t size,
                                         const SegmentInfo& info) const {
  if (offset > bytes_.size() || size > bytes_.size() - offset) {
    return Error::InvalidArgument;
  }
  auto* const copy = new uint8_t[size];
  const uint8_t* const origin = bytes_.data() + offset;
  if (size > 0) {
    memcpy(copy, origin, size);
  }
  if (info.segment_type == SegmentInfo::Type::Constant && !constants_.empty()) {
    ASAN_POISON_MEMORY_REGION(copy, size);
    for (const ConstantRange& range : constants_) {
      if (range.offset < size) {
        ASAN_UNPOISON_MEMORY_REGION(copy + range.offset,
                                    std::min<uint64_t>(range.size, size - range.offset));
      }
    }
  }
  return FreeableBuffer(copy, size, &give_back, const_cast<uint8_t*>(origin));
}

}  // namespace executorch::fuzz
