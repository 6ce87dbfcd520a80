// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
#include <executorch/kernels/linalg/matrices.h>

#include <cinttypes>

#include <executorch/kernels/loops/memory/broadcast.h>

namespace executorch::kernels::linalg {
namespace {

template <typename T>
T from_parts(double real, double imaginary) {
  if constexpr (std::is_same_v<T, double>) {
    return real;
  } else {
    return {real, imaginary};
  }
}

/// Reads one number of the tensor's dtype.
template <typename T>
T read(ScalarType dtype, const char* from) {
  switch (dtype) {
    case ScalarType::Float:
      return from_parts<T>(*reinterpret_cast<const float*>(from), 0);
    case ScalarType::ComplexFloat:
      return from_parts<T>(reinterpret_cast<const float*>(from)[0],
                           reinterpret_cast<const float*>(from)[1]);
    case ScalarType::ComplexDouble:
      return from_parts<T>(reinterpret_cast<const double*>(from)[0],
                           reinterpret_cast<const double*>(from)[1]);
    default:
      return from_parts<T>(*reinterpret_cast<const double*>(from), 0);
  }
}

template <typename T>
void write(ScalarType dtype, char* to, const T& value) {
  const Complex parts(value);
  switch (dtype) {
    case ScalarType::Float:
      *reinterpret_cast<float*>(to) = static_cast<float>(parts.real());
      break;
    case ScalarType::ComplexFloat:
      reinterpret_cast<float*>(to)[0] = static_cast<float>(parts.real());
      reinterpret_cast<float*>(to)[1] = static_cast<float>(parts.imag());
      break;
    case ScalarType::ComplexDouble:
      reinterpret_cast<double*>(to)[0] = parts.real();
      reinterpret_cast<double*>(to)[1] = parts.imag();
      break;
    default:
      *reinterpret_cast<double*>(to) = parts.real();
  }
}

}  // namespace

Batch::Batch(const Tensor& tensor, int item_rank) : memory_(tensor), item_rank_(item_rank) {}

Shape Batch::batch() const {
  Shape shape;
  for (int d = 0; d < batch_rank(); ++d) shape.append(memory_.sizes[d]);
  return shape;
}

template <typename Use>
void Batch::for_each_place(const Shape& batch, int64_t index, const Use& use) const {
  const int missing = batch.rank - batch_rank();
  for (int d = batch.rank; d-- > 0;) {
    const int64_t place = index % batch.sizes[d];
    index /= batch.sizes[d];
    const int own = d - missing;
    if (own >= 0) use(own, memory_.sizes[own] == 1 ? 0 : place);
  }
}

int64_t Batch::item_at(const Shape& batch, int64_t index) const {
  int64_t item = 0, items = 1;
  for_each_place(batch, index, [&](int own, int64_t place) {
    item += place * items;
    items *= memory_.sizes[own];
  });
  return item;
}

char* Batch::at(const Shape& batch, int64_t index) const {
  int64_t offset = 0;
  for_each_place(batch, index,
                 [&](int own, int64_t place) { offset += place * memory_.strides[own]; });
  return memory_.data + offset;
}

template <typename T>
Matrix<T> Batch::load(const Shape& batch, int64_t index) const {
  Matrix<T> item(rows(), columns());
  if (item.size() == 0) return item;
  const char* const from = at(batch, index);
  for (int64_t c = 0; c < columns(); ++c) {
    for (int64_t r = 0; r < rows(); ++r) {
      item(r, c) = read<T>(memory_.dtype, from + r * row_stride() + c * column_stride());
    }
  }
  return item;
}

Pivots Batch::load_pivots(const Shape& batch, int64_t index) const {
  Pivots item(rows());
  if (item.size() == 0) return item;
  const char* const from = at(batch, index);
  for (int64_t r = 0; r < rows(); ++r) {
    item(r) = *reinterpret_cast<const int32_t*>(from + r * row_stride());
  }
  return item;
}

template <typename T>
void Batch::store(int64_t index, const Matrix<T>& item) const {
  if (item.size() == 0) return;
  char* const to = at(batch(), index);
  for (int64_t c = 0; c < columns(); ++c) {
    for (int64_t r = 0; r < rows(); ++r) {
      write(memory_.dtype, to + r * row_stride() + c * column_stride(), item(r, c));
    }
  }
}

void Batch::store_integers(int64_t index, const Pivots& item) const {
  if (item.size() == 0) return;
  char* const to = at(batch(), index);
  for (int64_t r = 0; r < rows(); ++r) {
    *reinterpret_cast<int32_t*>(to + r * row_stride()) = item(r);
  }
}

void Batch::store_integer(int64_t index, int32_t item) const {
  *reinterpret_cast<int32_t*>(at(batch(), index)) = item;
}

template Matrix<double> Batch::load<double>(const Shape&, int64_t) const;
template Matrix<Complex> Batch::load<Complex>(const Shape&, int64_t) const;
template void Batch::store<double>(int64_t, const Matrix<double>&) const;
template void Batch::store<Complex>(int64_t, const Matrix<Complex>&) const;

bool expect_matrices(KernelRuntimeContext& ctx, const char* name, const Tensor& tensor, int rank) {
  const ScalarType dtype = tensor.scalar_type();
  return ET_EXPECT(ctx,
                   dtype == ScalarType::Float || dtype == ScalarType::Double ||
                       dtype == ScalarType::ComplexFloat || dtype == ScalarType::ComplexDouble,
                   "%s: expected float32, float64, complex64 or complex128, found %s", name,
                   name_of(dtype)) &&
         ET_EXPECT(ctx, tensor.dim() >= rank && tensor.dim() <= kMaxRank,
                   "%s: expected a rank of at least %d, found %d", name, rank,
                   static_cast<int>(tensor.dim()));
}

bool expect_square(KernelRuntimeContext& ctx, const char* name, const Tensor& tensor) {
  if (!expect_matrices(ctx, name, tensor)) return false;
  const Batch items(tensor, 2);
  return ET_EXPECT(ctx, items.rows() == items.columns(),
                   "%s: expected square matrices, found sizes %s", name, ShapeText(tensor).text);
}

bool prepare(KernelRuntimeContext& ctx, const char* name, Tensor& out, ScalarType dtype,
             const Shape& batch, std::initializer_list<int64_t> item) {
  Shape shape = batch;
  for (const int64_t size : item) shape.append(size);
  return expect_dtype(ctx, name, out, dtype) && resize(ctx, out, shape);
}

bool common_batch(KernelRuntimeContext& ctx, const Shape& a, const Shape& b, Shape* common) {
  *common = a;
  return expect_broadcast(ctx, *common, b);
}

int64_t count_items(const Shape& batch, std::initializer_list<const Tensor*> results) {
  for (const Tensor* result : results) {
    if (result->numel() != 0) return batch.numel();
  }
  return 0;
}

bool expect_no_error(KernelRuntimeContext& ctx, const char* what, int32_t info) {
  return ET_EXPECT(ctx, info == 0, "%s: the input is singular (element %d of the diagonal is 0)",
                   what, static_cast<int>(info));
}

}  // namespace executorch::kernels::linalg
