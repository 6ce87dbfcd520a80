// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
#include "replay/mutate.h"

#include <cstring>
#include <limits>
#include <utility>

#include <executorch/runtime/core/exec_aten/util/dtype_info.h>

namespace oracle {
namespace {

using executorch::aten::ScalarType;

constexpr size_t kMaxElements = 1 << 12;  // Limit of an enlarged tensor, to keep loops short.
constexpr size_t kMaxRank = 16;           // The runtime's limit.

constexpr int64_t kInts[] = {0,
                             1,
                             -1,
                             2,
                             -2,
                             3,
                             7,
                             -7,
                             16,
                             255,
                             INT32_MAX,
                             INT32_MIN,
                             INT64_MAX,
                             INT64_MIN,
                             1LL << 31,
                             1LL << 32,
                             (1LL << 32) + 1,
                             1LL << 62,
                             -(1LL << 62),
                             65537,
                             -65537,
                             INT64_MAX - 1};
constexpr double kDoubles[] = {0.0,
                               -0.0,
                               1.0,
                               -1.0,
                               0.5,
                               2.5,
                               1e-300,
                               1e300,
                               -1e300,
                               9.3e18,
                               std::numeric_limits<double>::infinity(),
                               -std::numeric_limits<double>::infinity(),
                               std::numeric_limits<double>::quiet_NaN()};
constexpr const char* kTexts[] = {"", "x", "sum", "none", "tanh", "floor", "mean", "a\n%s%n"};
constexpr ScalarType kDtypes[] = {
    ScalarType::Byte,   ScalarType::Char,     ScalarType::Short,        ScalarType::Int,
    ScalarType::Long,   ScalarType::Half,     ScalarType::Float,        ScalarType::Double,
    ScalarType::Bool,   ScalarType::BFloat16, ScalarType::ComplexFloat, ScalarType::ComplexDouble,
    ScalarType::UInt16, ScalarType::UInt32,   ScalarType::UInt64};

template <class T, size_t N>
T pick(const T (&from)[N], Random& random) {
  return from[random.below(N)];
}

/// One more or less, around the ends.
int64_t neighbor(int64_t value, Random& random) {
  return static_cast<int64_t>(static_cast<uint64_t>(value) +
                              (random.below(2) == 0 ? 1u : ~uint64_t{0}));
}

void put(double value, ScalarType dtype, uint8_t* at) {
  if (dtype == ScalarType::Float || dtype == ScalarType::ComplexFloat) {
    const float narrow = static_cast<float>(value);
    std::memcpy(at, &narrow, sizeof(narrow));
  } else {
    std::memcpy(at, &value, sizeof(value));
  }
}

/// Bytes for the tensor as it is now: old ones as far as they reach, then random ones.
void fit_data(Tensor& tensor, Random& random) {
  const size_t bytes =
      count_elements(tensor.sizes) * executorch::runtime::elementSize(tensor.dtype);
  std::vector<uint8_t> exact(bytes);
  for (size_t i = 0; i < bytes; ++i) {
    exact[i] = i < tensor.data.size() ? tensor.data[i] : static_cast<uint8_t>(random.next());
    if (tensor.dtype == ScalarType::Bool) exact[i] &= 1;  // A bool is 0 or 1.
  }
  tensor.data = std::move(exact);
}

void change_elements(Tensor& tensor, Random& random) {
  const size_t width = executorch::runtime::elementSize(tensor.dtype);
  if (tensor.data.empty() || tensor.dtype == ScalarType::Bool) return;
  for (size_t i = 1 + random.below(3); i > 0; --i) {
    uint8_t* at = &tensor.data[random.below(tensor.data.size() / width) * width];
    if (width >= 4 && executorch::runtime::isFloatingType(tensor.dtype)) {
      put(pick(kDoubles, random), tensor.dtype, at);
    } else {
      const int64_t value = pick(kInts, random);
      std::memcpy(at, &value, width < sizeof(value) ? width : sizeof(value));
    }
  }
}

void change_size(Tensor& tensor, Random& random) {
  if (tensor.sizes.empty()) return;
  constexpr int32_t kSizes[] = {0, 1, 2, 3, 5, 8, 17};
  int32_t& size = tensor.sizes[random.below(tensor.sizes.size())];
  const int32_t before = size;
  size = random.below(2) == 0 ? pick(kSizes, random)
                              : size + 1 - 2 * static_cast<int32_t>(random.below(2));
  if (size < 0 || count_elements(tensor.sizes) > kMaxElements) size = before;
}

void change_rank(Tensor& tensor, Random& random) {
  const size_t rank = tensor.sizes.size();
  if (rank < kMaxRank && (rank == 0 || random.below(2) == 0)) {
    tensor.sizes.insert(tensor.sizes.begin(), 1);
    for (uint8_t& d : tensor.dim_order) ++d;
    tensor.dim_order.insert(tensor.dim_order.begin(), 0);
  } else if (rank > 0) {
    tensor.sizes.pop_back();
    tensor.dim_order.clear();
    for (size_t d = 0; d + 1 < rank; ++d) tensor.dim_order.push_back(static_cast<uint8_t>(d));
  }
}

void change_tensor(Tensor& tensor, Random& random) {
  const size_t rank = tensor.sizes.size();
  switch (random.below(6)) {
    case 0:
      tensor.dtype = pick(kDtypes, random);
      break;
    case 1:
    case 2:
      change_size(tensor, random);
      break;
    case 3:
      change_rank(tensor, random);
      break;
    case 4:
      if (rank > 1)
        std::swap(tensor.dim_order[random.below(rank)], tensor.dim_order[random.below(rank)]);
      break;
    default:
      change_elements(tensor, random);
  }
  fit_data(tensor, random);
}

void change_value(Value& value, Random& random);

void change_list(Value& value, Random& random) {
  std::vector<Value>& items = value.items;
  const size_t how = random.below(4);
  if (items.empty()) {
    if (value.kind != kIntList) return;
    items.emplace_back();
    items[0].kind = kInt;
  } else if (how == 0) {
    items.pop_back();
  } else if (how == 1 && items.size() < kMaxRank + 2) {
    items.push_back(items[random.below(items.size())]);
  } else {
    change_value(items[random.below(items.size())], random);
  }
}

void change_value(Value& value, Random& random) {
  switch (value.kind) {
    case kInt:
      value.integer = random.below(3) == 0 ? neighbor(value.integer, random) : pick(kInts, random);
      break;
    case kBool:
      value.integer = value.integer == 0;
      break;
    case kDouble:
      value.real = pick(kDoubles, random);
      break;
    case kString:
      value.text = pick(kTexts, random);
      break;
    case kTensor:
      change_tensor(value.tensor, random);
      break;
    case kNone:
      value.kind = kInt;
      value.integer = pick(kInts, random);
      break;
    default:
      change_list(value, random);
  }
}

/// Sizes that become others in all tensors of a call, so that operands still fit each other.
struct NewSizes {
  int32_t emptied, enlarged, huge;

  int32_t operator()(int32_t size) const {
    return size == emptied ? 0 : size == enlarged ? huge : size;
  }
};

/// Strides are int32, as the verifier of programs demands.
bool strides_fit(const Tensor& tensor, const std::vector<int32_t>& sizes) {
  int64_t stride = 1;
  for (size_t i = sizes.size(); i-- > 0;) {
    if (stride > INT32_MAX) return false;
    stride *= sizes[tensor.dim_order[i]] > 1 ? sizes[tensor.dim_order[i]] : 1;
  }
  return true;
}

void replace_sizes(Value& value, const NewSizes& sizes) {
  for (Value& item : value.items) {
    if (item.kind == kInt && item.integer >= 0 && item.integer <= INT32_MAX) {
      item.integer = sizes(static_cast<int32_t>(item.integer));
    }
    replace_sizes(item, sizes);
  }
  if (value.kind != kTensor) return;
  Tensor& tensor = value.tensor;
  std::vector<int32_t> changed;
  for (const int32_t size : tensor.sizes) changed.push_back(sizes(size));
  if (count_elements(changed) == 0 && strides_fit(tensor, changed)) {
    tensor.sizes = std::move(changed);
    tensor.data.clear();
  }
}

void collect_sizes(const Value& value, std::vector<int32_t>* sizes) {
  for (const Value& item : value.items) collect_sizes(item, sizes);
  if (value.kind == kTensor) {
    sizes->insert(sizes->end(), value.tensor.sizes.begin(), value.tensor.sizes.end());
  }
}

}  // namespace

uint64_t Random::next() {
  uint64_t z = (state_ += 0x9e3779b97f4a7c15u);
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
  return z ^ (z >> 31);
}

void mutate(Call& call, Random& random) {
  if (call.values.empty()) return;
  for (size_t i = 1 + random.below(3); i > 0; --i) {
    Value& value = call.values[random.below(call.values.size())];
    // An absent value has no data either.
    if (random.below(16) == 0) {
      value = Value();
    } else {
      change_value(value, random);
    }
  }
}

void empty_tensors(Call& call, Random& random) {
  std::vector<int32_t> sizes;
  for (const Value& value : call.values) collect_sizes(value, &sizes);
  if (sizes.empty()) return;
  constexpr int32_t kHuge[] = {INT32_MAX, 1 << 30, 1 << 20};
  const NewSizes replaced{sizes[random.below(sizes.size())], sizes[random.below(sizes.size())],
                          pick(kHuge, random)};
  for (Value& value : call.values) replace_sizes(value, replaced);
}

}  // namespace oracle
