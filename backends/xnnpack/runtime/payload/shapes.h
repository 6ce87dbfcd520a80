// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// Shapes of values while a payload's nodes are walked, and the arithmetic on them.
#pragma once

#include <stddef.h>
#include <stdint.h>

#include <algorithm>
#include <vector>

#include <executorch/backends/xnnpack/runtime/payload/shape_inference.h>
#include <executorch/runtime/executor/plan/optional_vector.h>

namespace executorch::backends::xnnpack {

inline uint64_t elements(const Shape& shape) {
  uint64_t product = 1;
  for (size_t d = 0; d < shape.rank; ++d) {
    product *= shape.dims[d];
  }
  return product;
}

inline bool is_empty(const Shape& shape) {
  return std::find(shape.dims, shape.dims + shape.rank, 0u) != shape.dims + shape.rank;
}

inline bool are_equal(const Shape& a, const Shape& b) {
  return a.rank == b.rank && std::equal(a.dims, a.dims + a.rank, b.dims);
}

/// The shapes while nodes are walked in order.
class Shapes final {
 public:
  Shapes(const Payload& payload, Emptiness emptiness)
      : smallest_(emptiness == Emptiness::Allowed ? 0 : 1),
        declared_(runtime::internal::count(payload.graph->xvalues())),
        known_(declared_.size()),
        is_count_(declared_.size()) {
    for (uint32_t i = 0; i < declared_.size(); ++i) {
      const fb_xnnpack::TensorValue& tensor = tensor_of(*payload.graph->xvalues()->Get(i));
      declared_[tensor.id_out()] = declared_shape(tensor);
      known_[tensor.id_out()] =
          tensor.constant_buffer_idx() != 0 ? &declared_[tensor.id_out()] : nullptr;
      is_count_[tensor.id_out()] = tensor.datatype() == fb_xnnpack::Datatype::QDInt8;
    }
    inferred_ = declared_;
  }

  /// nullptr before the value's producer.
  const Shape* operator[](uint32_t id) const { return known_[id]; }

  const Shape& declared(uint32_t id) const { return declared_[id]; }

  /// Sets a value's shape. False if it was set before, or exceeds the declared shape.
  bool make(uint32_t id, const Shape& shape) {
    const Shape& largest = declared_[id];
    if (known_[id] != nullptr || shape.rank != largest.rank) {
      return false;
    }
    for (size_t d = 0; d < shape.rank; ++d) {
      if (shape.dims[d] < smallest_ || (!is_count_[id] && shape.dims[d] > largest.dims[d])) {
        return false;
      }
    }
    if (is_count_[id] && elements(shape) > elements(largest)) {
      return false;
    }
    inferred_[id] = shape;
    known_[id] = &inferred_[id];
    return true;
  }

  /// By id, the inferred or declared shapes.
  std::vector<Shape> take() { return std::move(inferred_); }

 private:
  uint64_t smallest_;
  std::vector<Shape> declared_;
  std::vector<Shape> inferred_;
  std::vector<const Shape*> known_;
  /// By id: the declared shape bounds only the number of elements. ExecuTorch declares images that
  /// are quantized at run time in the order of PyTorch, but computes them channels last.
  std::vector<bool> is_count_;
};

/// Numpy's broadcasting.
inline bool broadcast(const Shape& a, const Shape& b, Shape* out) {
  out->rank = std::max(a.rank, b.rank);
  for (size_t i = 0; i < out->rank; ++i) {
    const uint64_t x = i < a.rank ? a.dims[a.rank - 1 - i] : 1;
    const uint64_t y = i < b.rank ? b.dims[b.rank - 1 - i] : 1;
    if (x != y && x != 1 && y != 1) {
      return false;
    }
    out->dims[out->rank - 1 - i] = x == 1 ? y : x;
  }
  return true;
}

/// True for rows of `length` elements, one for each row of `to` or repeated by broadcasting.
inline bool are_rows_of(const Shape& rows, uint64_t length, const Shape& to) {
  Shape wanted = to, product;
  if (rows.rank == 0 || to.rank == 0 || rows.dims[rows.rank - 1] != length) {
    return false;
  }
  wanted.dims[to.rank - 1] = length;
  return broadcast(rows, wanted, &product) && are_equal(product, wanted);
}

inline bool is_vector(const Shape* shape, uint64_t size) {
  return shape != nullptr && shape->rank == 1 && shape->dims[0] == size;
}

/// One dimension of a sliding window.
struct Window {
  uint64_t before, after, kernel, stride, dilation;
};

/// The number of positions of a window on `size` elements; 0 if it does not fit.
inline uint64_t places(uint64_t size, const Window& w, bool same_padding) {
  if (w.kernel == 0 || w.stride == 0 || w.dilation == 0) {
    return 0;
  }
  if (same_padding) {
    return w.before + w.after == 0 ? (size + w.stride - 1) / w.stride : 0;
  }
  const uint64_t padded = size + w.before + w.after, extent = (w.kernel - 1) * w.dilation + 1;
  return padded < extent ? 0 : (padded - extent) / w.stride + 1;
}

/// Operators may copy an image with its padding: the copy's bytes must be a number that does not
/// wrap around.
inline bool padding_fits(const Shape& image, const Window& v, const Window& h) {
  constexpr uint64_t kMaxElements = std::min<uint64_t>(uint64_t{1} << 38, SIZE_MAX / 16);
  const uint64_t height = image.dims[1] + v.before + v.after;
  const uint64_t width = image.dims[2] + h.before + h.after;
  const uint64_t pixels = std::max<uint64_t>(uint64_t{image.dims[0]} * image.dims[3], 1);
  return height <= kMaxElements / pixels / std::max<uint64_t>(width, 1);
}

/// For padding of a dilated window, XNNPACK reads the window's first element that is not before the
/// image. Returns true if that element is in the image, of `size` elements, at every position of
/// the window.
inline bool reads_image(uint64_t size, const Window& w, uint64_t places) {
  if (places == 0) {
    return false;
  }
  const uint64_t offset = w.before % w.dilation, last = (places - 1) * w.stride;
  const uint64_t before =
      offset == 0 ? 0 : std::min(last, (offset - 1) / w.stride * w.stride) + w.dilation - offset;
  return before < size && (last < offset || last - offset < size);
}

}  // namespace executorch::backends::xnnpack
