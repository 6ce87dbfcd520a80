// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// Shared by tests of int8 products and convolutions.
#pragma once

#include <executorch/kernels/engine/eltwise/qsum.h>
#include <executorch/kernels/engine/qgemm/qconv.h>
#include <executorch/kernels/engine/qgemm/qgemm.h>

#include "support.h"

namespace engine_test {

/// Bytes at the end of an allocation, as Floats are.
class Bytes {
 public:
  explicit Bytes(size_t count, int8_t value = 0) : count_(count), data_(new int8_t[count]) {
    std::fill(data_, data_ + count, value);
  }
  Bytes(size_t count, Random& random) : Bytes(count) {
    for (size_t i = 0; i < count; ++i) data_[i] = int8_t(int(random.size(0, 255)) - 128);
  }
  Bytes(const Bytes&) = delete;
  Bytes& operator=(const Bytes&) = delete;
  ~Bytes() { delete[] data_; }

  int8_t* data() { return data_; }
  const int8_t* data() const { return data_; }
  size_t size() const { return count_; }
  int8_t operator[](size_t i) const { return data_[i]; }

 private:
  size_t count_;
  int8_t* data_;
};

/// round(sum * scale) + zero point within the limits, in the order of the contract.
inline int requantized(int32_t sum, float scale, const Requantization& to) {
  const float rounded = std::nearbyint(float(sum) * scale);
  const double moved = double(rounded) + to.zero_point;
  return int(std::min(std::max<double>(moved, to.out_min), double(to.out_max)));
}

struct Quantized {
  Floats scales, bias;
  std::vector<int32_t> bias_sums;
  int32_t input_zero;
  Requantization to;

  Quantized(size_t outputs, Random& random)
      : scales(random.floats(outputs, 1e-4f, 2e-2f)),
        bias(random.floats(outputs)),
        input_zero(int32_t(random.size(0, 255)) - 128) {
    for (size_t i = 0; i < outputs; ++i) bias_sums.push_back(int32_t(random.size(0, 4000)) - 2000);
    to.zero_point = int32_t(random.size(0, 255)) - 128;
    to.out_min = random.one_of<int32_t>({-128, -20, to.zero_point});
    to.out_max = std::max(random.one_of<int32_t>({127, 40}), to.out_min);
  }

  QColumns columns(bool has_bias) const {
    return {scales.data(), input_zero, has_bias ? bias_sums.data() : nullptr, false, nullptr};
  }
  QColumns dynamic_columns() const { return {scales.data(), 0, nullptr, true, bias.data()}; }
};

inline QSum any_sum(Random& random) {
  const auto quantization = [&](float min, float max) {
    return ByteQuantization{random.floats(1, min, max)[0], int32_t(random.size(0, 255)) - 128};
  };
  QSum sum = QSum::plan(quantization(1e-4f, 1e-1f), quantization(1e-4f, 1e-1f),
                        quantization(1e-2f, 1e-1f));
  sum.out_min = random.one_of<int32_t>({-128, -20});
  sum.out_max = random.one_of<int32_t>({127, 40});
  return sum;
}

}  // namespace engine_test
