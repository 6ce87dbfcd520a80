// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// Values as text on a stream, for people: `std::cout << value`.
#pragma once

#include <ostream>

#include <executorch/runtime/core/evalue.h>

namespace executorch::ET_RUNTIME_NAMESPACE {

/// Prints a value as Python and torch do: `None`, `True`, `2`, `2.`, `"text"`, a list as
/// `(len=2)[1, 2]`, a tensor as `tensor(sizes=[2], [1., 2.])` with its elements in the order of its
/// memory. More than 10 items are spread over lines; a list of several tensors has a line for each.
std::ostream& operator<<(std::ostream& stream, const EValue& value);

}  // namespace executorch::ET_RUNTIME_NAMESPACE

namespace executorch::extension {

/// `stream << evalue_edge_items(n)`: from there on the stream prints the first n and the last n
/// items of a longer list or tensor, and "..." for those between. Without it, or with n < 1, n
/// is 3.
class evalue_edge_items final {
 public:
  explicit evalue_edge_items(long count) : count_(count) {}
  friend std::ostream& operator<<(std::ostream& stream, const evalue_edge_items& items);

 private:
  long count_;
};

}  // namespace executorch::extension

// Documented names of the same things.
namespace torch::executor::util {
using ::executorch::extension::evalue_edge_items;
}  // namespace torch::executor::util
