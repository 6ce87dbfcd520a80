// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// Nested lists, tuples and dicts of leaves, and their text form, which programs hold for their
// inputs and outputs (Program::get_output_flattening_encoding()):
//
//   D2#2#1('key0':L2#1#1($,$),'key1':$)
//
// encodes a dict of two items: a list of two leaves under 'key0', and a leaf under 'key1'. Invalid
// text and invalid use throw std::out_of_range or std::runtime_error; compile with exceptions.
#pragma once

#include <stddef.h>

#include <memory>
#include <utility>
#include <vector>

#include <executorch/extension/pytree/container.h>
#include <executorch/extension/pytree/spec_text.h>

namespace executorch::extension::pytree {

/// Combines the structure with `leaves`, one for each of its leaves; they must outlive the result.
template <typename T, typename Aux>
ContainerHandle<T, Aux> unflatten(const TreeSpec<Aux>& spec, T* leaves) {
  refresh_leaves_num(spec);
  return clone(spec, leaves);
}
template <typename T, typename Aux = Empty>
ContainerHandle<T, Aux> unflatten(const StrTreeSpec& spec, T* leaves) {
  return unflatten(from_str<Aux>(spec), leaves);
}

/// The leaves in order, and the structure.
template <typename T, typename Aux>
std::pair<arr<T*>, std::unique_ptr<TreeSpec<Aux>>> flatten(ContainerHandle<T, Aux>& tree) {
  arr<T*> leaves(refresh_leaves_num(tree));
  size_t done = 0;
  const auto collect = [&](ContainerHandle<T, Aux>& node) {
    if (node.isLeaf()) {
      leaves[done++] = node.leaf_ptr();
    }
  };
  traverse<T, Aux>(tree, collect);
  // The leaves of a structure are empty: only addresses of this array are computed.
  std::vector<TreeSpecLeaf> empty(leaves.size() + 1);
  auto spec = std::make_unique<TreeSpec<Aux>>(clone(tree, empty.data()));
  traverse<TreeSpecLeaf, Aux>(*spec, [](TreeSpec<Aux>& node) {
    if (node.isLeaf()) {
      node.set_leaf(nullptr);
    }
  });
  return {std::move(leaves), std::move(spec)};
}

}  // namespace executorch::extension::pytree

// Documented names of the same things.
namespace torch::executor::pytree {
using ::executorch::extension::pytree::Empty;
using ::executorch::extension::pytree::from_str;
using ::executorch::extension::pytree::TreeSpec;
}  // namespace torch::executor::pytree
