// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// Merging neighbours, the best pair first: what byte-pair encodings have in common.
#pragma once

#include <cstdint>
#include <queue>
#include <utility>
#include <vector>

namespace tokenizers::internal {

/// A pair that may be merged: the lower rank goes first, and of one rank the leftmost.
struct Merge {
  double rank;
  uint64_t merged;
};

/// Merges `symbols` until no neighbours are left that `find(left, right, Merge&)` knows. While
/// `drop()` returns true, merges wait for the next one that happens. Takes O(n log n) steps without
/// dropped merges.
template <typename Find, typename Drop>
std::vector<uint64_t> merge_symbols(const std::vector<uint64_t>& symbols, Find&& find,
                                    Drop&& drop) {
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
  std::priority_queue<Candidate> queue;
  const auto offer = [&](int64_t left, int64_t right) {
    if (left < 0 || right < 0) return;
    const uint64_t left_id = list[size_t(left)].id, right_id = list[size_t(right)].id;
    Merge merge{};
    if (find(left_id, right_id, merge)) {
      queue.push({merge.rank, left, right, left_id, right_id, merge.merged});
    }
  };
  for (int64_t i = 0; i + 1 < count; ++i) offer(i, i + 1);
  std::vector<Candidate> dropped;
  while (!queue.empty()) {
    const Candidate best = queue.top();
    queue.pop();
    if (drop()) {
      dropped.push_back(best);
      continue;
    }
    for (const Candidate& waiting : dropped) queue.push(waiting);
    dropped.clear();
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

/// The same without dropped merges.
template <typename Find>
std::vector<uint64_t> merge_symbols(const std::vector<uint64_t>& symbols, Find&& find) {
  return merge_symbols(symbols, std::forward<Find>(find), [] { return false; });
}

}  // namespace tokenizers::internal
