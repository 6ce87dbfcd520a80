// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
#include <executorch/kernels/portable/loops/shape.h>

#include <cinttypes>
#include <cstdio>

namespace executorch::kernels::portable {

Shape::Shape(const Tensor& tensor) : rank(static_cast<int>(tensor.dim())) {
  const auto list = tensor.sizes();
  for (int d = 0; d < rank; ++d) sizes[d] = list[d];
}

Shape::Shape(ArrayRef<int64_t> list)
    : rank(static_cast<int>(list.size() < size_t(kMaxRank) ? list.size() : kMaxRank)) {
  for (int d = 0; d < rank; ++d) sizes[d] = list[d];
}

int64_t Shape::numel() const {
  int64_t n = 1;
  for (int d = 0; d < rank; ++d) n *= sizes[d];
  return n;
}

void Shape::remove(int dim) {
  for (int d = dim + 1; d < rank; ++d) sizes[d - 1] = sizes[d];
  --rank;
}

void Shape::insert(int dim, int64_t size) {
  for (int d = rank; d > dim; --d) sizes[d] = sizes[d - 1];
  sizes[dim] = size;
  ++rank;
}

bool Shape::operator==(const Shape& other) const {
  if (rank != other.rank) return false;
  for (int d = 0; d < rank; ++d) {
    if (sizes[d] != other.sizes[d]) return false;
  }
  return true;
}

ShapeText::ShapeText(const Shape& shape) {
  char* at = text;
  char* const end = text + sizeof(text) - 2;  // Room for the closing bracket.
  *at++ = '[';
  for (int d = 0; d < shape.rank; ++d) {
    const int written = std::snprintf(at, static_cast<size_t>(end - at),
                                      d == 0 ? "%" PRId64 : ", %" PRId64, shape.sizes[d]);
    if (written < 0 || written >= end - at) break;
    at += written;
  }
  *at++ = ']';
  *at = 0;
}

}  // namespace executorch::kernels::portable
