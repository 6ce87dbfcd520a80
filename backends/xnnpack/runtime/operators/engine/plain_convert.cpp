// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// Conversions between datatypes without XNNPACK. The engine quantizes rows of float32 at run time;
// plain loops convert bfloat16 and, in builds without XNNPACK, the other datatypes:
//
//   integer = clamp(round(x / scale) + zero_point),  x = (integer - zero_point) * scale
//
// Rounding is to nearest, ties to even; NaN becomes the smallest integer.
#include <algorithm>
#include <cmath>
#include <limits>

#include <executorch/backends/xnnpack/runtime/operators/engine/engine_operator.h>
#include <executorch/backends/xnnpack/runtime/operators/families.h>
#include <executorch/backends/xnnpack/runtime/payload/shapes.h>
#include <executorch/runtime/core/exec_aten/exec_aten.h>

namespace executorch::backends::xnnpack {
namespace {

using executorch::aten::BFloat16;
using executorch::aten::Half;
using runtime::Error;

// Minimum number of elements for each thread.
constexpr size_t kPerTask = size_t{1} << 14;

/// Quantization parameters of elements; unused for floats.
struct Scaling {
  float scale = 1, inverse = 1;
  int32_t zero_point = 0;

  explicit Scaling(const Value& value)
      : scale(value.scale), inverse(1 / value.scale), zero_point(value.zero_point) {}
  Scaling(float scale_, int32_t zero_point_)
      : scale(scale_), inverse(1 / scale_), zero_point(zero_point_) {}
};

inline float load(float x, const Scaling&) { return x; }
inline float load(Half x, const Scaling&) { return static_cast<float>(x); }
inline float load(BFloat16 x, const Scaling&) { return static_cast<float>(x); }
template <typename T>
float load(T x, const Scaling& from) {
  return static_cast<float>(static_cast<int32_t>(x) - from.zero_point) * from.scale;
}

inline void store(float x, const Scaling&, float* to) { *to = x; }
inline void store(float x, const Scaling&, Half* to) { *to = Half(x); }
inline void store(float x, const Scaling&, BFloat16* to) { *to = BFloat16(x); }
template <typename T>
void store(float x, const Scaling& scaling, T* to) {
  constexpr auto kMin = static_cast<float>(std::numeric_limits<T>::min());
  constexpr auto kMax = static_cast<float>(std::numeric_limits<T>::max());
  const float scaled = std::nearbyint(x * scaling.inverse) + static_cast<float>(scaling.zero_point);
  const float above = scaled > kMin ? scaled : kMin;
  *to = static_cast<T>(above < kMax ? above : kMax);
}

using Loop = void (*)(const void* from, const Scaling&, void* to, const Scaling&, size_t first,
                      size_t last);

template <typename From, typename To>
void convert(const void* from, const Scaling& of, void* to, const Scaling& in, size_t first,
             size_t last) {
  const auto* const source = static_cast<const From*>(from);
  auto* const target = static_cast<To*>(to);
  for (size_t i = first; i < last; ++i) {
    store(load(source[i], of), in, target + i);
  }
}

template <typename From>
Loop loop_to(Datatype to) {
  switch (to) {
    case Datatype::Float32:
      return convert<From, float>;
    case Datatype::Float16:
      return convert<From, Half>;
    case Datatype::BFloat16:
      return convert<From, BFloat16>;
    case Datatype::QInt8:
      return convert<From, int8_t>;
    case Datatype::QUInt8:
      return convert<From, uint8_t>;
    default:
      return nullptr;
  }
}

Loop loop_of(Datatype from, Datatype to) {
  switch (from) {
    case Datatype::Float32:
      return loop_to<float>(to);
    case Datatype::Float16:
      return loop_to<Half>(to);
    case Datatype::BFloat16:
      return loop_to<BFloat16>(to);
    case Datatype::QInt8:
      return loop_to<int8_t>(to);
    case Datatype::QUInt8:
      return loop_to<uint8_t>(to);
    default:
      return nullptr;
  }
}

class PlainConvert final : public EngineOperator {
 public:
  PlainConvert(const OperatorContext& context, const Value& from, const Value& to, Loop loop)
      : EngineOperator("Convert (NC)", context), from_(from), to_(to), loop_(loop) {}

  Error reshape(const Tensors& t) override {
    total_ = static_cast<size_t>(elements(*t.operands[0].shape));
    return Error::Ok;
  }
  Error run() override {
    threads().in_parts(total_, kPerTask, [&](size_t first, size_t size) {
      loop_(tensors().operands[0].data, from_, tensors().results[0].data, to_, first, first + size);
    });
    return Error::Ok;
  }

 private:
  Scaling from_, to_;
  Loop loop_;
  size_t total_ = 0;
};

/// Quantizes each row with parameters computed from its values. Converts float16 to float32 first.
class QuantizeRows final : public EngineOperator {
 public:
  QuantizeRows(const OperatorContext& context, bool is_half)
      : EngineOperator(is_half ? "Convert (NC, F16, QD8)" : "Convert (NC, F32, QD8)", context),
        is_half_(is_half) {}

  Error reshape(const Tensors& t) override {
    call_.rows = row_count(*t.results[0].value, *t.operands[0].shape);
    call_.length = static_cast<size_t>(elements(*t.operands[0].shape)) / call_.rows;
    set_scratch(is_half_ ? call_.rows * call_.length * sizeof(float) : 0);
    return Error::Ok;
  }
  Error run() override {
    const void* const data = tensors().operands[0].data;
    call_.in =
        is_half_ ? extended(static_cast<const Half*>(data)) : static_cast<const float*>(data);
    call_.out = static_cast<int8_t*>(tensors().results[0].data);
    call_.parameters = row_parameters(tensors().results[0]);
    engine::quantize_rows(call_, threads());
    RowQuantization* const end = call_.parameters + call_.rows;
    std::fill(end, end + kExtraRowParameters, end[-1]);
    return Error::Ok;
  }

 private:
  const float* extended(const Half* from) {
    auto* const to = reinterpret_cast<float*>(scratch());
    std::copy(from, from + call_.rows * call_.length, to);
    return to;
  }

  bool is_half_;
  engine::QuantizeRowsCall call_;
};

}  // namespace

OperatorResult create_plain_convert(const Node& node, const OperatorContext& context) {
  const Value &x = context.graph.values[node.operand(0)], &y = context.graph.values[node.result()];
  const bool is_half = x.datatype == Datatype::Float16;
  if (y.datatype == Datatype::QDInt8 && (is_half || x.datatype == Datatype::Float32)) {
    return std::unique_ptr<Operator>(std::make_unique<QuantizeRows>(context, is_half));
  }
  const Loop loop = loop_of(x.datatype, y.datatype);
  if (loop == nullptr) {
    return refuse_datatypes(node, context);
  }
  return std::unique_ptr<Operator>(std::make_unique<PlainConvert>(context, x, y, loop));
}

}  // namespace executorch::backends::xnnpack
