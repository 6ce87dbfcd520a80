// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// Shapes, and the checks of arguments.
#include <executorch/kernels/loops/memory/broadcast.h>
#include <executorch/kernels/loops/memory/check.h>
#include <executorch/kernels/loops/memory/shape.h>

#include <executorch/runtime/core/exec_aten/util/empty_tensor_limit.h>
#include <executorch/runtime/core/overflow.h>
#include <executorch/runtime/platform/assert.h>
#include <executorch/runtime/platform/log.h>

#include <algorithm>
#include <cinttypes>
#include <cstdarg>
#include <cstdint>
#include <cstdio>
#include <limits>

namespace executorch::kernels {

Shape::Shape(const Tensor& tensor) : rank(static_cast<int>(tensor.dim())) {
#ifdef USE_ATEN_LIB
  ET_CHECK_MSG(rank <= kMaxRank, "a tensor of rank %d, at most %d is supported", rank, kMaxRank);
#endif
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

bool broadcast(Shape& shape, const Shape& operand) {
  while (shape.rank < operand.rank) shape.insert(0, 1);
  const int offset = shape.rank - operand.rank;
  for (int d = 0; d < operand.rank; ++d) {
    int64_t& size = shape.sizes[offset + d];
    if (size == operand.sizes[d] || operand.sizes[d] == 1) continue;
    if (size != 1) return false;
    size = operand.sizes[d];
  }
  return true;
}

bool is_countable(const Shape& shape) {
  int64_t product = 1;
  for (int d = 0; d < shape.rank; ++d) {
    const int64_t size = shape.sizes[d] > 0 ? shape.sizes[d] : 1;
    if (runtime::mul_overflows(product, size, &product)) return false;
  }
  return product <= runtime::kEmptyTensorLimit;
}

bool expect_broadcast(KernelRuntimeContext& ctx, Shape& shape, const Shape& operand) {
  const Shape before = shape;
  return ET_EXPECT(ctx, broadcast(shape, operand), "shapes %s and %s do not broadcast together",
                   ShapeText(before).text, ShapeText(operand).text);
}

bool broadcasts_to(const Shape& operand, const Shape& shape) {
  Shape widened = shape;
  return operand.rank <= shape.rank && broadcast(widened, operand) && widened == shape;
}

Strided expanded(const Strided& operand, const Shape& shape) {
  Strided result;
  result.data = operand.data;
  result.dtype = operand.dtype;
  const int offset = shape.rank - operand.rank;
  for (int d = 0; d < shape.rank; ++d) {
    const bool repeats = d < offset || operand.sizes[d - offset] != shape.sizes[d];
    result.append(shape.sizes[d], repeats ? 0 : operand.strides[d - offset]);
  }
  return result;
}

#if ET_LOG_ENABLED
bool refuse(KernelRuntimeContext& ctx, const char* format, ...) {
  char message[400];
  va_list arguments;
  va_start(arguments, format);
  std::vsnprintf(message, sizeof(message), format, arguments);
  va_end(arguments);
  ET_LOG(Error, "%s", message);
  return refuse_silently(ctx);
}
#else
bool refuse(KernelRuntimeContext& ctx, const char*, ...) { return refuse_silently(ctx); }
#endif

bool refuse_silently(KernelRuntimeContext& ctx) {
  ctx.fail(Error::InvalidArgument);
  return false;
}

bool expect_dim(KernelRuntimeContext& ctx, int64_t dim, int rank, int* normalized) {
  const int64_t limit = rank > 0 ? rank : 1;
  if (!ET_EXPECT(ctx, dim >= -limit && dim < limit,
                 "dim must be within [%" PRId64 ", %" PRId64 "], found %" PRId64, -limit, limit - 1,
                 dim)) {
    return false;
  }
  *normalized = static_cast<int>(dim < 0 ? dim + limit : dim);
  return true;
}

bool expect_dims(KernelRuntimeContext& ctx, ArrayRef<int64_t> dims, int rank, uint32_t* mask) {
  *mask = 0;
  for (size_t i = 0; i < dims.size(); ++i) {
    int dim;
    if (!expect_dim(ctx, dims[i], rank, &dim)) return false;
    if (!ET_EXPECT(ctx, (*mask >> dim & 1) == 0, "dimension %d occurs twice in the list of dims",
                   dim)) {
      return false;
    }
    *mask |= uint32_t(1) << dim;
  }
  return true;
}

bool expect_dtype(KernelRuntimeContext& ctx, const char* name, const Tensor& tensor,
                  ScalarType dtype) {
  return ET_EXPECT(ctx, tensor.scalar_type() == dtype, "%s must be %s, found %s", name,
                   name_of(dtype), name_of(tensor.scalar_type()));
}

bool expect_same_dtype(KernelRuntimeContext& ctx, const char* name_a, const Tensor& a,
                       const char* name_b, const Tensor& b) {
  return ET_EXPECT(ctx, a.scalar_type() == b.scalar_type(),
                   "%s and %s must have one dtype, found %s and %s", name_a, name_b,
                   name_of(a.scalar_type()), name_of(b.scalar_type()));
}

bool expect_movable(KernelRuntimeContext& ctx, const char* name, const Tensor& tensor) {
  return ET_EXPECT(ctx, width_of(tensor.scalar_type()) > 0, "%s has %s", name,
                   name_of(tensor.scalar_type()));
}

bool expect_number(KernelRuntimeContext& ctx, const char* name, const Tensor& tensor) {
  return ET_EXPECT(ctx, kind_of(tensor.scalar_type()) != Kind::Unsupported,
                   "%s must hold numbers that are not complex, found %s", name,
                   name_of(tensor.scalar_type()));
}

bool expect_castable(KernelRuntimeContext& ctx, ScalarType computed, const Tensor& out) {
  return ET_EXPECT(
      ctx,
      can_cast(computed, out.scalar_type()) && ((has_complex && is_complex(out.scalar_type())) ||
                                                kind_of(out.scalar_type()) != Kind::Unsupported),
      "a result of dtype %s cannot be cast to out's dtype %s", name_of(computed),
      name_of(out.scalar_type()));
}

bool expect_index_dtype(KernelRuntimeContext& ctx, const char* name, const Tensor& tensor) {
  return ET_EXPECT(
      ctx, tensor.scalar_type() == ScalarType::Long || tensor.scalar_type() == ScalarType::Int,
      "%s must be int64 or int32, found %s", name, name_of(tensor.scalar_type()));
}

bool resize(KernelRuntimeContext& ctx, Tensor& out, const Shape& shape) {
  SizesType sizes[kMaxRank];
  for (int d = 0; d < shape.rank; ++d) {
    if (!ET_EXPECT(
            ctx, shape.sizes[d] >= 0 && shape.sizes[d] <= std::numeric_limits<int32_t>::max(),
            "size %" PRId64 " of dimension %d of the output is out of range", shape.sizes[d], d)) {
      return false;
    }
    sizes[d] = static_cast<SizesType>(shape.sizes[d]);
  }
  const Error error = ::executorch::ET_RUNTIME_NAMESPACE::resize_tensor(
      out, ArrayRef<SizesType>(sizes, static_cast<size_t>(shape.rank)));
  if (error == Error::Ok) return true;
  ET_LOG(Error, "out of shape %s cannot be resized to %s", ShapeText(out).text,
         ShapeText(shape).text);
  ctx.fail(error);
  return false;
}

bool resize_like(KernelRuntimeContext& ctx, Tensor& out, const Tensor& like) {
  return resize(ctx, out, Shape(like));
}

void* allocate(KernelRuntimeContext& ctx, int64_t count, int64_t item_size) {
  const int64_t items = count > 0 ? count : 1;
  constexpr auto kMaxBytes =
      static_cast<int64_t>(std::min<uint64_t>(SIZE_MAX, std::numeric_limits<int64_t>::max()));
  if (!ET_EXPECT(ctx, items <= kMaxBytes / item_size,
                 "temporary memory for %" PRId64 " items of %" PRId64 " bytes is too large", items,
                 item_size)) {
    return nullptr;
  }
  auto memory = ctx.allocate_temp(static_cast<size_t>(items * item_size), 16);
  if (memory.ok()) return memory.get();
  ET_LOG(Error, "%s: %" PRId64 " bytes are needed",
         memory.error() == Error::NotFound ? "the MemoryManager lacks a temp allocator"
                                           : "the temp allocator is too small",
         items * item_size);
  ctx.fail(memory.error());
  return nullptr;
}

}  // namespace executorch::kernels
