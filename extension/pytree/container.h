// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// Nodes of nested containers (see pytree.h).
#pragma once

#include <stddef.h>
#include <stdint.h>

#include <memory>
#include <stdexcept>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include <executorch/runtime/core/function_ref.h>

namespace executorch::extension::pytree {

template <typename Signature>
using FunctionRef = ::executorch::runtime::FunctionRef<Signature>;

enum class Kind : uint8_t { List, Tuple, NamedTuple, Dict, Leaf, Custom, None };

using KeyStr = std::string;
using KeyInt = int32_t;

/// The key of a dict's item.
struct Key {
  enum class Kind : uint8_t { None, Int, Str };

  Key() = default;
  /* implicit */ Key(KeyInt key) : value_(key) {}
  /* implicit */ Key(KeyStr key) : value_(std::move(key)) {}
  /* implicit */ Key(const char* key) : value_(KeyStr(key)) {}

  Kind kind() const { return static_cast<Kind>(value_.index()); }
  KeyInt as_int() const { return std::get<KeyInt>(value_); }
  const KeyStr& as_str() const { return std::get<KeyStr>(value_); }
  operator KeyInt() const { return as_int(); }
  operator const KeyStr&() const { return as_str(); }
  bool operator==(const Key& other) const { return value_ == other.value_; }
  bool operator!=(const Key& other) const { return !(*this == other); }

 private:
  std::variant<std::monostate, KeyInt, KeyStr> value_;
};

inline void pytree_check(bool holds) {
  if (!holds) {
    throw std::runtime_error("pytree: wrong kind of node, or no such item");
  }
}

/// Empty payload of a node.
struct Empty {};

template <typename T, typename Aux>
struct ContainerHandle;

/// A node. A leaf refers to a T that the tree does not own.
template <typename T, typename Aux = Empty>
struct Container final : public Aux {
  using handle_type = ContainerHandle<T, Aux>;
  using leaf_type = T;

  Kind kind = Kind::None;
  size_t size = 0;
  leaf_type* leaf = nullptr;
  std::unique_ptr<handle_type[]> items;
  /// One key for each item of a dict.
  std::unique_ptr<Key[]> keys;
  std::string custom_type;
  /// The number of leaves below; refresh_leaves_num() counts them.
  mutable size_t leaves_num = 0;

  /* implicit */ Container(Kind its_kind, size_t its_size = 0)
      : kind(its_kind), size(its_size), items(new handle_type[its_size]) {
    if (kind == Kind::Dict) {
      keys.reset(new Key[its_size]);
    }
  }
  /* implicit */ Container(leaf_type* its_leaf) : kind(Kind::Leaf), leaf(its_leaf), leaves_num(1) {}
  Container(const Container&) = delete;
  Container& operator=(const Container&) = delete;
};

/// Owns a node and its items.
template <typename T, typename Aux = Empty>
struct ContainerHandle {
  using container_type = Container<T, Aux>;
  using leaf_type = T;

  std::unique_ptr<container_type> handle;

  ContainerHandle() = default;
  /* implicit */ ContainerHandle(Kind kind, size_t size = 0)
      : handle(std::make_unique<container_type>(kind, size)) {}
  /* implicit */ ContainerHandle(leaf_type* leaf)
      : handle(std::make_unique<container_type>(leaf)) {}
  /* implicit */ ContainerHandle(container_type* container) : handle(container) {}
  /* implicit */ ContainerHandle(std::unique_ptr<container_type> container)
      : handle(std::move(container)) {}

  Kind kind() const { return handle->kind; }
  size_t size() const { return handle->size; }
  size_t leaves_num() const { return handle->leaves_num; }
  bool isDict() const { return kind() == Kind::Dict; }
  bool isList() const { return kind() == Kind::List; }
  bool isTuple() const { return kind() == Kind::Tuple; }
  bool isNamedTuple() const { return kind() == Kind::NamedTuple; }
  bool isLeaf() const { return kind() == Kind::Leaf; }

  void set_leaf(leaf_type* leaf) {
    pytree_check(isLeaf());
    handle->leaf = leaf;
  }
  const leaf_type* leaf_ptr() const {
    pytree_check(isLeaf());
    return handle->leaf;
  }
  leaf_type* leaf_ptr() {
    pytree_check(isLeaf());
    return handle->leaf;
  }
  const leaf_type& leaf() const { return *leaf_ptr(); }
  leaf_type& leaf() { return *leaf_ptr(); }
  operator leaf_type() const { return leaf(); }

  const ContainerHandle& operator[](size_t index) const {
    pytree_check(index < size());
    return handle->items[index];
  }
  ContainerHandle& operator[](size_t index) {
    pytree_check(index < size());
    return handle->items[index];
  }

  const Key& key(size_t index) const {
    pytree_check(isDict() && index < size());
    return handle->keys[index];
  }
  Key& key(size_t index) {
    pytree_check(isDict() && index < size());
    return handle->keys[index];
  }
  bool contains(const KeyStr& lookup_key) const { return find(lookup_key) != nullptr; }
  /// The dict's item of that key.
  const ContainerHandle& at(const Key& lookup_key) const {
    const ContainerHandle* const item = find(lookup_key);
    if (item == nullptr) {
      throw std::runtime_error("pytree: key not found in the dict");
    }
    return *item;
  }
  const ContainerHandle& at(KeyInt lookup_key) const { return at(Key(lookup_key)); }
  const ContainerHandle& at(const KeyStr& lookup_key) const { return at(Key(lookup_key)); }
  const ContainerHandle& at(const char* lookup_key) const { return at(Key(lookup_key)); }

  /// Compares structure and keys, not leaves.
  bool operator==(const ContainerHandle& other) const {
    if (kind() != other.kind() || size() != other.size()) {
      return false;
    }
    for (size_t i = 0; i < size(); ++i) {
      if ((isDict() && key(i) != other.key(i)) || !((*this)[i] == other[i])) {
        return false;
      }
    }
    return true;
  }
  bool operator!=(const ContainerHandle& other) const { return !(*this == other); }

 private:
  const ContainerHandle* find(const Key& lookup_key) const {
    pytree_check(isDict());
    for (size_t i = 0; i < size(); ++i) {
      if (handle->keys[i] == lookup_key) {
        return &handle->items[i];
      }
    }
    return nullptr;
  }
};

/// A structure without leaves.
struct TreeSpecLeaf {};
template <typename Aux = Empty>
using TreeSpec = ContainerHandle<TreeSpecLeaf, Aux>;
template <typename Aux = Empty>
using TreeSpecContainer = Container<TreeSpecLeaf, Aux>;
using StrTreeSpec = std::string;

/// An array of a size that does not change.
template <typename T>
struct arr {
  explicit arr(size_t size) : items_(size) {}

  T& operator[](size_t index) { return items_[index]; }
  const T& operator[](size_t index) const { return items_[index]; }
  /// Throws std::out_of_range.
  T& at(size_t index) { return items_.at(index); }
  const T& at(size_t index) const { return items_.at(index); }
  T* data() { return items_.data(); }
  T* begin() { return items_.data(); }
  T* end() { return items_.data() + size(); }
  const T* begin() const { return items_.data(); }
  const T* end() const { return items_.data() + size(); }
  size_t size() const { return items_.size(); }

 private:
  std::vector<T> items_;
};

/// Calls `func` for every node, items before the node that holds them.
template <typename T, typename Aux>
void traverse(ContainerHandle<T, Aux>& node, FunctionRef<void(ContainerHandle<T, Aux>&)> func) {
  for (size_t i = 0; i < node.size(); ++i) {
    traverse(node[i], func);
  }
  func(node);
}
template <typename T, typename Aux>
void traverse(const ContainerHandle<T, Aux>& node,
              FunctionRef<void(const ContainerHandle<T, Aux>&)> func) {
  for (size_t i = 0; i < node.size(); ++i) {
    traverse(node[i], func);
  }
  func(node);
}

/// Counts the leaves below every node; call it after a change.
template <typename T, typename Aux>
size_t refresh_leaves_num(const ContainerHandle<T, Aux>& node) {
  size_t count = node.isLeaf() ? 1 : 0;
  for (size_t i = 0; i < node.size(); ++i) {
    count += refresh_leaves_num(node[i]);
  }
  node.handle->leaves_num = count;
  return count;
}

/// Copies the structure onto `leaves`, an array of leaves_num() elements.
template <typename T, typename U, typename Aux>
ContainerHandle<U, Aux> clone(const ContainerHandle<T, Aux>& node, U* leaves) {
  if (node.isLeaf()) {
    return ContainerHandle<U, Aux>(leaves);
  }
  ContainerHandle<U, Aux> copy(node.kind(), node.size());
  copy.handle->custom_type = node.handle->custom_type;
  copy.handle->leaves_num = node.leaves_num();
  size_t done = 0;
  for (size_t i = 0; i < node.size(); ++i) {
    copy[i] = clone(node[i], leaves + done);
    done += node[i].leaves_num();
    if (node.isDict()) {
      copy.key(i) = node.key(i);
    }
  }
  return copy;
}

}  // namespace executorch::extension::pytree
