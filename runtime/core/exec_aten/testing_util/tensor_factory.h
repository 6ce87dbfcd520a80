// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// Tensors for tests, with the memory that they need.
#pragma once

#include <stddef.h>
#include <stdint.h>

#include <algorithm>
#include <memory>
#include <numeric>
#include <optional>
#include <type_traits>
#include <utility>
#include <vector>

#include <executorch/runtime/core/exec_aten/exec_aten.h>
#include <executorch/runtime/core/exec_aten/util/dim_order_util.h>
#include <executorch/runtime/core/exec_aten/util/scalar_type_util.h>
#include <executorch/runtime/platform/assert.h>

namespace executorch::runtime::testing {

namespace internal {

/// The type in which a test writes elements of type T: numbers for bits and quantized numbers
/// (types with `val_`), bytes for bool, since std::vector<bool> does not hold one byte for each
/// element.
template <typename T, typename = void>
struct FactoryData {
  using type = T;
};
template <typename T>
struct FactoryData<T, std::void_t<decltype(T::val_)>> {
  using type = typename T::underlying;
};
template <>
struct FactoryData<bool> {
  using type = uint8_t;
};

inline size_t numel_of(const std::vector<int32_t>& sizes) {
  size_t numel = 1;
  for (const int32_t size : sizes) {
    numel *= static_cast<size_t>(size);
  }
  return numel;
}

inline std::vector<uint8_t> contiguous_dim_order(size_t dims) {
  std::vector<uint8_t> order(dims);
  std::iota(order.begin(), order.end(), uint8_t{0});
  return order;
}

/// True for the strides of a contiguous tensor whose dimensions are permuted. Sizes of 0 count as
/// 1.
inline bool are_dense(const std::vector<int32_t>& sizes,
                      const std::vector<executorch::aten::StridesType>& strides) {
  const auto size = [&sizes](size_t dim) { return std::max(sizes[dim], int32_t{1}); };
  std::vector<size_t> outer_first(sizes.size());
  std::iota(outer_first.begin(), outer_first.end(), size_t{0});
  std::sort(outer_first.begin(), outer_first.end(), [&](size_t a, size_t b) {
    return std::make_pair(strides[a], size(a)) > std::make_pair(strides[b], size(b));
  });
  int64_t expected = 1;
  for (size_t i = sizes.size(); i-- > 0;) {
    if (strides[outer_first[i]] != expected) {
      return false;
    }
    expected *= size(outer_first[i]);
  }
  return true;
}

/// Returns 0, 2, 3, ..., 1.
inline std::vector<uint8_t> channels_last_dim_order(size_t dims) {
  ET_CHECK_MSG(dims == 4 || dims == 5, "channels-last of rank %zu", dims);
  std::vector<uint8_t> order = contiguous_dim_order(dims);
  std::rotate(order.begin() + 1, order.begin() + 2, order.end());
  return order;
}

}  // namespace internal

/// Makes tensors of one dtype. A tensor is valid as long as the factory that made it. Wrong
/// arguments (such as data of another size than the shape) end the program: they are faults of a
/// test.
template <executorch::aten::ScalarType kType>
class TensorFactory {
  using Element = typename ScalarTypeToCppType<kType>::type;

 public:
  using ctype = typename internal::FactoryData<Element>::type;
  using Sizes = std::vector<int32_t>;
  using Tensor = executorch::aten::Tensor;

  TensorFactory() = default;
  TensorFactory(const TensorFactory&) = delete;
  TensorFactory& operator=(const TensorFactory&) = delete;

  /// `data` in the order in which it lies in memory; its dim order is the one that sorts `strides`.
  /// Without strides the tensor is contiguous.
  Tensor make(const Sizes& sizes, const std::vector<ctype>& data,
              const std::vector<executorch::aten::StridesType>& strides = {},
              TensorShapeDynamism dynamism = TensorShapeDynamism::STATIC) {
    if (strides.empty()) {
      return make_with_dimorder(sizes, data, {}, dynamism);
    }
    ET_CHECK_MSG(strides.size() == sizes.size(), "%zu strides for %zu sizes", strides.size(),
                 sizes.size());
    ET_CHECK_MSG(internal::are_dense(sizes, strides), "strides with gaps or overlaps");
    std::vector<uint8_t> dim_order(sizes.size());
    ET_CHECK(stride_to_dim_order(strides.data(), strides.size(), dim_order.data()) == Error::Ok);
    const Tensor tensor = make_with_dimorder(sizes, data, dim_order, dynamism);
    std::copy(strides.begin(), strides.end(), memory_.back()->strides.begin());
    return tensor;
  }

  /// `data` in the order in which it lies in memory; without a dim order the tensor is contiguous.
  Tensor make_with_dimorder(const Sizes& sizes, const std::vector<ctype>& data,
                            const std::vector<uint8_t>& dim_order = {},
                            TensorShapeDynamism dynamism = TensorShapeDynamism::STATIC) {
    ET_CHECK_MSG(data.size() == internal::numel_of(sizes), "%zu elements for a shape of %zu",
                 data.size(), internal::numel_of(sizes));
    auto memory = std::make_unique<Memory>();
    memory->sizes = sizes;
    memory->dim_order =
        dim_order.empty() ? internal::contiguous_dim_order(sizes.size()) : dim_order;
    memory->strides.resize(sizes.size());
    ET_CHECK(memory->dim_order.size() == sizes.size());
    ET_CHECK(dim_order_to_stride(sizes.data(), memory->dim_order.data(), sizes.size(),
                                 memory->strides.data()) == Error::Ok);
    // At least one element, so that an empty tensor has an address.
    memory->data = std::make_unique<Element[]>(std::max<size_t>(data.size(), 1));
    std::transform(data.begin(), data.end(), memory->data.get(),
                   [](ctype value) { return static_cast<Element>(value); });
    memory->impl.emplace(kType, static_cast<ssize_t>(sizes.size()), memory->sizes.data(),
                         memory->data.get(), memory->dim_order.data(), memory->strides.data(),
                         dynamism);
    memory_.push_back(std::move(memory));
    return Tensor(&*memory_.back()->impl);
  }

  /// `data` in channels-last order. The documented dim order is ignored.
  Tensor make_channels_last(const Sizes& sizes, const std::vector<ctype>& data,
                            const std::vector<uint8_t>& /*dim_order*/ = {},
                            TensorShapeDynamism dynamism = TensorShapeDynamism::STATIC) {
    return make_with_dimorder(sizes, data, internal::channels_last_dim_order(sizes.size()),
                              dynamism);
  }

  /// The elements of a contiguous tensor, in channels-last order.
  Tensor channels_last_like(const Tensor& input,
                            TensorShapeDynamism dynamism = TensorShapeDynamism::STATIC) {
    const Sizes sizes = sizes_of(input);
    ET_CHECK_MSG(sizes.size() == 4 &&
                     is_contiguous_dim_order(input.dim_order().data(), input.dim_order().size()),
                 "channels_last_like() takes a contiguous tensor of rank 4");
    const size_t channels = static_cast<size_t>(sizes[1]);
    const size_t pixels = static_cast<size_t>(sizes[2]) * static_cast<size_t>(sizes[3]);
    std::vector<ctype> data;
    const auto* const from =
        reinterpret_cast<const ctype*>(input.template const_data_ptr<Element>());
    for (size_t n = 0; n < static_cast<size_t>(sizes[0]); ++n) {
      for (size_t pixel = 0; pixel < pixels; ++pixel) {
        for (size_t channel = 0; channel < channels; ++channel) {
          data.push_back(from[(n * channels + channel) * pixels + pixel]);
        }
      }
    }
    return make_channels_last(sizes, data, {}, dynamism);
  }

  Tensor full(const Sizes& sizes, ctype value,
              TensorShapeDynamism dynamism = TensorShapeDynamism::STATIC) {
    return make(sizes, std::vector<ctype>(internal::numel_of(sizes), value), {}, dynamism);
  }
  Tensor zeros(const Sizes& sizes, TensorShapeDynamism dynamism = TensorShapeDynamism::STATIC) {
    return full(sizes, static_cast<ctype>(0), dynamism);
  }
  Tensor ones(const Sizes& sizes, TensorShapeDynamism dynamism = TensorShapeDynamism::STATIC) {
    return full(sizes, static_cast<ctype>(1), dynamism);
  }

  Tensor full_channels_last(const Sizes& sizes, ctype value,
                            TensorShapeDynamism dynamism = TensorShapeDynamism::STATIC) {
    return make_channels_last(sizes, std::vector<ctype>(internal::numel_of(sizes), value), {},
                              dynamism);
  }
  Tensor zeros_channels_last(const Sizes& sizes,
                             TensorShapeDynamism dynamism = TensorShapeDynamism::STATIC) {
    return full_channels_last(sizes, static_cast<ctype>(0), dynamism);
  }
  Tensor ones_channels_last(const Sizes& sizes,
                            TensorShapeDynamism dynamism = TensorShapeDynamism::STATIC) {
    return full_channels_last(sizes, static_cast<ctype>(1), dynamism);
  }

  /// A tensor with the sizes and dim order of `input`, which may have another dtype.
  Tensor full_like(const Tensor& input, ctype value,
                   TensorShapeDynamism dynamism = TensorShapeDynamism::STATIC) {
    const Sizes sizes = sizes_of(input);
    return make_with_dimorder(
        sizes, std::vector<ctype>(internal::numel_of(sizes), value),
        std::vector<uint8_t>(input.dim_order().begin(), input.dim_order().end()), dynamism);
  }
  Tensor zeros_like(const Tensor& input,
                    TensorShapeDynamism dynamism = TensorShapeDynamism::STATIC) {
    return full_like(input, static_cast<ctype>(0), dynamism);
  }
  Tensor ones_like(const Tensor& input,
                   TensorShapeDynamism dynamism = TensorShapeDynamism::STATIC) {
    return full_like(input, static_cast<ctype>(1), dynamism);
  }

 private:
  struct Memory {
    std::vector<int32_t> sizes;
    std::vector<uint8_t> dim_order;
    std::vector<executorch::aten::StridesType> strides;
    std::unique_ptr<Element[]> data;
    std::optional<executorch::aten::TensorImpl> impl;
  };

  static Sizes sizes_of(const Tensor& tensor) {
    return Sizes(tensor.sizes().begin(), tensor.sizes().end());
  }

  std::vector<std::unique_ptr<Memory>> memory_;
};

/// A list of tensors that a factory made, as kernels take it; valid as long as this object.
template <executorch::aten::ScalarType kType>
class TensorListFactory final {
 public:
  /// Zeros of the sizes and dim orders of `tensors`.
  executorch::aten::ArrayRef<executorch::aten::Tensor> zeros_like(
      const std::vector<executorch::aten::Tensor>& tensors) {
    lists_.emplace_back();
    for (const executorch::aten::Tensor& tensor : tensors) {
      lists_.back().push_back(factory_.zeros_like(tensor));
    }
    return {lists_.back().data(), lists_.back().size()};
  }

 private:
  TensorFactory<kType> factory_;
  std::vector<std::vector<executorch::aten::Tensor>> lists_;
};

}  // namespace executorch::runtime::testing

// Documented names of the same things.
namespace torch::executor::testing {
using ::executorch::runtime::testing::TensorFactory;
using ::executorch::runtime::testing::TensorListFactory;
}  // namespace torch::executor::testing
