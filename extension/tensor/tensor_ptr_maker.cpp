// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
#include <executorch/extension/tensor/tensor_ptr_maker.h>

#include <random>

namespace executorch::extension {
namespace {

std::mt19937_64& generator() {
  thread_local std::mt19937_64 engine{std::random_device{}()};
  return engine;
}

/// Sets every element to a result of `next`, converted; returns the tensor.
template <typename Next>
TensorPtr filled(TensorPtr tensor, Next&& next) {
  const size_t count = static_cast<size_t>(tensor->numel());
  const bool is_number = visit_number_type(tensor->scalar_type(), [&](auto element) {
    using T = typename decltype(element)::type;
    T* out = static_cast<T*>(tensor->mutable_data_ptr());
    for (size_t i = 0; i < count; ++i) {
      out[i] = convert_number<T>(next());
    }
  });
  ET_CHECK_MSG(is_number, "expected a numeric element type");
  return tensor;
}

}  // namespace

TensorPtr empty_strided(std::vector<aten::SizesType> sizes, std::vector<aten::StridesType> strides,
                        aten::ScalarType type, aten::TensorShapeDynamism dynamism) {
  const auto nbytes = aten::safe_nbytes(type, sizes.data(), static_cast<ssize_t>(sizes.size()));
  ET_CHECK_MSG(nbytes.ok(), "the sizes do not describe a tensor");
  return make_tensor_ptr(std::move(sizes), std::vector<uint8_t>(*nbytes), {}, std::move(strides),
                         type, dynamism);
}

TensorPtr full_strided(std::vector<aten::SizesType> sizes, std::vector<aten::StridesType> strides,
                       aten::Scalar fill_value, aten::ScalarType type,
                       aten::TensorShapeDynamism dynamism) {
  TensorPtr tensor = empty_strided(std::move(sizes), std::move(strides), type, dynamism);
  if (fill_value.isFloatingPoint()) {
    return filled(tensor, [&] { return fill_value.as<double>(); });
  }
  return filled(tensor, [&] { return fill_value.as<int64_t>(); });
}

TensorPtr rand_strided(std::vector<aten::SizesType> sizes, std::vector<aten::StridesType> strides,
                       aten::ScalarType type, aten::TensorShapeDynamism dynamism) {
  std::uniform_real_distribution<double> distribution(0.0, 1.0);
  return filled(empty_strided(std::move(sizes), std::move(strides), type, dynamism),
                [&] { return distribution(generator()); });
}

TensorPtr randn_strided(std::vector<aten::SizesType> sizes, std::vector<aten::StridesType> strides,
                        aten::ScalarType type, aten::TensorShapeDynamism dynamism) {
  std::normal_distribution<double> distribution(0.0, 1.0);
  return filled(empty_strided(std::move(sizes), std::move(strides), type, dynamism),
                [&] { return distribution(generator()); });
}

TensorPtr randint_strided(int64_t low, int64_t high, std::vector<aten::SizesType> sizes,
                          std::vector<aten::StridesType> strides, aten::ScalarType type,
                          aten::TensorShapeDynamism dynamism) {
  ET_CHECK_MSG(low < high, "no integers lie between the bounds");
  std::uniform_int_distribution<int64_t> distribution(low, high - 1);
  return filled(empty_strided(std::move(sizes), std::move(strides), type, dynamism),
                [&] { return distribution(generator()); });
}

}  // namespace executorch::extension
