// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// Conversions between datatypes on loops of our own, for bfloat16 and for builds without XNNPACK:
//
//   integer = clamp(round(x / scale) + zero_point),  x = (integer - zero_point) * scale
//
// Rounding is to nearest, ties to even; NaN becomes the smallest integer.
#include <algorithm>
#include <cmath>
#include <limits>

#include <executorch/backends/xnnpack/runtime/operators/engine_operator.h>
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
    threads().run((total_ + kPerTask - 1) / kPerTask, [&](size_t task) {
      const size_t first = task * kPerTask;
      loop_(tensors().operands[0].data, from_, tensors().results[0].data, to_, first,
            std::min(total_, first + kPerTask));
    });
    return Error::Ok;
  }

 private:
  Scaling from_, to_;
  Loop loop_;
  size_t total_ = 0;
};

/// The parameters that map the range of a row, extended to include zero, to all integers.
template <typename From>
RowQuantization parameters_of(const From* row, size_t length) {
  float low = 0, high = 0;
  for (size_t i = 0; i < length; ++i) {
    const auto x = static_cast<float>(row[i]);
    low = x < low ? x : low;
    high = x > high ? x : high;
  }
  constexpr float kMin = -128, kMax = 127;
  const float scale = low == high ? 1.0f : (high - low) / 255;
  const float at_low = low / scale, at_high = high / scale;
  const float zero_point = (kMin + at_low) + (kMax + at_high) > 0 ? kMin - at_low : kMax - at_high;
  const float above = zero_point > kMin ? zero_point : kMin;
  return {static_cast<int32_t>(std::nearbyint(above < kMax ? above : kMax)), scale};
}

/// Quantizes each row with parameters computed from its values.
template <typename From>
class PlainQuantizeRows final : public EngineOperator {
 public:
  explicit PlainQuantizeRows(const OperatorContext& context)
      : EngineOperator("Convert (NC, QD8)", context) {}

  Error reshape(const Tensors& t) override {
    rows_ = row_count(*t.results[0].value, *t.operands[0].shape);
    length_ = static_cast<size_t>(elements(*t.operands[0].shape)) / rows_;
    return Error::Ok;
  }
  Error run() override {
    const auto* const from = static_cast<const From*>(tensors().operands[0].data);
    auto* const to = static_cast<int8_t*>(tensors().results[0].data);
    RowQuantization* const parameters = row_parameters(tensors().results[0]);
    const size_t per_task = std::max<size_t>(1, kPerTask / length_);
    threads().run((rows_ + per_task - 1) / per_task, [&](size_t task) {
      const size_t first = task * per_task;
      for (size_t row = first; row < std::min(rows_, first + per_task); ++row) {
        const From* const begin = from + row * length_;
        parameters[row] = parameters_of(begin, length_);
        const Scaling scaling(parameters[row].scale, parameters[row].zero_point);
        for (size_t i = 0; i < length_; ++i) {
          store(static_cast<float>(begin[i]), scaling, to + row * length_ + i);
        }
      }
    });
    return Error::Ok;
  }

 private:
  size_t rows_ = 0, length_ = 0;
};

}  // namespace

OperatorResult create_plain_convert(const Node& node, const OperatorContext& context) {
  const Value &x = context.graph.values[node.operand(0)], &y = context.graph.values[node.result()];
  if (y.datatype == Datatype::QDInt8 && x.datatype == Datatype::Float32) {
    return std::unique_ptr<Operator>(std::make_unique<PlainQuantizeRows<float>>(context));
  }
  if (y.datatype == Datatype::QDInt8 && x.datatype == Datatype::Float16) {
    return std::unique_ptr<Operator>(std::make_unique<PlainQuantizeRows<Half>>(context));
  }
  const Loop loop = loop_of(x.datatype, y.datatype);
  if (loop == nullptr) {
    return refuse_datatypes(node, context);
  }
  return std::unique_ptr<Operator>(std::make_unique<PlainConvert>(context, x, y, loop));
}

}  // namespace executorch::backends::xnnpack
