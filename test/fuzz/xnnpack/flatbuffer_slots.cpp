// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
#include "fuzz/xnnpack/flatbuffer_slots.h"

#include <string.h>

namespace executorch::fuzz {
namespace {

using runtime::Span;
using runtime::internal::FieldKind;
using runtime::internal::FieldRule;
using runtime::internal::StructureRules;
using runtime::internal::TableRule;

class Walk final {
 public:
  Walk(Span<const uint8_t> bytes, const StructureRules& rules) : bytes_(bytes), rules_(rules) {}

  std::vector<FieldSlot> slots;

  void table(size_t position, size_t type) {
    const TableRule rule = rules_.tables[type];
    for (size_t i = rule.first; i < size_t{rule.first} + rule.count; ++i) {
      const size_t at = field_position(position, rules_.fields[i].vtable_slot);
      if (at != 0) {
        field(position, at, i);
      }
    }
  }

  size_t follow(size_t position) const { return position + read<uint32_t>(position); }

 private:
  template <typename T>
  T read(size_t position) const {
    T value;
    memcpy(&value, bytes_.data() + position, sizeof(T));
    return value;
  }

  size_t field_position(size_t table, size_t slot) const {
    const auto vtable = static_cast<size_t>(static_cast<int64_t>(table) - read<int32_t>(table));
    const bool is_there = slot + sizeof(uint16_t) <= read<uint16_t>(vtable);
    const uint16_t offset = is_there ? read<uint16_t>(vtable + slot) : uint16_t{0};
    return offset == 0 ? 0 : table + offset;
  }

  void field(size_t table_position, size_t at, size_t index) {
    const FieldRule& rule = rules_.fields[index];
    switch (rule.kind) {
      case FieldKind::Scalar1:
      case FieldKind::Scalar2:
      case FieldKind::Scalar4:
      case FieldKind::Scalar8:
        slots.push_back(
            {at, size_t{1} << (static_cast<int>(rule.kind) - static_cast<int>(FieldKind::Scalar1)),
             index});
        break;
      case FieldKind::Vector1:
      case FieldKind::Vector2:
      case FieldKind::Vector4:
      case FieldKind::Vector8:
        numbers(follow(at),
                size_t{1} << (static_cast<int>(rule.kind) - static_cast<int>(FieldKind::Vector1)),
                index);
        break;
      case FieldKind::String:
        break;
      case FieldKind::Table:
        table(follow(at), rule.table);
        break;
      case FieldKind::TableVector: {
        const size_t vector = follow(at);
        for (size_t i = 0; i < read<uint32_t>(vector); ++i) {
          table(follow(vector + (i + 1) * sizeof(uint32_t)), rule.table);
        }
        break;
      }
      case FieldKind::Union: {
        const size_t type = field_position(table_position, rule.vtable_slot - sizeof(uint16_t));
        table(follow(at), size_t{rule.table} + bytes_[type] - 1);
        break;
      }
    }
  }

  void numbers(size_t vector, size_t width, size_t index) {
    for (size_t i = 0; i < read<uint32_t>(vector); ++i) {
      slots.push_back({vector + sizeof(uint32_t) + i * width, width, index});
    }
  }

  Span<const uint8_t> bytes_;
  const StructureRules& rules_;
};

}  // namespace

std::vector<FieldSlot> find_slots(Span<const uint8_t> bytes, const StructureRules& rules) {
  Walk walk(bytes, rules);
  walk.table(walk.follow(0), rules.root);
  return walk.slots;
}

}  // namespace executorch::fuzz
