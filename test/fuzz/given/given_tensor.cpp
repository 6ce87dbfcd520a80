// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
#include "fuzz/given/given_tensor.h"

#include <string.h>

#include <utility>

#include <executorch/runtime/core/exec_aten/util/dtype_info.h>

namespace executorch::fuzz {

using aten::ScalarType;

GivenTensor::GivenTensor(ScalarType type, std::vector<int32_t> sizes,
                         std::vector<uint8_t> dim_order)
    : type_(type),
      sizes_(std::move(sizes)),
      dim_order_(std::move(dim_order)),
      strides_(sizes_.size()) {
  int32_t stride = 1;
  size_t elements = 1;
  for (size_t i = dim_order_.size(); i-- > 0;) {
    const int32_t size = sizes_[dim_order_[i]];
    strides_[dim_order_[i]] = stride;
    // The product of all sizes is not a stride and may overflow.
    stride = i == 0 ? stride : stride * (size > 0 ? size : 1);
    elements *= static_cast<size_t>(size);
  }
  nbytes_ = elements * runtime::elementSize(type);
  data_.reset(new uint8_t[nbytes_]);
  memset(data_.get(), 1, nbytes_);
  impl_ =
      std::make_unique<aten::TensorImpl>(type, static_cast<ssize_t>(sizes_.size()), sizes_.data(),
                                         data_.get(), dim_order_.data(), strides_.data());
}

namespace {

template <typename T>
void put(uint8_t* at, double value) {
  const T number = static_cast<T>(value);
  memcpy(at, &number, sizeof(number));
}

void put_integer(uint8_t* at, int64_t value, size_t width) { memcpy(at, &value, width); }

}  // namespace

void GivenTensor::fill(Random& random) {
  const size_t width = runtime::elementSize(type_);
  const int64_t base = random.between(-1, 2);
  for (size_t i = 0; i + width <= nbytes_; i += width) {
    uint8_t* const at = data_.get() + i;
    if (type_ == ScalarType::Bool) {
      *at = static_cast<uint8_t>(random.one_in(8) ? random.next() : random.below(2));
    } else if (type_ == ScalarType::Float) {
      put<float>(at, random.one_in(24) ? random.pick({0.0, -0.0, 1e30, 1e-40, 9.2e18})
                                       : static_cast<double>(random.between(-40, 40)) / 8);
    } else if (type_ == ScalarType::Double) {
      put<double>(at, random.one_in(24) ? random.pick({0.0, -0.0, 1e300, 9.3e18})
                                        : static_cast<double>(random.between(-40, 40)) / 8);
    } else if (runtime::isIntegralType(type_, /*includeBool=*/false)) {
      put_integer(at,
                  random.one_in(24) ? random.pick({int64_t{-1}, int64_t{1} << 31, INT64_MAX,
                                                   INT64_MIN, int64_t{1} << 20})
                                    : base + static_cast<int64_t>(random.below(3)),
                  width);
    } else {
      put_integer(at, static_cast<int64_t>(random.next()), width < 8 ? width : 8);
    }
  }
}

}  // namespace executorch::fuzz
