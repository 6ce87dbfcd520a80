// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
#include "fuzz/xnnpack/mutate_payload.h"

#include <string.h>

#include <vector>

#include <executorch/backends/xnnpack/runtime/payload/payload_structure.h>

#include "fuzz/program/program_editor.h"
#include "fuzz/xnnpack/flatbuffer_slots.h"

namespace executorch::fuzz {

void mutate_payload(uint8_t* payload, size_t size, Random& random) {
  // backends/xnnpack/runtime/payload/payload.h has the header.
  constexpr size_t kHeader = 30;
  uint32_t offset = 0;
  uint32_t length = 0;
  if (size < kHeader) {
    return;
  }
  memcpy(&offset, payload + 10, sizeof(offset));
  memcpy(&length, payload + 14, sizeof(length));
  if (offset > size || length > size - offset) {
    return;
  }
  // Aligned, as the walk wants it.
  std::vector<uint64_t> words((length + 7) / 8 + 1);
  auto* const graph = reinterpret_cast<uint8_t*>(words.data());
  memcpy(graph, payload + offset, length);
  const runtime::Span<const uint8_t> bytes(graph, length);
  const auto& rules = backends::xnnpack::kPayloadStructure;
  if (runtime::internal::verify_flatbuffer_structure(bytes, rules) != runtime::Error::Ok) {
    return;
  }
  const std::vector<FieldSlot> slots = find_slots(bytes, rules);
  for (size_t changes = 1 + random.below(3); changes > 0 && !slots.empty(); --changes) {
    const FieldSlot& slot = random.pick(slots);
    std::vector<FieldSlot> alike;
    for (const FieldSlot& other : slots) {
      if (other.field == slot.field) {
        alike.push_back(other);
      }
    }
    if (random.one_in(4)) {
      const int64_t number = odd_number(random);
      memcpy(graph + slot.position, &number, slot.width);
    } else if (random.one_in(3)) {
      // Another field of the same width, as a node's result and an operand.
      const FieldSlot& other = random.pick(slots);
      if (other.width == slot.width) {
        memcpy(graph + slot.position, graph + other.position, slot.width);
      }
    } else {
      memmove(graph + slot.position, graph + random.pick(alike).position, slot.width);
    }
  }
  memcpy(payload + offset, graph, length);
}

}  // namespace executorch::fuzz
