// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
#include <executorch/runtime/executor/verify/flatbuffer_structure.h>

#include <string.h>

#include <algorithm>

#include <executorch/runtime/executor/plan/inlining.h>
#include <executorch/runtime/platform/log.h>

namespace executorch::runtime::internal {
namespace {

/// Binary logarithm of the width of a scalar or of a vector's items: shifts replace divisions.
unsigned width_log2(FieldKind kind) { return static_cast<unsigned>(kind) & 3; }

class Walk final {
 public:
  Walk(Span<const uint8_t> bytes, const StructureRules& rules)
      : bytes_(bytes),
        last_offset_(bytes.size() - sizeof(uint32_t)),
        rules_(rules),
        visits_left_(bytes.size()) {}

  /// `type` is the table's index in the rules. follow() has found the position. The caller counts
  /// the visit, with those of other tables and vectors that the same table or vector refers to.
  bool table(size_t position, size_t type);
  /// Reads the offset at `position` and moves to its target. Targets of every kind begin with four
  /// bytes; checks that these lie inside. The caller has checked that `position` has four bytes and
  /// is aligned.
  bool follow(size_t position, size_t* target) const {
    const auto offset = read<uint32_t>(position);
    *target = position + offset;
    // An offset of 0 would point at itself.
    return offset != 0 && offset <= last_offset_ - position;
  }

 private:
  /// True if `size` bytes at `position` lie inside, aligned to `alignment`, a power of two.
  bool inside(size_t position, size_t size, size_t alignment) const {
    return position <= bytes_.size() && size <= bytes_.size() - position &&
           (position & (alignment - 1)) == 0;
  }
  template <typename T>
  T read(size_t position) const {
    T value;
    memcpy(&value, bytes_.data() + position, sizeof(T));
    return value;
  }
  bool visit(size_t times) {
    if (times > visits_left_) {
      return false;
    }
    visits_left_ -= times;
    return true;
  }

  /// The result of checking a vtable for a type of table. Writers share vtables, so a later table
  /// of the type usually matches: it needs only enough room and the same alignment.
  struct Layout {
    uint32_t vtable = 0;
    /// End of the last field. The initial value matches no table.
    uint32_t extent = UINT32_MAX;
    /// One bit for each row of the type: the field is present and is an offset, not a scalar.
    uint32_t references = 0;
    uint8_t type = 0;
    /// The alignment of the widest field, minus 1, and these bits of the table's position.
    uint8_t alignment = 0;
    uint8_t position = 0;
    /// The number of references.
    uint8_t visits = 0;
  };
  static constexpr size_t kLayouts = 32;
  static constexpr size_t kCharactersPerVisit = 16;
  static constexpr size_t kNoTable = SIZE_MAX;

  bool matches(const Layout& layout, size_t table, size_t vtable, size_t type) const {
    return layout.type == type && layout.vtable == vtable &&
           layout.extent <= bytes_.size() - table &&
           ((layout.position ^ table) & layout.alignment) == 0;
  }
  bool read_layout(size_t table, size_t vtable, size_t type, Layout* layout);

  /// Logs the fault of a field and returns false.
  bool log_field(size_t position, size_t type, const FieldRule& field, const char* fault) const;
  ET_INLINE_UNLESS_SMALL bool field(size_t table, size_t vtable, const FieldRule& field,
                                    size_t target, size_t* member);
  ET_INLINE_UNLESS_SMALL bool vector(size_t position, unsigned width_log2, size_t* count) const;
  bool string(size_t position);
  bool table_vector(size_t position, size_t type);
  ET_INLINE_UNLESS_SMALL size_t union_member(size_t table, size_t vtable,
                                             const FieldRule& field) const;

  Span<const uint8_t> bytes_;
  /// The last place where four bytes lie inside.
  size_t last_offset_;
  const StructureRules& rules_;
  size_t visits_left_;
  /// Indexed by the type and the vtable: tables of one type often take turns in their vtables.
  Layout layouts_[kLayouts];
};

bool Walk::table(size_t position, size_t type) {
  for (;;) {
    // A vtable before the bytes wraps around: its position is then beyond their end.
    const size_t vtable = position - static_cast<size_t>(read<int32_t>(position));
    Layout& known = layouts_[(type ^ vtable) % kLayouts];
    if (!matches(known, position, vtable, type) && !read_layout(position, vtable, type, &known)) {
      return false;
    }
    // Tables below this one may replace its layout.
    uint32_t left = known.references;
    if (left == 0) {
      return true;
    }
    if (!visit(known.visits)) {
      return false;
    }
    const FieldRule* row = rules_.fields.data() + rules_.tables[type].first;
    size_t target = 0;
    size_t member = 0;
    for (;; ++row) {
      const bool is_present = (left & 1) != 0;
      left >>= 1;
      if (!is_present) {
        continue;
      }
      if (!follow(position + read<uint16_t>(vtable + row->vtable_slot), &target) ||
          !field(position, vtable, *row, target, &member)) {
        return log_field(position, type, *row, "damaged");
      }
      if (left == 0) {
        break;
      }
      if (member != kNoTable && !table(target, member)) {
        return log_field(position, type, *row, "damaged");
      }
    }
    // The table that the last field refers to needs no call.
    if (member == kNoTable) {
      return true;
    }
    position = target;
    type = member;
  }
}

bool Walk::log_field(size_t position, size_t type, const FieldRule& field,
                     const char* fault) const {
  (void)position, (void)type, (void)field, (void)fault;  // for the message alone
  ET_LOG(Error, "flatbuffer: table %s at byte %zu: the field in vtable slot %u is %s",
         rules_.names[type], position, static_cast<unsigned>(field.vtable_slot), fault);
  return false;
}

/// Checks the vtable, the presence of required fields and the places of all fields.
bool Walk::read_layout(size_t table, size_t vtable, size_t type, Layout* layout) {
  constexpr size_t kSmallestVtable = 2 * sizeof(uint16_t);
  size_t size = 0;
  if (inside(vtable, kSmallestVtable, sizeof(uint16_t))) {
    size = read<uint16_t>(vtable);
  }
  if (size < kSmallestVtable || size % sizeof(uint16_t) != 0 || !inside(vtable, size, 1) ||
      table % sizeof(int32_t) != 0) {
    ET_LOG(Error,
           "flatbuffer: table %s at byte %zu, or its vtable of %zu bytes, is not aligned or not "
           "inside the %zu bytes",
           rules_.names[type], table, size, bytes_.size());
    return false;
  }
  *layout = {};
  layout->vtable = static_cast<uint32_t>(vtable);
  layout->extent = 0;
  layout->type = static_cast<uint8_t>(type);
  layout->alignment = sizeof(int32_t) - 1;
  layout->position = static_cast<uint8_t>(table);
  const TableRule rule = rules_.tables[type];
  for (unsigned i = 0; i < rule.count; ++i) {
    const FieldRule& row = rules_.fields[rule.first + i];
    // Both are even.
    const size_t offset = row.vtable_slot < size ? read<uint16_t>(vtable + row.vtable_slot) : 0;
    if (offset == 0) {
      if (row.presence == Presence::Required) {
        return log_field(table, type, row, "missing");
      }
    } else {
      const bool is_scalar = row.kind <= FieldKind::Scalar8;
      const size_t width = is_scalar ? size_t{1} << width_log2(row.kind) : sizeof(uint32_t);
      layout->references |= is_scalar ? 0 : 1u << i;
      layout->visits += is_scalar ? 0 : 1;
      if (offset + width > bytes_.size() - table || ((table + offset) & (width - 1)) != 0) {
        return log_field(table, type, row, "damaged");
      }
      layout->extent = std::max(layout->extent, static_cast<uint32_t>(offset + width));
      layout->alignment = static_cast<uint8_t>(layout->alignment | (width - 1));
    }
  }
  return true;
}

/// Checks a field that is present and refers to `target`. If that is a table, sets `member` to its
/// type, for the caller to check, otherwise to kNoTable.
bool Walk::field(size_t at, size_t vtable, const FieldRule& field, size_t target, size_t* member) {
  *member = kNoTable;
  if (field.kind < FieldKind::String) {
    size_t count = 0;
    return vector(target, width_log2(field.kind), &count);
  }
  if (field.kind == FieldKind::Union) {
    *member = union_member(at, vtable, field);
    return *member != kNoTable;
  }
  if (field.kind == FieldKind::Table) {
    *member = field.table;
    return true;
  }
  return field.kind == FieldKind::String ? string(target) : table_vector(target, field.table);
}

bool Walk::vector(size_t position, unsigned width_log2, size_t* count) const {
  if (position % sizeof(uint32_t) != 0) {
    return false;
  }
  *count = read<uint32_t>(position);
  const size_t first = position + sizeof(uint32_t);
  // An empty vector needs no alignment, and some writers do not align it.
  return *count == 0 || (*count <= (bytes_.size() - first) >> width_log2 &&
                         (first & ((size_t{1} << width_log2) - 1)) == 0);
}

bool Walk::string(size_t position) {
  size_t count = 0;
  if (!vector(position, 0, &count)) {
    return false;
  }
  const size_t end = position + sizeof(uint32_t) + count;
  return end < bytes_.size() && bytes_[end] == '\0' && visit(count / kCharactersPerVisit);
}

bool Walk::table_vector(size_t position, size_t type) {
  size_t count = 0;
  if (!vector(position, 2, &count) || !visit(count)) {
    return false;
  }
  for (; count > 0; --count) {
    size_t target = 0;
    position += sizeof(uint32_t);
    if (!follow(position, &target) || !table(target, type)) {
      return false;
    }
  }
  return true;
}

/// The type of the union's table; kNoTable if the union has none or an unknown one.
size_t Walk::union_member(size_t at, size_t vtable, const FieldRule& field) const {
  const size_t type_position = at + read<uint16_t>(vtable + field.vtable_slot - sizeof(uint16_t));
  if (type_position == at || !inside(type_position, 1, 1)) {
    return kNoTable;
  }
  const uint8_t type = bytes_[type_position];
  if (type > field.members) {
    ET_LOG(Error, "flatbuffer: a union is of kind %u, of which %u are known",
           static_cast<unsigned>(type), static_cast<unsigned>(field.members));
  }
  // Type 0 is "none": a union with a value has another.
  return type >= 1 && type <= field.members ? field.table + size_t{type} - 1 : kNoTable;
}

}  // namespace

Error verify_flatbuffer_structure(Span<const uint8_t> bytes, const StructureRules& rules) {
  ET_CHECK_OR_RETURN_ERROR(bytes.size() <= INT32_MAX, InvalidProgram,
                           "flatbuffer of %zu bytes, expected at most %d", bytes.size(), INT32_MAX);
  Walk walk(bytes, rules);
  size_t position = 0;
  ET_CHECK_OR_RETURN_ERROR(bytes.size() >= sizeof(uint32_t) && walk.follow(0, &position),
                           InvalidProgram, "flatbuffer: the root lies outside of the %zu bytes",
                           bytes.size());
  return walk.table(position, rules.root) ? Error::Ok : Error::InvalidProgram;
}

}  // namespace executorch::runtime::internal
