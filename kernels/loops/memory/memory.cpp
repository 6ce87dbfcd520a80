// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// Memory described by sizes and strides: splitting, traversal, copies.
#include <executorch/kernels/loops/dtype/complex.h>
#include <executorch/kernels/loops/dtype/convert.h>
#include <executorch/kernels/loops/elementwise/simd_dispatch.h>
#include <executorch/kernels/loops/memory/broadcast.h>
#include <executorch/kernels/loops/memory/copy.h>
#include <executorch/kernels/loops/memory/divide.h>
#include <executorch/kernels/loops/memory/index_order.h>
#include <executorch/kernels/loops/memory/loop_nest.h>
#include <executorch/kernels/loops/memory/strided.h>

#include <cstdlib>
#include <cstring>
#include <utility>

namespace executorch::kernels {

Strided::Strided(const Tensor& tensor)
    : data(static_cast<char*>(const_cast<void*>(tensor.const_data_ptr()))),
      dtype(tensor.scalar_type()),
      rank(static_cast<int>(tensor.dim())) {
#ifdef USE_ATEN_LIB
  ET_CHECK_MSG(rank <= kMaxRank, "expected a tensor of rank at most %d, found %d", kMaxRank, rank);
#endif
  const auto tensor_sizes = tensor.sizes();
  const auto tensor_strides = tensor.strides();
  const int64_t bytes = element_size();
  for (int d = 0; d < rank; ++d) {
    sizes[d] = tensor_sizes[d];
    strides[d] = tensor_strides[d] * bytes;
  }
}

Strided& Strided::operator=(const Strided& other) {
  data = other.data;
  dtype = other.dtype;
  rank = other.rank;
  for (int d = 0; d < rank; ++d) {
    sizes[d] = other.sizes[d];
    strides[d] = other.strides[d];
  }
  return *this;
}

int64_t Strided::numel() const {
  int64_t n = 1;
  for (int d = 0; d < rank; ++d) n *= sizes[d];
  return n;
}

void Strided::append(int64_t size, int64_t stride) {
  sizes[rank] = size;
  strides[rank] = stride;
  ++rank;
}

void Strided::insert(int dim, int64_t size, int64_t stride) {
  for (int d = rank; d > dim; --d) {
    sizes[d] = sizes[d - 1];
    strides[d] = strides[d - 1];
  }
  sizes[dim] = size;
  strides[dim] = stride;
  ++rank;
}

void Strided::remove(int dim) {
  for (int d = dim + 1; d < rank; ++d) {
    sizes[d - 1] = sizes[d];
    strides[d - 1] = strides[d];
  }
  --rank;
}

void Strided::narrow(int dim, int64_t start, int64_t size, int64_t step) {
  data += start * strides[dim];
  sizes[dim] = size;
  strides[dim] *= step;
}

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

/// True if dimension a comes outside of dimension b. The first operand with different strides
/// decides.
bool LoopNest::walks_before(int a, int b) const {
  for (int k = 0; k < count_; ++k) {
    const int64_t sa = std::abs(strides_[k][a]), sb = std::abs(strides_[k][b]);
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

LoopNest LoopNest::part(int d, int64_t begin, int64_t end) const {
  LoopNest part = *this;
  for (int k = 0; k < count_; ++k) part.data_[k] += begin * strides_[k][d];
  part.sizes_[d] = end - begin;
  return part;
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

bool in_index_order(const Strided& memory) {
  int64_t step = memory.element_size();
  for (int d = memory.rank - 1; d >= 0; --d) {
    if (memory.sizes[d] != 1 && memory.strides[d] != step) return false;
    step *= memory.sizes[d];
  }
  return true;
}

bool in_channels_last_order(const Strided& memory) {
  if (memory.rank != 4) return false;
  Strided permuted(memory);
  permuted.remove(1);
  permuted.append(memory.sizes[1], memory.strides[1]);
  return in_index_order(permuted);
}

namespace {

template <class T>
void transpose_tile(char* to, int64_t to_row, const char* from, int64_t from_column, int64_t rows,
                    int64_t columns) {
  for (int64_t r = 0; r < rows; ++r) {
    auto* const target = reinterpret_cast<T*>(to + r * to_row);
    const char* const source = from + r * int64_t(sizeof(T));
    for (int64_t c = 0; c < columns; ++c) {
      target[c] = *reinterpret_cast<const T*>(source + c * from_column);
    }
  }
}

/// Copies a matrix whose rows are contiguous in the target and whose columns are contiguous in the
/// source. Works in tiles, so that each cache line of the source is read once.
template <class T>
void transpose(char* to, int64_t to_row, const char* from, int64_t from_column, int64_t rows,
               int64_t columns) {
  constexpr int64_t kTile = 16;
  for (int64_t r = 0; r < rows; r += kTile) {
    for (int64_t c = 0; c < columns; c += kTile) {
      transpose_tile<T>(to + r * to_row + c * int64_t(sizeof(T)), to_row,
                        from + r * int64_t(sizeof(T)) + c * from_column, from_column,
                        rows - r < kTile ? rows - r : kTile,
                        columns - c < kTile ? columns - c : kTile);
    }
  }
}

/// The outer dimension of the nest along which the source is contiguous, or -1.
int source_contiguous_dim(const LoopNest& nest, int64_t bytes) {
  if (nest.stride(0) != bytes || nest.stride(1) == bytes || nest.stride(1) == 0) return -1;
  for (int d = 0; d < nest.rank() - 1; ++d) {
    if (nest.stride(1, d) == bytes) return d;
  }
  return -1;
}

bool copy_transposed(const LoopNest& nest, int64_t bytes) {
  const int across = source_contiguous_dim(nest, bytes);
  if (across < 0) return false;
  const int64_t columns = nest.row(), to_row = nest.stride(0, across), from_column = nest.stride(1);
  const int64_t rows = nest.size(across);
  Strided outer_to, outer_from;
  outer_to.data = nest.data(0), outer_from.data = nest.data(1);
  for (int d = 0; d < nest.rank() - 1; ++d) {
    if (d == across) continue;
    outer_to.append(nest.size(d), nest.stride(0, d));
    outer_from.append(nest.size(d), nest.stride(1, d));
  }
  const LoopNest outer(outer_to, outer_from);
  return visit_width(bytes, [&](auto tag) {
    using T = ET_TYPE_OF(tag);
    outer.for_each_outer(outer.rank(), [&](char* const* at) {
      transpose<T>(at[0], to_row, at[1], from_column, rows, columns);
    });
  });
}

/// Copies n elements in reverse order; `from` is the last one's address.
template <class T>
void reverse(char* to, const char* from, int64_t n) {
  in_vectors(
      [](T* target, const T* last, int64_t count) {
        for (int64_t i = 0; i < count; ++i) target[i] = last[-i];
      },
      reinterpret_cast<T*>(to), reinterpret_cast<const T*>(from), n);
}

/// Copies rows that are contiguous in both memories. The loop over the innermost dimension of rows
/// is here and not in the nest, because rows may be short.
void copy_dense_rows(const LoopNest& nest, int64_t bytes) {
  const int inner = nest.rank() - 2;
  const int64_t rows = inner < 0 ? 1 : nest.size(inner);
  const int64_t to_step = inner < 0 ? 0 : nest.stride(0, inner);
  const int64_t from_step = inner < 0 ? 0 : nest.stride(1, inner);
  const auto size = static_cast<size_t>(nest.row() * bytes);
  // Not memcpy: a damaged program may have placed output and input over each other.
  nest.for_each_outer(inner < 0 ? 0 : inner, [=](char* const* at) {
    for (int64_t i = 0; i < rows; ++i) {
      std::memmove(at[0] + i * to_step, at[1] + i * from_step, size);
    }
  });
}

void copy_rows(const LoopNest& nest, int64_t bytes) {
  if (copy_transposed(nest, bytes)) return;
  const int64_t n = nest.row(), to_stride = nest.stride(0), from_stride = nest.stride(1);
  if (to_stride == bytes && from_stride == bytes) {
    copy_dense_rows(nest, bytes);
  } else if (to_stride == bytes && from_stride == 0) {
    nest.for_each_row([&](char* const* at) { repeat(at[0], at[1], bytes, n); });
  } else if (to_stride == bytes && from_stride == -bytes) {
    visit_width(bytes, [&](auto tag) {
      nest.for_each_row([&](char* const* at) { reverse<ET_TYPE_OF(tag)>(at[0], at[1], n); });
    });
  } else {
    const Convert mover = move(bytes);
    nest.for_each_row([&](char* const* at) { mover(at[0], to_stride, at[1], from_stride, n); });
  }
}

bool copy_same_dtype(const Strided& to, const Strided& from) {
  const LoopNest nest(to, from);
  if (nest.empty()) return true;
  const int64_t bytes = to.element_size();
  NestDivision(nest, kBlock, to.numel()).run([bytes](int64_t, const LoopNest& part) {
    copy_rows(part, bytes);
  });
  return true;
}

/// uint64 is the only dtype whose compute type cannot hold all of its values: large ones would
/// become negative.
void widen_unsigned(const char* from, int64_t stride, double* to, int64_t n) {
  for (int64_t i = 0; i < n; ++i) {
    to[i] = static_cast<double>(*reinterpret_cast<const uint64_t*>(from + i * stride));
  }
}

/// Converts in one step if either dtype is the compute type, else through a block of the compute
/// type.
void convert_rows(const LoopNest& nest, ScalarType to, ScalarType from) {
  const bool wide = from == ScalarType::UInt64 && is_floating(to);
  const bool becomes_floating = is_floating(to) && is_integral(from);
  const Compute through = wide ? Compute::Double : compute_of(becomes_floating ? to : from);
  const Convert reader = load(from, through), writer = store(through, to);
  const int64_t width = size_of(through);
  if (!wide && (from == dtype_of(through) || to == dtype_of(through))) {
    const Convert once = to == dtype_of(through) ? reader : writer;
    nest.for_each_row(
        [&](char* const* at) { once(at[0], nest.stride(0), at[1], nest.stride(1), nest.row()); });
    return;
  }
  alignas(8) char block[kBlock * 8];
  nest.for_each_row([&](char* const* at) {
    for (int64_t i = 0; i < nest.row(); i += kBlock) {
      const int64_t n = nest.row() - i < kBlock ? nest.row() - i : kBlock;
      const char* const source = at[1] + i * nest.stride(1);
      if (wide) {
        widen_unsigned(source, nest.stride(1), reinterpret_cast<double*>(block), n);
      } else {
        reader(block, width, source, nest.stride(1), n);
      }
      writer(at[0] + i * nest.stride(0), nest.stride(0), block, width, n);
    }
  });
}

void copy_converting(const Strided& to, const Strided& from) {
  const LoopNest nest(to, from);
  NestDivision(nest, kBlock, to.numel()).run([&](int64_t, const LoopNest& part) {
    convert_rows(part, to.dtype, from.dtype);
  });
}

/// Converting to a complex dtype sets imaginary parts to zero; converting from one drops them.
bool copy_complex(KernelRuntimeContext& ctx, const Strided& to, const Strided& from) {
  if (!is_complex(to.dtype)) return copy(ctx, to, part_of(from, 0));
  if (!is_complex(from.dtype)) {
    return copy(ctx, part_of(to, 0), from) && fill(ctx, part_of(to, 1), Scalar(int64_t(0)));
  }
  return copy(ctx, part_of(to, 0), part_of(from, 0)) && copy(ctx, part_of(to, 1), part_of(from, 1));
}

}  // namespace

bool copy(KernelRuntimeContext& ctx, const Strided& to, const Strided& from) {
  if (!ET_EXPECT(ctx, width_of(to.dtype) > 0 && width_of(from.dtype) > 0,
                 "cannot copy from %s to %s", name_of(from.dtype), name_of(to.dtype))) {
    return false;
  }
  if (to.dtype == from.dtype) return copy_same_dtype(to, from);
  if (is_complex(to.dtype) || is_complex(from.dtype)) return copy_complex(ctx, to, from);
  copy_converting(to, from);
  return true;
}

bool fill(KernelRuntimeContext& ctx, const Strided& to, const Scalar& value) {
  const Number number(value);
  alignas(kMaxWidth) char element[kMaxWidth];
  Strided one;
  one.data = element;
  one.dtype = to.dtype;
  if (!copy(ctx, one, number.strided())) return false;
  if (to.numel() == 0) return true;  // Its pointer may be null.
  const int64_t bytes = to.element_size();
  if (std::memcmp(element, element + 1, static_cast<size_t>(bytes - 1)) == 0 &&
      in_index_order(to)) {
    std::memset(to.data, element[0], static_cast<size_t>(to.numel() * bytes));
    return true;
  }
  for (int d = 0; d < to.rank; ++d) one.append(to.sizes[d], 0);
  return copy(ctx, to, one);
}

}  // namespace executorch::kernels
