// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
#include <algorithm>
#include <utility>

#include <backends/xnnpack/hostile/hostile_payloads.h>
#include <executorch/backends/xnnpack/runtime/payload/datatypes.h>

namespace executorch::backends::xnnpack {

using fb_xnnpack::Datatype;
using testing::Dynamism;
using testing::Sizes;
using testing::Type;

Type dtype_of(Datatype datatype) {
  switch (datatype) {
    case Datatype::Float16:
      return Type::HALF;
    case Datatype::BFloat16:
      return Type::BFLOAT16;
    case Datatype::QInt8:
      return Type::CHAR;
    case Datatype::QUInt8:
      return Type::BYTE;
    case Datatype::QInt32:
    case Datatype::Int32:
      return Type::INT;
    case Datatype::Bool:
      return Type::BOOL;
    default:
      return Type::FLOAT;
  }
}

TestValue quantized(TestValue value, float scale) {
  value.datatype = Datatype::QInt8;
  value.quantization = Quantization::Tensor;
  value.scale = scale;
  value.zero_point = 1;
  return value;
}

uint32_t hostile_constant(TestPayload& p, std::vector<uint32_t> dims, Datatype datatype) {
  uint64_t bits = bits_of(datatype);
  for (const uint32_t dim : dims) bits *= dim;
  const uint64_t bytes = (bits + 7) / 8;
  p.constants.push_back({p.constant_bytes, bytes, ""});
  p.constant_bytes += (bytes + 15) / 16 * 16;
  p.values.push_back(
      with(constant(static_cast<uint32_t>(p.constants.size() - 1), std::move(dims)), datatype));
  return static_cast<uint32_t>(p.values.size() - 1);
}

std::vector<HostilePayload> joined(const std::vector<std::vector<HostilePayload>>& lists) {
  std::vector<HostilePayload> rows;
  for (const auto& list : lists) rows.insert(rows.end(), list.begin(), list.end());
  return rows;
}

int32_t add_delegate(MethodWriter& w, const TestPayload& payload) {
  const std::vector<uint8_t> bytes = payload.bytes();
  w.program().inline_data.emplace_back(bytes.begin(), bytes.end());
  testing::TestDelegate delegate{"XnnpackBackend"};
  delegate.index = static_cast<uint32_t>(w.program().inline_data.size() - 1);
  w.plan().delegates.push_back(delegate);
  return static_cast<int32_t>(w.plan().delegates.size() - 1);
}

std::vector<int32_t> add_arguments(MethodWriter& w, const TestPayload& payload, Dynamism dynamism) {
  std::vector<int32_t> ids;
  for (const uint32_t flag : {kInputFlag, kOutputFlag}) {
    for (const TestValue& value : payload.values) {
      if (value.external != kNoId && value.flags == flag) {
        Sizes sizes;
        for (const uint32_t dim : value.dims) {
          sizes.push_back(static_cast<int32_t>(std::min(dim, 64u)));
        }
        const int32_t tensor = w.planned(dtype_of(value.datatype), sizes, dynamism);
        ids.push_back(flag == kInputFlag ? w.input(tensor) : w.output(tensor));
      }
    }
  }
  return ids;
}

TestProgram program_of(const TestPayload& payload) {
  MethodWriter w;
  const int32_t delegate = add_delegate(w, payload);
  w.run(testing::delegate(delegate, add_arguments(w, payload, Dynamism::DYNAMIC_BOUND)));
  return w.finish();
}

HostilePayload row(std::string name, const TestPayload& payload, std::string refused) {
  return {std::move(name), [payload] { return program_of(payload); }, std::move(refused)};
}

}  // namespace executorch::backends::xnnpack
