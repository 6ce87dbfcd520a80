// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
#include "replay/recorded_call.h"

#include <cinttypes>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <type_traits>

#include <executorch/runtime/core/exec_aten/util/dtype_info.h>

namespace oracle {
namespace {

constexpr char kMagic[] = "ETCALLS1";
constexpr uint8_t kUnwritten = 77;  // No kernel writes it by chance.

class Reader {
 public:
  explicit Reader(const char* path) : path_(path) {
    std::FILE* file = std::fopen(path, "rb");
    if (file == nullptr) fail("cannot be opened");
    char block[1 << 16];
    for (size_t got; (got = std::fread(block, 1, sizeof(block), file)) > 0;) {
      bytes_.append(block, got);
    }
    std::fclose(file);
  }
  [[noreturn]] void fail(const char* why) const {
    std::fprintf(stderr, "%s: %s at byte %zu\n", path_, why, at_);
    std::exit(2);
  }
  bool at_end() const { return at_ == bytes_.size(); }
  const char* take(size_t count) {
    if (count > bytes_.size() - at_) fail("the file ends within a call");
    at_ += count;
    return bytes_.data() + at_ - count;
  }
  template <class T>
  T number() {
    static_assert(std::is_trivially_copyable_v<T>);
    T item;
    std::memcpy(&item, take(sizeof(T)), sizeof(T));
    return item;
  }
  std::string text() {
    const size_t length = number<uint32_t>();
    return std::string(take(length), length);
  }

 private:
  const char* path_;
  std::string bytes_;
  size_t at_ = 0;
};

Tensor read_tensor(Reader& in) {
  Tensor tensor;
  tensor.dtype = static_cast<executorch::aten::ScalarType>(in.number<uint8_t>());
  const size_t rank = in.number<uint8_t>();
  for (size_t d = 0; d < rank; ++d) tensor.sizes.push_back(in.number<int32_t>());
  for (size_t d = 0; d < rank; ++d) tensor.dim_order.push_back(in.number<uint8_t>());
  tensor.resizable = in.number<uint8_t>() != 0;
  const size_t bytes =
      count_elements(tensor.sizes) * executorch::runtime::elementSize(tensor.dtype);
  if (tensor.resizable) {
    const bool is_bool = tensor.dtype == executorch::aten::ScalarType::Bool;
    tensor.data.assign(bytes, is_bool ? 1 : kUnwritten);
  } else {
    const char* data = in.take(bytes);
    tensor.data.assign(data, data + bytes);
  }
  return tensor;
}

Value read_value(Reader& in) {
  Value value;
  value.kind = static_cast<OracleKind>(in.number<uint8_t>());
  switch (value.kind) {
    case kNone:
      break;
    case kInt:
    case kBool:
      value.integer = in.number<int64_t>();
      break;
    case kDouble:
      value.real = in.number<double>();
      break;
    case kString:
      value.text = in.text();
      break;
    case kTensor:
      value.tensor = read_tensor(in);
      break;
    default: {
      const size_t count = in.number<uint32_t>();
      for (size_t i = 0; i < count; ++i) value.items.push_back(read_value(in));
    }
  }
  return value;
}

Call read_call(Reader& in) {
  Call call;
  call.name = in.text();
  call.refused = in.number<uint8_t>() != 0;
  call.outputs = in.number<uint8_t>();
  const size_t count = in.number<uint8_t>();
  for (size_t i = 0; i < count; ++i) call.values.push_back(read_value(in));
  const size_t expectations = in.number<uint8_t>();
  for (size_t i = 0; i < expectations; ++i) {
    const size_t position = in.number<uint8_t>();
    const double rtol = in.number<double>();
    const double atol = in.number<double>();
    const bool sizes_only = in.number<uint8_t>() != 0;
    if (position >= count) in.fail("an expectation of no argument");
    call.expected.push_back({position, read_value(in), rtol, atol, sizes_only});
  }
  return call;
}

std::string describe(const Value& value) {
  switch (value.kind) {
    case kNone:
      return "None";
    case kInt:
    case kBool:
      return std::to_string(value.integer);
    case kDouble:
      return std::to_string(value.real);
    case kString:
      return "'" + value.text + "'";
    case kTensor: {
      std::string sizes;
      std::string order;
      for (size_t d = 0; d < value.tensor.sizes.size(); ++d) {
        sizes += (d == 0 ? "" : ", ") + std::to_string(value.tensor.sizes[d]);
        if (value.tensor.dim_order[d] != d) order = " permuted";
      }
      return executorch::runtime::toString(value.tensor.dtype) + ("[" + sizes + "]") + order;
    }
    default: {
      std::string items;
      for (const Value& item : value.items) items += (items.empty() ? "" : ", ") + describe(item);
      return "[" + items + "]";
    }
  }
}

}  // namespace

size_t count_elements(const std::vector<int32_t>& sizes) {
  size_t count = 1;
  for (const int32_t size : sizes) count *= static_cast<size_t>(size);
  return count;
}

std::string describe(const Call& call) {
  std::string arguments;
  for (size_t i = 0; i < call.values.size(); ++i) {
    if (i > 0) arguments += ", ";
    if (i + call.outputs == call.values.size()) arguments += "-> ";
    arguments += describe(call.values[i]);
  }
  return call.name + "(" + arguments + ")";
}

std::vector<Call> read_calls(const char* path) {
  Reader in(path);
  const size_t length = sizeof(kMagic) - 1;
  if (std::memcmp(in.take(length), kMagic, length) != 0) in.fail("no file of recorded calls");
  std::vector<Call> calls;
  while (!in.at_end()) calls.push_back(read_call(in));
  return calls;
}

}  // namespace oracle
