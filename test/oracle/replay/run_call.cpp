// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
#include "replay/run_call.h"

#include <cmath>
#include <cstdlib>
#include <cstring>
#include <deque>

#include <executorch/runtime/core/exec_aten/util/dtype_info.h>

namespace oracle {
namespace {

namespace aten = executorch::aten;
using aten::ScalarType;
using executorch::runtime::Error;

constexpr size_t kTempBytes = 64 << 20;

/// Gives every piece an allocation of its own, so that a sanitizer sees what reaches beyond it.
class SeparateAllocator : public executorch::runtime::MemoryAllocator {
 public:
  SeparateAllocator() : MemoryAllocator(0, nullptr) {}
  ~SeparateAllocator() override {
    for (void* piece : pieces_) std::free(piece);
  }
  void* allocate(size_t size, size_t alignment = kDefaultAlignment) override {
    if (size > kTempBytes - used_) return nullptr;
    used_ += size;
    void* block = nullptr;
    if (posix_memalign(&block, alignment < sizeof(void*) ? sizeof(void*) : alignment, size) != 0) {
      return nullptr;
    }
    pieces_.push_back(block);
    return block;
  }

 private:
  std::vector<void*> pieces_;
  size_t used_ = 0;
};

/// The plain structures of values; they point into the values.
class Structures {
 public:
  OracleValue make(Value& from) {
    OracleValue oracle_value{from.kind, from.integer, from.real, nullptr, nullptr, nullptr};
    if (from.kind == kString) {
      auto& exact = texts_.emplace_back(from.text.begin(), from.text.end());
      oracle_value.text = exact.data();
      oracle_value.integer = static_cast<int64_t>(exact.size());
    } else if (from.kind == kTensor) {
      oracle_value.tensor = tensor(from.tensor);
    } else if (from.kind >= kIntList) {
      std::vector<OracleValue> items;
      for (Value& item : from.items) items.push_back(make(item));
      oracle_value.integer = static_cast<int64_t>(items.size());
      oracle_value.items = lists_.emplace_back(std::move(items)).data();
    }
    return oracle_value;
  }

 private:
  OracleTensor* tensor(Tensor& from) {
    auto& strides = strides_.emplace_back(from.sizes.size());
    int64_t step = 1;  // after the outermost dimension, it may not fit a stride
    for (size_t i = from.sizes.size(); i-- > 0;) {
      strides[from.dim_order[i]] = static_cast<int32_t>(step);
      step *= from.sizes[from.dim_order[i]] > 1 ? from.sizes[from.dim_order[i]] : 1;
    }
    return &tensors_.emplace_back(
        OracleTensor{from.data.data(), from.sizes.data(), strides.data(), from.dim_order.data(),
                     static_cast<int32_t>(from.dtype), static_cast<int32_t>(from.sizes.size()),
                     from.resizable ? 1 : 0});
  }
  std::deque<std::vector<char>> texts_;
  std::deque<std::vector<OracleValue>> lists_;
  std::deque<std::vector<int32_t>> strides_;
  std::deque<OracleTensor> tensors_;
};

template <class T>
double loaded(const uint8_t* data, size_t i) {
  T value;
  std::memcpy(&value, data + i * sizeof(T), sizeof(T));
  return static_cast<double>(value);
}

/// The i-th number; a complex element is two.
double number_at(ScalarType dtype, const uint8_t* data, size_t i) {
  switch (dtype) {
    case ScalarType::Half:
      return static_cast<double>(static_cast<float>(reinterpret_cast<const aten::Half*>(data)[i]));
    case ScalarType::BFloat16:
      return static_cast<double>(
          static_cast<float>(reinterpret_cast<const aten::BFloat16*>(data)[i]));
    case ScalarType::Float:
    case ScalarType::ComplexFloat:
      return loaded<float>(data, i);
    case ScalarType::Double:
    case ScalarType::ComplexDouble:
      return loaded<double>(data, i);
    case ScalarType::Char:
      return loaded<int8_t>(data, i);
    case ScalarType::Short:
      return loaded<int16_t>(data, i);
    case ScalarType::Int:
      return loaded<int32_t>(data, i);
    case ScalarType::Long:
      return loaded<int64_t>(data, i);
    case ScalarType::UInt16:
      return loaded<uint16_t>(data, i);
    case ScalarType::UInt32:
      return loaded<uint32_t>(data, i);
    case ScalarType::UInt64:
      return loaded<uint64_t>(data, i);
    default:
      return loaded<uint8_t>(data, i);
  }
}

bool close(double found, double expected, double rtol, double atol) {
  if (std::isnan(expected)) return std::isnan(found);
  if (std::isinf(expected) || std::isinf(found)) return found == expected;
  return std::fabs(found - expected) <= atol + rtol * std::fabs(expected);
}

std::string compare(const Tensor& found, const Tensor& expected, const Expected& how) {
  if (found.dtype != expected.dtype) return "another dtype than expected";
  if (found.sizes != expected.sizes) return "other sizes than expected";
  if (how.sizes_only) return "";
  const size_t bytes = expected.data.size();
  if (bytes == 0 || std::memcmp(found.data.data(), expected.data.data(), bytes) == 0) return "";
  const bool exact = how.rtol == 0 && how.atol == 0;
  const bool is_complex = executorch::runtime::isComplexType(expected.dtype);
  const size_t count = count_elements(expected.sizes) * (is_complex ? 2 : 1);
  const size_t width = bytes / count;
  for (size_t i = 0; i < count; ++i) {
    if (std::memcmp(&found.data[i * width], &expected.data[i * width], width) == 0) continue;
    const double got = number_at(expected.dtype, found.data.data(), i);
    const double wanted = number_at(expected.dtype, expected.data.data(), i);
    if (exact || !close(got, wanted, how.rtol, how.atol)) {
      return "number " + std::to_string(i) + " of " + std::to_string(count) + " is " +
             std::to_string(got) + ", expected " + std::to_string(wanted);
    }
  }
  return "";
}

std::string compare(const Value& found, const Value& expected, const Expected& how) {
  if (expected.kind == kTensor) return compare(found.tensor, expected.tensor, how);
  if (found.items.size() != expected.items.size()) return "another count of tensors than expected";
  for (size_t i = 0; i < expected.items.size(); ++i) {
    const std::string fault = compare(found.items[i].tensor, expected.items[i].tensor, how);
    if (!fault.empty()) return "tensor " + std::to_string(i) + ": " + fault;
  }
  return "";
}

}  // namespace

Outcome run_call(Call& call) {
  Structures structures;
  std::vector<OracleValue> values;
  for (Value& value : call.values) values.push_back(structures.make(value));
  SeparateAllocator temp;
  Outcome outcome{{Error::Ok, false}, {}};
  outcome.run = run_kernel(call.name.c_str(), values.data(), static_cast<int64_t>(values.size()),
                           temp, outcome.messages);
  return outcome;
}

std::string judge(const Call& after, const Outcome& outcome) {
  const bool failed = outcome.run.error != Error::Ok;
  if (failed && outcome.messages.empty()) return "failed without a message";
  if (after.refused) return failed ? "" : "accepted what eager refuses";
  if (failed) return "failed: " + outcome.messages;
  for (const Expected& expected : after.expected) {
    const std::string fault = compare(after.values[expected.position], expected.value, expected);
    if (!fault.empty()) return "argument " + std::to_string(expected.position) + ": " + fault;
  }
  return "";
}

}  // namespace oracle
