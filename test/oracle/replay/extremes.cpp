// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
#include "replay/extremes.h"

#include <cstring>
#include <limits>
#include <utility>

#include <executorch/runtime/core/exec_aten/util/dtype_info.h>

namespace oracle {
namespace {

using executorch::aten::ScalarType;

constexpr int64_t kInts[] = {INT64_MIN,
                             INT64_MIN + 1,
                             -(1LL << 62),
                             -(1LL << 32),
                             INT32_MIN - 1LL,
                             INT32_MIN,
                             -65537,
                             -17,
                             -2,
                             -1,
                             0,
                             1,
                             2,
                             3,
                             255,
                             65536,
                             INT32_MAX - 1,
                             INT32_MAX,
                             1LL << 31,
                             (1LL << 32) - 1,
                             1LL << 32,
                             (1LL << 32) + 1,
                             1LL << 40,
                             1LL << 61,
                             1LL << 62,
                             INT64_MAX - 1,
                             INT64_MAX};
constexpr int64_t kPairs[] = {INT64_MIN, INT32_MIN,       -1,        0,        2,
                              INT32_MAX, (1LL << 32) + 1, 1LL << 62, INT64_MAX};
constexpr double kReals[] = {std::numeric_limits<double>::quiet_NaN(),
                             std::numeric_limits<double>::infinity(),
                             -std::numeric_limits<double>::infinity(),
                             1e300,
                             -1e300,
                             9.3e18,
                             -9.3e18,
                             4.3e9,
                             -4.3e9,
                             300.5,
                             -300.5,
                             1e-300,
                             5e-324,
                             0,
                             -0.0,
                             -1,
                             0.5};
constexpr ScalarType kDtypes[] = {
    ScalarType::Byte,   ScalarType::Char,     ScalarType::Short,        ScalarType::Int,
    ScalarType::Long,   ScalarType::Half,     ScalarType::Float,        ScalarType::Double,
    ScalarType::Bool,   ScalarType::BFloat16, ScalarType::ComplexFloat, ScalarType::ComplexDouble,
    ScalarType::UInt16, ScalarType::UInt32,   ScalarType::UInt64};

void collect(std::vector<Value>& values, OracleKind kind, std::vector<Value*>* found) {
  for (Value& value : values) {
    if (value.kind == kind) found->push_back(&value);
    collect(value.items, kind, found);
  }
}

std::vector<Value*> values_of(Call& call, OracleKind kind) {
  std::vector<Value*> found;
  collect(call.values, kind, &found);
  return found;
}

void fill(Tensor& tensor, int64_t integer, double real) {
  const size_t width = executorch::runtime::elementSize(tensor.dtype);
  const bool is_complex = executorch::runtime::isComplexType(tensor.dtype);
  const size_t step = is_complex ? width / 2 : width;
  const float narrow = static_cast<float>(real);
  for (size_t at = 0; at + step <= tensor.data.size(); at += step) {
    uint8_t* to = &tensor.data[at];
    switch (tensor.dtype) {
      case ScalarType::Double:
      case ScalarType::ComplexDouble:
        std::memcpy(to, &real, step);
        break;
      case ScalarType::Float:
      case ScalarType::ComplexFloat:
        std::memcpy(to, &narrow, step);
        break;
      case ScalarType::Half: {
        const executorch::aten::Half half(narrow);
        std::memcpy(to, &half, step);
        break;
      }
      case ScalarType::BFloat16: {
        const executorch::aten::BFloat16 half(narrow);
        std::memcpy(to, &half, step);
        break;
      }
      case ScalarType::Bool:
        *to = integer != 0;
        break;
      default:
        std::memcpy(to, &integer, step);
    }
  }
}

void retype(Tensor& tensor, ScalarType dtype) {
  tensor.dtype = dtype;
  tensor.data.assign(count_elements(tensor.sizes) * executorch::runtime::elementSize(dtype), 0);
  fill(tensor, 1, 1);
}

constexpr double kFills[] = {std::numeric_limits<double>::quiet_NaN(),
                             std::numeric_limits<double>::infinity(),
                             -std::numeric_limits<double>::infinity(),
                             1e30,
                             -1e30,
                             300.5,
                             -300.5};

}  // namespace

void each_extreme(const Call& call, const std::function<void(Call)>& run) {
  const auto changed = [&](auto change) {
    Call copy = call;
    change(copy);
    run(std::move(copy));
  };
  Call original = call;
  const size_t ints = values_of(original, kInt).size();
  const size_t reals = values_of(original, kDouble).size();
  const size_t tensors = values_of(original, kTensor).size();
  for (size_t i = 0; i < ints; ++i) {
    for (const int64_t number : kInts) {
      changed([&](Call& copy) { values_of(copy, kInt)[i]->integer = number; });
    }
    for (const double number : kReals) {
      changed([&](Call& copy) {
        Value& value = *values_of(copy, kInt)[i];
        value.kind = kDouble;
        value.real = number;
      });
    }
    for (size_t j = i + 1; j < ints && j < i + 8; ++j) {
      for (const int64_t first : kPairs) {
        for (const int64_t second : kPairs) {
          changed([&](Call& copy) {
            const std::vector<Value*> values = values_of(copy, kInt);
            values[i]->integer = first;
            values[j]->integer = second;
          });
        }
      }
    }
  }
  for (size_t i = 0; i < call.values.size(); ++i) {
    for (const int64_t number : kInts) {
      if (call.values[i].kind != kIntList) break;
      changed([&](Call& copy) {
        for (Value& item : copy.values[i].items) item.integer = number;
      });
    }
    changed([&](Call& copy) { copy.values[i] = Value(); });
  }
  for (size_t i = 0; i < reals; ++i) {
    for (const double number : kReals) {
      changed([&](Call& copy) { values_of(copy, kDouble)[i]->real = number; });
      for (size_t j = i + 1; j < reals; ++j) {
        for (const double second : kReals) {
          changed([&](Call& copy) {
            values_of(copy, kDouble)[i]->real = number;
            values_of(copy, kDouble)[j]->real = second;
          });
        }
      }
    }
    for (const int64_t number : kInts) {
      changed([&](Call& copy) {
        Value& value = *values_of(copy, kDouble)[i];
        value.kind = kInt;
        value.integer = number;
      });
    }
  }
  for (size_t i = 0; i < tensors; ++i) {
    for (const int64_t number : kInts) {
      changed([&](Call& copy) {
        fill(values_of(copy, kTensor)[i]->tensor, number, static_cast<double>(number));
      });
    }
    for (const ScalarType dtype : kDtypes) {
      changed([&](Call& copy) { retype(values_of(copy, kTensor)[i]->tensor, dtype); });
      // Other results of operands that they cannot hold, of numbers or of tensors.
      for (const double number : kFills) {
        changed([&](Call& copy) {
          const std::vector<Value*> all = values_of(copy, kTensor);
          for (Value* value : all) fill(value->tensor, 1, number);
          retype(all[i]->tensor, dtype);
          fill(all[i]->tensor, 1, number);
        });
        for (size_t j = 0; j < reals; ++j) {
          changed([&](Call& copy) {
            values_of(copy, kDouble)[j]->real = number;
            retype(values_of(copy, kTensor)[i]->tensor, dtype);
          });
        }
      }
    }
  }
}

}  // namespace oracle
