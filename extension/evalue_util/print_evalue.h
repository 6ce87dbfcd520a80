// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// Values as text on a stream, for people: `std::cout << value`.
#pragma once

#include <ostream>

#include <executorch/runtime/core/evalue.h>

namespace executorch::ET_RUNTIME_NAMESPACE {

/// A tensor as "Float [2, 3] [1, 2, 3, 4, 5, 6]", its elements in the order of its memory; a list
/// as "[1, 2]"; a string in quotes; nothing as "None".
std::ostream& operator<<(std::ostream& stream, const EValue& value);

}  // namespace executorch::ET_RUNTIME_NAMESPACE

namespace executorch::extension {

/// `stream << evalue_edge_items(n)`: from there on the stream shows the first n and the last n
/// items of a longer list or tensor, and "..." for those between. Without it, or with n < 1, it
/// shows all.
class evalue_edge_items final {
 public:
  explicit evalue_edge_items(long count) : count_(count) {}
  friend std::ostream& operator<<(std::ostream& stream, const evalue_edge_items& items);

 private:
  long count_;
};

}  // namespace executorch::extension
