// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
#include <executorch/kernels/portable/loops/loop_nest.h>

#include <utility>

namespace executorch::kernels::portable {
namespace {

int64_t magnitude(int64_t stride) { return stride < 0 ? -stride : stride; }

}  // namespace

void LoopNest::build(const Strided* const* operands, int count) {
  count_ = count;
  for (int k = 0; k < count; ++k) data_[k] = operands[k]->data;
  for (int d = 0; d < operands[0]->rank; ++d) {
    const int64_t size = operands[0]->sizes[d];
    if (size == 0) empty_ = true;
    if (size == 1) continue;
    sizes_[rank_] = size;
    for (int k = 0; k < count; ++k) strides_[k][rank_] = operands[k]->strides[d];
    ++rank_;
  }
  if (rank_ > 1) {
    sort();
    merge();
  }
  if (rank_ == 0) {  // One element: a row of its own.
    sizes_[0] = 1;
    for (int k = 0; k < count; ++k) strides_[k][0] = operands[k]->element_size();
    rank_ = 1;
  }
}

// Whether dimension a belongs outside of dimension b: by the first operand that tells them apart.
bool LoopNest::walks_before(int a, int b) const {
  for (int k = 0; k < count_; ++k) {
    const int64_t sa = magnitude(strides_[k][a]), sb = magnitude(strides_[k][b]);
    if (sa != sb && sa != 0 && sb != 0) return sa > sb;
  }
  return a < b;
}

void LoopNest::sort() {
  // Insertion sort: ranks are small and mostly sorted already.
  for (int i = 1; i < rank_; ++i) {
    for (int j = i; j > 0 && !walks_before(j - 1, j); --j) {
      std::swap(sizes_[j - 1], sizes_[j]);
      for (int k = 0; k < count_; ++k) std::swap(strides_[k][j - 1], strides_[k][j]);
    }
  }
}

void LoopNest::merge() {
  int last = 0;
  for (int d = 1; d < rank_; ++d) {
    bool joined = true;
    for (int k = 0; k < count_; ++k) {
      joined = joined && strides_[k][last] == strides_[k][d] * sizes_[d];
    }
    if (joined) {
      sizes_[last] *= sizes_[d];
    } else {
      ++last;
      sizes_[last] = sizes_[d];
    }
    for (int k = 0; k < count_; ++k) strides_[k][last] = strides_[k][d];
  }
  rank_ = last + 1;
}

bool LoopNest::advance(int levels, int64_t* index, char** at) const {
  for (int d = levels - 1; d >= 0; --d) {
    if (++index[d] < sizes_[d]) {
      for (int k = 0; k < count_; ++k) at[k] += strides_[k][d];
      return true;
    }
    index[d] = 0;
    for (int k = 0; k < count_; ++k) at[k] -= strides_[k][d] * (sizes_[d] - 1);
  }
  return false;
}

}  // namespace executorch::kernels::portable
