// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
#include <executorch/backends/xnnpack/runtime/payload/datatypes.h>

#include <algorithm>
#include <iterator>

namespace executorch::backends::xnnpack {

namespace fb = fb_xnnpack;
using fb::Datatype;

namespace {

/// Valid combinations of datatypes of a product with weights: operand, weights, result. XNNPACK
/// refuses others. It lacks bfloat16: the engine computes those products.
struct Product {
  Datatype operand, weights, result;
};
constexpr Product kConvolutions[] = {
    {Datatype::Float32, Datatype::Float32, Datatype::Float32},
    {Datatype::Float16, Datatype::Float32, Datatype::Float16},
    {Datatype::BFloat16, Datatype::BFloat16, Datatype::BFloat16},
    {Datatype::BFloat16, Datatype::Float32, Datatype::BFloat16},
    {Datatype::QInt8, Datatype::QInt8, Datatype::QInt8},
    {Datatype::QInt8, Datatype::QCInt8, Datatype::QInt8},
    {Datatype::QUInt8, Datatype::QUInt8, Datatype::QUInt8},
    {Datatype::QDInt8, Datatype::QCInt8, Datatype::Float32},
};
constexpr Product kMatrixProducts[] = {
    {Datatype::Float32, Datatype::Float32, Datatype::Float32},
    {Datatype::Float16, Datatype::Float16, Datatype::Float16},
    {Datatype::BFloat16, Datatype::BFloat16, Datatype::BFloat16},
    {Datatype::BFloat16, Datatype::Float32, Datatype::BFloat16},
    {Datatype::Float16, Datatype::Float32, Datatype::Float16},
    {Datatype::QInt8, Datatype::QInt8, Datatype::QInt8},
    {Datatype::QInt8, Datatype::QCInt8, Datatype::QInt8},
    {Datatype::QUInt8, Datatype::QUInt8, Datatype::QUInt8},
    {Datatype::QDInt8, Datatype::QCInt8, Datatype::Float32},
    {Datatype::QDInt8, Datatype::QCInt4, Datatype::Float32},
    {Datatype::QDInt8, Datatype::QBInt4, Datatype::Float32},
    {Datatype::QDInt8, Datatype::QCInt8, Datatype::Float16},
    {Datatype::QDInt8, Datatype::QCInt4, Datatype::Float16},
    {Datatype::QDInt8, Datatype::QBInt4, Datatype::Float16},
    {Datatype::Float32, Datatype::QCInt4, Datatype::Float32},
    {Datatype::Float32, Datatype::QCInt8, Datatype::Float32},
};

template <size_t kSize>
bool contains(const Product (&products)[kSize], Datatype operand, Datatype weights,
              Datatype result) {
  return std::any_of(std::begin(products), std::end(products), [&](const Product& product) {
    return product.operand == operand && product.weights == weights && product.result == result;
  });
}

}  // namespace

uint8_t bits_of(Datatype datatype) {
  switch (datatype) {
    case Datatype::Float32:
    case Datatype::QInt32:
    case Datatype::QCInt32:
    case Datatype::Int32:
    case Datatype::PFloat32:
      return 32;
    case Datatype::Float16:
    case Datatype::BFloat16:
      return 16;
    case Datatype::QInt8:
    case Datatype::QUInt8:
    case Datatype::QCInt8:
    case Datatype::QDInt8:
    case Datatype::QPInt8:
    case Datatype::Bool:
      return 8;
    case Datatype::QCInt4:
    case Datatype::QBInt4:
      return 4;
    default:
      return 0;
  }
}

fb::XNNQuantParams parameters_of(Datatype datatype) {
  switch (datatype) {
    case Datatype::QInt8:
    case Datatype::QUInt8:
    case Datatype::QInt32:
      return fb::XNNQuantParams::PerTensorQuant;
    case Datatype::QCInt8:
    case Datatype::QCInt4:
    case Datatype::QCInt32:
      return fb::XNNQuantParams::PerChannelQuant;
    case Datatype::QDInt8:
      return fb::XNNQuantParams::PerTokenDynamicQuant;
    case Datatype::QBInt4:
      return fb::XNNQuantParams::PerChannelGroupQuant;
    default:
      return fb::XNNQuantParams::NONE;
  }
}

bool is_float(Datatype datatype) {
  return datatype == Datatype::Float32 || datatype == Datatype::Float16 ||
         datatype == Datatype::BFloat16;
}

bool is_byte(Datatype datatype) {
  return datatype == Datatype::QInt8 || datatype == Datatype::QUInt8;
}

bool can_be_limited(Datatype datatype) { return is_float(datatype) || is_byte(datatype); }

bool can_be_bias(Datatype operand, Datatype bias) {
  switch (bias) {
    case Datatype::QInt32:
    case Datatype::QCInt32:
    case Datatype::Int32:
      return is_byte(operand);
    case Datatype::Float32:
    case Datatype::Float16:
    case Datatype::BFloat16:
      return !is_byte(operand);
    default:
      return false;
  }
}

bool is_convolution(Datatype operand, Datatype weights, Datatype result) {
  return contains(kConvolutions, operand, weights, result);
}

bool is_matrix_product(Datatype operand, Datatype weights, Datatype result) {
  return contains(kMatrixProducts, operand, weights, result);
}

}  // namespace executorch::backends::xnnpack
