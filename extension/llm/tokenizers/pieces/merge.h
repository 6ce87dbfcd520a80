// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// Merges neighbors, the best pair first: the part that byte-pair encodings share.
#pragma once

#include <cstdint>
#include <queue>
#include <random>
#include <utility>
#include <vector>

namespace tokenizers::internal {

/// A pair that may be merged: the lower rank goes first, and of one rank the leftmost.
struct Merge {
  double rank;
  uint64_t merged;
};

/// A queue that returns its largest item first.
template <typename T>
class LargestFirst final {
 public:
  size_t size() const { return items_.size(); }
  void push(const T& item) { items_.push(item); }
  /// Removes the first item: `place` is 0.
  T take(size_t /*place*/) {
    const T first = items_.top();
    items_.pop();
    return first;
  }

 private:
  std::priority_queue<T> items_;
};

/// A sorted queue that returns the item at any place in O(log n) steps: a treap. Its priorities are
/// unpredictable: a file and a text that knew them could make it as deep as it has items, and
/// functions here call themselves for each level.
template <typename T>
class AnyPlace final {
 public:
  size_t size() const { return size_of(root_); }
  void push(const T& item) {
    const auto added = int64_t(nodes_.size());
    nodes_.push_back({item, next_priority(), kNone, kNone, 1});
    int64_t first = kNone, rest = kNone;
    split(root_, item, &first, &rest);
    root_ = join(join(first, added), rest);
  }
  T take(size_t place) {
    for (int64_t* at = &root_;;) {
      Node& node = nodes_[size_t(*at)];
      const size_t before = size_of(node.left);
      if (place == before) {
        *at = join(node.left, node.right);
        return node.item;
      }
      --node.size;
      at = place < before ? &node.left : &node.right;
      place -= place < before ? 0 : before + 1;
    }
  }

 private:
  static constexpr int64_t kNone = -1;
  struct Node {
    T item;
    uint32_t priority;
    int64_t left, right;
    size_t size;
  };

  static uint32_t next_priority() {
    static thread_local std::mt19937 generator{std::random_device{}()};
    return uint32_t(generator());
  }
  size_t size_of(int64_t tree) const { return tree == kNone ? 0 : nodes_[size_t(tree)].size; }
  void count(Node& node) { node.size = 1 + size_of(node.left) + size_of(node.right); }
  /// Items larger than `item`, and the rest.
  void split(int64_t tree, const T& item, int64_t* first, int64_t* rest) {
    if (tree == kNone) {
      *first = *rest = kNone;
      return;
    }
    Node& node = nodes_[size_t(tree)];
    if (item < node.item) {
      split(node.right, item, &node.right, rest);
      *first = tree;
    } else {
      split(node.left, item, first, &node.left);
      *rest = tree;
    }
    count(node);
  }
  int64_t join(int64_t first, int64_t rest) {
    if (first == kNone || rest == kNone) return first == kNone ? rest : first;
    Node &left = nodes_[size_t(first)], &right = nodes_[size_t(rest)];
    if (left.priority > right.priority) {
      left.right = join(left.right, rest);
      count(left);
      return first;
    }
    right.left = join(first, right.left);
    count(right);
    return rest;
  }

  std::vector<Node> nodes_;
  int64_t root_ = kNone;
};

/// Merges `symbols` until `find(left, right, Merge&)` finds no pair of neighbors. The next merge
/// is the one at place `skip()` of the possible ones; merging ends where no such place exists.
/// Takes O(n log n) steps.
template <template <typename> class Queue = LargestFirst, typename Find, typename Skip>
std::vector<uint64_t> merge_symbols(const std::vector<uint64_t>& symbols, Find&& find,
                                    Skip&& skip) {
  struct Symbol {
    uint64_t id;
    int64_t previous, next;
    bool gone;
  };
  struct Candidate {
    double rank;
    int64_t left, right;
    uint64_t left_id, right_id, merged;
    bool operator<(const Candidate& other) const {
      return rank != other.rank ? rank > other.rank : left > other.left;
    }
  };
  const int64_t count = int64_t(symbols.size());
  std::vector<Symbol> list(symbols.size());
  for (int64_t i = 0; i < count; ++i) {
    list[size_t(i)] = {symbols[size_t(i)], i - 1, i + 1 < count ? i + 1 : -1, false};
  }
  Queue<Candidate> queue;
  const auto offer = [&](int64_t left, int64_t right) {
    if (left < 0 || right < 0) return;
    const uint64_t left_id = list[size_t(left)].id, right_id = list[size_t(right)].id;
    Merge merge{};
    if (find(left_id, right_id, merge)) {
      queue.push({merge.rank, left, right, left_id, right_id, merge.merged});
    }
  };
  for (int64_t i = 0; i + 1 < count; ++i) offer(i, i + 1);
  for (size_t place = skip(); place < queue.size(); place = skip()) {
    const Candidate best = queue.take(place);
    Symbol& left = list[size_t(best.left)];
    Symbol& right = list[size_t(best.right)];
    if (left.gone || right.gone || left.next != best.right || left.id != best.left_id ||
        right.id != best.right_id) {
      continue;
    }
    left.id = best.merged;
    left.next = right.next;
    right.gone = true;
    if (right.next >= 0) list[size_t(right.next)].previous = best.left;
    offer(left.previous, best.left);
    offer(best.left, left.next);
  }
  std::vector<uint64_t> result;
  for (const Symbol& symbol : list) {
    if (!symbol.gone) result.push_back(symbol.id);
  }
  return result;
}

/// The same without skipped merges.
template <typename Find>
std::vector<uint64_t> merge_symbols(const std::vector<uint64_t>& symbols, Find&& find) {
  return merge_symbols(symbols, std::forward<Find>(find), [] { return size_t{0}; });
}

}  // namespace tokenizers::internal
