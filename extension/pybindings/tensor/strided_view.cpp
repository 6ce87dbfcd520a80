// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
#include <executorch/extension/pybindings/tensor/strided_view.h>

#include <cstring>
#include <limits>

namespace executorch::extension::pybindings {
namespace {

template <size_t kSize>
void copy_line(const uint8_t* source, int64_t stride, int64_t count, uint8_t* destination) {
  for (int64_t i = 0; i < count; ++i) {
    std::memcpy(destination + i * static_cast<int64_t>(kSize), source + i * stride, kSize);
  }
}

void copy_line(const uint8_t* source, int64_t stride, int64_t count, size_t size,
               uint8_t* destination) {
  if (stride == static_cast<int64_t>(size)) {
    std::memcpy(destination, source, static_cast<size_t>(count) * size);
    return;
  }
  switch (size) {
    case 1:
      return copy_line<1>(source, stride, count, destination);
    case 2:
      return copy_line<2>(source, stride, count, destination);
    case 4:
      return copy_line<4>(source, stride, count, destination);
    case 8:
      return copy_line<8>(source, stride, count, destination);
    default:
      return copy_line<16>(source, stride, count, destination);
  }
}

/// Copies the elements of the dimensions from `depth` on; returns the end of the written memory.
uint8_t* copy_from_depth(const StridedView& view, const uint8_t* dim_order, size_t depth,
                         const uint8_t* source, uint8_t* destination) {
  const size_t dim = dim_order[depth];
  if (depth + 1 == view.rank) {
    copy_line(source, view.strides[dim], view.sizes[dim], view.type->size, destination);
    return destination + view.sizes[dim] * view.type->size;
  }
  for (int64_t i = 0; i < view.sizes[dim]; ++i) {
    destination =
        copy_from_depth(view, dim_order, depth + 1, source + i * view.strides[dim], destination);
  }
  return destination;
}

}  // namespace

int64_t StridedView::count() const {
  int64_t count = 1;
  for (size_t i = 0; i < rank; ++i) {
    count = wrapping_product(count, sizes[i]);
  }
  return count;
}

std::optional<size_t> StridedView::checked_bytes() const {
  int64_t bytes = type->size;
  bool is_empty = false;
  bool fits = true;
  for (size_t i = 0; i < rank; ++i) {
    is_empty |= sizes[i] == 0;
    fits = fits && sizes[i] >= 0 && sizes[i] <= std::numeric_limits<int32_t>::max() &&
           !__builtin_mul_overflow(bytes, sizes[i] == 0 ? 1 : sizes[i], &bytes);
  }
  return fits ? std::optional<size_t>(is_empty ? 0 : static_cast<size_t>(bytes)) : std::nullopt;
}

std::string StridedView::describe() const {
  std::string text = std::string(type->name) + " tensor [";
  for (size_t i = 0; i < rank; ++i) {
    text += (i == 0 ? "" : ", ") + std::to_string(sizes[i]);
  }
  return text + "]";
}

void set_dense_strides(StridedView& view, const uint8_t* dim_order) {
  int64_t step = view.type->size;
  for (size_t i = view.rank; i-- > 0;) {
    const size_t dim = dim_order[i];
    view.strides[dim] = step;
    step = wrapping_product(step, view.sizes[dim] > 1 ? view.sizes[dim] : 1);
  }
}

bool is_dense(const StridedView& view, const uint8_t* dim_order) {
  // The alignment of a complex number is that of its parts.
  const bool is_complex = view.type->code == dlpack::kComplex;
  const size_t alignment = is_complex ? view.type->size / 2u : view.type->size;
  if (reinterpret_cast<uintptr_t>(view.data) % alignment != 0) {
    return false;
  }
  int64_t step = view.type->size;
  for (size_t i = view.rank; i-- > 0;) {
    const size_t dim = dim_order[i];
    if (view.sizes[dim] > 1) {
      if (view.strides[dim] != step) {
        return false;
      }
      step = wrapping_product(step, view.sizes[dim]);
    }
  }
  return true;
}

void copy_dense(const StridedView& view, const uint8_t* dim_order, uint8_t* destination) {
  if (view.rank == 0) {
    std::memcpy(destination, view.data, view.type->size);
  } else if (view.count() != 0) {
    copy_from_depth(view, dim_order, 0, view.data, destination);
  }
}

}  // namespace executorch::extension::pybindings
