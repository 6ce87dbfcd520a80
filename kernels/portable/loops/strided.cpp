// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
#include <executorch/kernels/portable/loops/strided.h>

namespace executorch::kernels::portable {

Strided::Strided(const Tensor& tensor)
    : data(static_cast<char*>(const_cast<void*>(tensor.const_data_ptr()))),
      dtype(tensor.scalar_type()),
      rank(static_cast<int>(tensor.dim())) {
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

}  // namespace executorch::kernels::portable
