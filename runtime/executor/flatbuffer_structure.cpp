// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
#include <executorch/runtime/executor/flatbuffer_structure.h>

#include <string.h>

#include <executorch/runtime/platform/log.h>

namespace executorch::runtime::internal {
namespace {

class Walk final {
 public:
  Walk(Span<const uint8_t> bytes, const StructureRules& rules)
      : bytes_(bytes), rules_(rules), visits_left_(bytes.size()) {}

  /// `type` is the table's index in the rules.
  bool table(size_t position, size_t type);
  /// Reads the offset at `position` and moves to what it points at.
  bool follow(size_t position, size_t* target) const;

 private:
  /// A table as it is being walked.
  struct At {
    size_t position;
    size_t vtable;
    size_t vtable_size;
  };

  /// Whether `size` bytes at `position` lie inside, aligned to `alignment`.
  bool inside(size_t position, size_t size, size_t alignment) const {
    return position <= bytes_.size() && size <= bytes_.size() - position &&
           position % alignment == 0;
  }
  template <typename T>
  T read(size_t position) const {
    T value;
    memcpy(&value, bytes_.data() + position, sizeof(T));
    return value;
  }
  bool visit() { return visits_left_ > 0 && visits_left_-- > 0; }

  size_t field_position(const At& at, size_t slot) const;
  bool field(const At& at, const FieldRule& field);
  bool vector(size_t position, size_t width, size_t* first, size_t* count);
  bool string(size_t position);
  bool table_vector(size_t position, size_t type);
  bool union_member(const At& at, const FieldRule& field, size_t position);

  Span<const uint8_t> bytes_;
  const StructureRules& rules_;
  size_t visits_left_;
};

bool Walk::follow(size_t position, size_t* target) const {
  if (!inside(position, sizeof(uint32_t), sizeof(uint32_t))) {
    return false;
  }
  const auto offset = read<uint32_t>(position);
  *target = position + offset;
  // An offset of 0 would point at itself.
  return offset != 0 && offset <= bytes_.size() - position;
}

bool Walk::table(size_t position, size_t type) {
  if (!visit() || !inside(position, sizeof(int32_t), sizeof(int32_t))) {
    ET_LOG(Error, "flatbuffer: table %s at byte %zu is not inside the %zu bytes",
           rules_.names[type], position, bytes_.size());
    return false;
  }
  const int64_t vtable =
      static_cast<int64_t>(position) - static_cast<int64_t>(read<int32_t>(position));
  constexpr size_t kSmallestVtable = 2 * sizeof(uint16_t);
  if (vtable < 0 || static_cast<uint64_t>(vtable) > bytes_.size() ||
      !inside(static_cast<size_t>(vtable), kSmallestVtable, sizeof(uint16_t))) {
    ET_LOG(Error, "flatbuffer: vtable of table %s at byte %zu is not inside the %zu bytes",
           rules_.names[type], position, bytes_.size());
    return false;
  }
  const At at{position, static_cast<size_t>(vtable), read<uint16_t>(static_cast<size_t>(vtable))};
  if (at.vtable_size < kSmallestVtable || at.vtable_size % sizeof(uint16_t) != 0 ||
      !inside(at.vtable, at.vtable_size, sizeof(uint16_t))) {
    ET_LOG(Error, "flatbuffer: vtable of table %s at byte %zu has %zu bytes", rules_.names[type],
           position, at.vtable_size);
    return false;
  }
  const TableRule rule = rules_.tables[type];
  for (size_t i = rule.first; i < size_t{rule.first} + rule.count; ++i) {
    const FieldRule& row = rules_.fields[i];
    if (!field(at, row)) {
      ET_LOG(Error, "flatbuffer: table %s at byte %zu: the field in vtable slot %u is %s",
             rules_.names[type], position, static_cast<unsigned>(row.vtable_slot),
             field_position(at, row.vtable_slot) == 0 ? "missing" : "damaged");
      return false;
    }
  }
  return true;
}

/// 0 if the field is absent.
size_t Walk::field_position(const At& at, size_t slot) const {
  if (slot + sizeof(uint16_t) > at.vtable_size) {
    return 0;
  }
  const auto offset = read<uint16_t>(at.vtable + slot);
  return offset == 0 ? 0 : at.position + offset;
}

bool Walk::field(const At& at, const FieldRule& field) {
  const size_t position = field_position(at, field.vtable_slot);
  if (position == 0) {
    return field.presence == Presence::Optional;
  }
  size_t target = 0;
  if (field.kind > FieldKind::Scalar8 && !follow(position, &target)) {
    return false;
  }
  size_t first = 0;
  size_t count = 0;
  switch (field.kind) {
    case FieldKind::Scalar1:
      return inside(position, 1, 1);
    case FieldKind::Scalar2:
      return inside(position, 2, 2);
    case FieldKind::Scalar4:
      return inside(position, 4, 4);
    case FieldKind::Scalar8:
      return inside(position, 8, 8);
    case FieldKind::String:
      return string(target);
    case FieldKind::Vector1:
      return vector(target, 1, &first, &count);
    case FieldKind::Vector2:
      return vector(target, 2, &first, &count);
    case FieldKind::Vector4:
      return vector(target, 4, &first, &count);
    case FieldKind::Vector8:
      return vector(target, 8, &first, &count);
    case FieldKind::Table:
      return table(target, field.table);
    case FieldKind::TableVector:
      return table_vector(target, field.table);
    case FieldKind::Union:
      return union_member(at, field, target);
  }
  return false;
}

bool Walk::vector(size_t position, size_t width, size_t* first, size_t* count) {
  if (!visit() || !inside(position, sizeof(uint32_t), sizeof(uint32_t))) {
    return false;
  }
  *count = read<uint32_t>(position);
  *first = position + sizeof(uint32_t);
  // The alignment of no items does not matter, and not every writer cares for it.
  return *count == 0 || (*count <= (bytes_.size() - *first) / width && *first % width == 0);
}

bool Walk::string(size_t position) {
  size_t first = 0;
  size_t count = 0;
  return vector(position, 1, &first, &count) && first + count < bytes_.size() &&
         bytes_[first + count] == '\0';
}

bool Walk::table_vector(size_t position, size_t type) {
  size_t first = 0;
  size_t count = 0;
  if (!vector(position, sizeof(uint32_t), &first, &count)) {
    return false;
  }
  for (size_t i = 0; i < count; ++i) {
    size_t target = 0;
    if (!follow(first + i * sizeof(uint32_t), &target) || !table(target, type)) {
      return false;
    }
  }
  return true;
}

bool Walk::union_member(const At& at, const FieldRule& field, size_t target) {
  const size_t type_position = field_position(at, field.vtable_slot - sizeof(uint16_t));
  if (type_position == 0 || !inside(type_position, 1, 1)) {
    return false;
  }
  const uint8_t type = bytes_[type_position];
  if (type > field.members) {
    ET_LOG(Error, "flatbuffer: a union is of kind %u, of which %u are known",
           static_cast<unsigned>(type), static_cast<unsigned>(field.members));
  }
  // Type 0 is "none": a union with a value has another.
  return type >= 1 && type <= field.members && table(target, field.table + type - 1);
}

}  // namespace

Error verify_flatbuffer_structure(Span<const uint8_t> bytes, const StructureRules& rules) {
  Walk walk(bytes, rules);
  size_t position = 0;
  ET_CHECK_OR_RETURN_ERROR(walk.follow(0, &position), InvalidProgram,
                           "flatbuffer: the root lies outside of the %zu bytes", bytes.size());
  return walk.table(position, rules.root) ? Error::Ok : Error::InvalidProgram;
}

}  // namespace executorch::runtime::internal
