// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
#include <executorch/kernels/portable/loops/convert.h>

namespace executorch::kernels::portable {
namespace {

// A bool is read as a byte: a hostile file may hold other values than 0 and 1 in it.
template <class T>
using Stored = std::conditional_t<std::is_same_v<T, bool>, uint8_t, T>;

template <class To, class From>
To element(const char* from) {
  const auto value = *reinterpret_cast<const Stored<From>*>(from);
  if constexpr (std::is_same_v<From, bool>) {
    return cast<To>(int64_t(value != 0));
  } else {
    return cast<To>(value);
  }
}

template <class To, class From>
void convert(char* to, int64_t to_stride, const char* from, int64_t from_stride, int64_t n) {
  if (to_stride == int64_t(sizeof(To)) && from_stride == int64_t(sizeof(From))) {
    auto* const target = reinterpret_cast<To*>(to);
    for (int64_t i = 0; i < n; ++i) target[i] = element<To, From>(from + i * sizeof(From));
    return;
  }
  for (int64_t i = 0; i < n; ++i) {
    *reinterpret_cast<To*>(to + i * to_stride) = element<To, From>(from + i * from_stride);
  }
}

template <class C>
Convert load_as(ScalarType from) {
  Convert found = nullptr;
  visit(from, [&](auto tag) { found = convert<C, ET_TYPE_OF(tag)>; });
  return found;
}

template <class C>
Convert store_from(ScalarType to) {
  Convert found = nullptr;
  visit(to, [&](auto tag) { found = convert<ET_TYPE_OF(tag), C>; });
  return found;
}

}  // namespace

Convert load(ScalarType from, Compute to) {
  switch (to) {
    case Compute::Bool:
      return load_as<bool>(from);
    case Compute::Int64:
      return load_as<int64_t>(from);
    case Compute::Float:
      return load_as<float>(from);
    default:
      return load_as<double>(from);
  }
}

Convert store(Compute from, ScalarType to) {
  switch (from) {
    case Compute::Bool:
      return store_from<bool>(to);
    case Compute::Int64:
      return store_from<int64_t>(to);
    case Compute::Float:
      return store_from<float>(to);
    default:
      return store_from<double>(to);
  }
}

Convert move(int64_t bytes) {
  Convert found = nullptr;
  visit_width(bytes, [&](auto tag) {
    using T = ET_TYPE_OF(tag);
    found = convert<T, T>;
  });
  return found;
}

}  // namespace executorch::kernels::portable
