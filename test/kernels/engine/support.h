// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// Shared by tests of the engine: instruction sets, threads, numbers, and memory whose
// neighborhood must stay as it is.
#pragma once

#include <executorch/kernels/engine/instruction_set.h>
#include <executorch/kernels/engine/precision.h>
#include <executorch/kernels/engine/threads.h>
#include <executorch/test/oracle/tolerances.h>

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <random>
#include <thread>
#include <vector>

namespace engine_test {

using namespace executorch::kernels::engine;  // NOLINT: the subject of the tests

constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();
constexpr float kInfinity = std::numeric_limits<float>::infinity();

/// All sets that this processor and build have.
inline std::vector<InstructionSet> instruction_sets() {
  std::vector<InstructionSet> sets;
  for (auto set = size_t(InstructionSet::Scalar); set <= size_t(InstructionSet::Amx); ++set) {
    if (has_instruction_set(InstructionSet(set))) sets.push_back(InstructionSet(set));
  }
  return sets;
}

/// Threads of their own for every call.
class ManyThreads final : public Threads {
 public:
  explicit ManyThreads(size_t count) : count_(count) {}
  size_t count() const override { return count_; }
  void run(size_t tasks, FunctionRef<void(size_t)> task) override {
    std::vector<std::thread> threads;
    for (size_t i = 0; i < tasks; ++i) threads.emplace_back([task, i] { task(i); });
    for (std::thread& thread : threads) thread.join();
  }

 private:
  size_t count_;
};

/// Floats at the end of an allocation, so that sanitizers see the first read or write beyond them.
class Floats {
 public:
  explicit Floats(size_t count, float value = 0) : count_(count), data_(new float[count]) {
    std::fill(begin(), end(), value);
  }
  Floats(const Floats& other) : Floats(other.count_) {
    std::copy(other.begin(), other.end(), begin());
  }
  Floats& operator=(const Floats&) = delete;
  ~Floats() { delete[] data_; }

  float* data() { return data_; }
  const float* data() const { return data_; }
  size_t size() const { return count_; }
  float* begin() { return data_; }
  float* end() { return data_ + count_; }
  const float* begin() const { return data_; }
  const float* end() const { return data_ + count_; }
  float& operator[](size_t i) { return data_[i]; }
  float operator[](size_t i) const { return data_[i]; }

 private:
  size_t count_;
  float* data_;
};

/// Memory aligned as packed operands and scratch memory are.
class Aligned {
 public:
  explicit Aligned(size_t bytes)
      : data_(std::aligned_alloc(64, (bytes + 63) / 64 * 64 + (bytes == 0 ? 64 : 0))) {
    std::memset(data_, 0xff, bytes);  // NaN: what is read must have been written
  }
  Aligned(const Aligned&) = delete;
  Aligned& operator=(const Aligned&) = delete;
  ~Aligned() { std::free(data_); }

  float* floats() { return static_cast<float*>(data_); }
  void* data() { return data_; }

 private:
  void* data_;
};

class Random {
 public:
  explicit Random(uint32_t seed) : engine_(seed) {}

  float number(float low = -1, float high = 1) {
    return std::uniform_real_distribution<float>(low, high)(engine_);
  }
  size_t size(size_t low, size_t high) {
    return std::uniform_int_distribution<size_t>(low, high)(engine_);
  }
  template <class T>
  T one_of(std::initializer_list<T> values) {
    return *(values.begin() + size(0, values.size() - 1));
  }
  Floats floats(size_t count, float low = -1, float high = 1) {
    Floats values(count);
    for (float& value : values) value = number(low, high);
    return values;
  }

 private:
  std::mt19937 engine_;
};

/// True if a result is within the error bound of the expected number; NaN only for NaN.
inline bool is_near(double expected, float found, double bound) {
  if (std::isnan(expected) || std::isnan(found)) return std::isnan(expected) && std::isnan(found);
  if (std::isinf(expected)) return double(found) == expected;
  return std::fabs(double(found) - expected) <= bound;
}

/// The nearest bfloat16, ties to even; NaN stays NaN, subnormal numbers become zero.
inline float rounded_to_bf16(float x) {
  if (std::isnan(x)) return x;
  uint32_t bits;
  std::memcpy(&bits, &x, sizeof(bits));
  if (std::fpclassify(x) == FP_SUBNORMAL) bits &= 0x80000000u;
  bits = (bits + 0x7fff + (bits >> 16 & 1)) & 0xffff0000u;
  std::memcpy(&x, &bits, sizeof(x));
  return x;
}
inline void round_to_bf16(Floats& values) {
  for (float& value : values) value = rounded_to_bf16(value);
}

inline bool same_bits(const Floats& a, const Floats& b) {
  return a.size() == b.size() &&
         (a.size() == 0 || std::memcmp(a.data(), b.data(), a.size() * sizeof(float)) == 0);
}

}  // namespace engine_test
