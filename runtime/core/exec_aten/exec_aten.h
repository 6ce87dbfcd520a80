// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// executorch::aten: the tensor types of the build. They are the portable ones (ETensor), or, with
// USE_ATEN_LIB, ATen's own; kernels and executor are one source for both.
#pragma once

#include <stddef.h>
#include <stdint.h>

#include <optional>
#include <string_view>

#include <executorch/runtime/core/array_ref.h>
#include <executorch/runtime/core/tensor_shape_dynamism.h>
#include <executorch/runtime/platform/compiler.h>

#ifdef USE_ATEN_LIB
#include <ATen/Tensor.h>
#include <c10/core/Device.h>
#include <c10/core/Layout.h>
#include <c10/core/MemoryFormat.h>
#include <c10/core/Scalar.h>
#include <c10/util/ArrayRef.h>
#include <c10/util/BFloat16.h>
#include <c10/util/Half.h>
#include <c10/util/complex.h>
#include <c10/util/qint32.h>
#include <c10/util/qint8.h>
#include <c10/util/quint2x4.h>
#include <c10/util/quint4x2.h>
#include <c10/util/quint8.h>
#else
#include <executorch/runtime/core/portable_type/device.h>
#include <executorch/runtime/core/portable_type/scalar.h>
#include <executorch/runtime/core/portable_type/tensor.h>
#include <executorch/runtime/core/portable_type/tensor_options.h>
#ifndef EXECUTORCH_OWN_SOURCES  // headers that ExecuTorch 1.4 brings here
#include <executorch/runtime/core/portable_type/bfloat16_math.h>
#include <executorch/runtime/core/portable_type/optional.h>
#include <executorch/runtime/core/portable_type/string_view.h>
#include <executorch/runtime/core/tag.h>
#endif
#endif

// Code that depends on the tensor type is in executorch::ET_RUNTIME_NAMESPACE, so that one program
// can link both kinds. In ATen mode executorch::runtime re-exports that namespace:
// executorch::runtime::EValue names the class in both modes.
#ifdef USE_ATEN_LIB
#define ET_RUNTIME_NAMESPACE runtime::aten
namespace executorch::runtime {
namespace aten {}
using namespace aten;  // NOLINT: the purpose of it
}  // namespace executorch::runtime
#else
#define ET_RUNTIME_NAMESPACE runtime
#endif

namespace executorch::aten {

using ::executorch::runtime::TensorShapeDynamism;
using std::nullopt;
using std::nullopt_t;
using std::optional;
using std::string_view;

#ifdef USE_ATEN_LIB

using Tensor = at::Tensor;
using TensorImpl = at::TensorImpl;
using TensorList = at::TensorList;
template <typename T>
using ArrayRef = c10::ArrayRef<T>;
using IntArrayRef = at::IntArrayRef;
template <typename T>
using OptionalArrayRef = c10::OptionalArrayRef<T>;
using Scalar = c10::Scalar;
using ScalarType = at::ScalarType;
using MemoryFormat = c10::MemoryFormat;
using Layout = c10::Layout;
using Device = c10::Device;
using DeviceType = c10::DeviceType;
using SizesType = int64_t;
using DimOrderType = uint8_t;
using StridesType = int64_t;
using Half = c10::Half;
using BFloat16 = c10::BFloat16;
template <typename T>
using complex = c10::complex<T>;
using qint8 = c10::qint8;
using quint8 = c10::quint8;
using qint32 = c10::qint32;
using quint4x2 = c10::quint4x2;
using quint2x4 = c10::quint2x4;

#else

using Tensor = ::executorch::runtime::etensor::Tensor;
using TensorImpl = ::executorch::runtime::etensor::TensorImpl;
using ::executorch::runtime::ArrayRef;
using IntArrayRef = ArrayRef<int64_t>;
using TensorList = ArrayRef<Tensor>;
template <typename T>
using OptionalArrayRef = std::optional<ArrayRef<T> >;
using Scalar = ::executorch::runtime::etensor::Scalar;
using ScalarType = ::executorch::runtime::etensor::ScalarType;
using MemoryFormat = ::executorch::runtime::etensor::MemoryFormat;
using Layout = ::executorch::runtime::etensor::Layout;
using Device = ::executorch::runtime::etensor::Device;
using DeviceType = ::executorch::runtime::etensor::DeviceType;
using SizesType = Tensor::SizesType;
using DimOrderType = Tensor::DimOrderType;
using StridesType = Tensor::StridesType;
using Half = ::executorch::runtime::etensor::Half;
using BFloat16 = ::executorch::runtime::etensor::BFloat16;
using ::executorch::runtime::etensor::complex;
using qint8 = ::executorch::runtime::etensor::qint8;
using quint8 = ::executorch::runtime::etensor::quint8;
using qint32 = ::executorch::runtime::etensor::qint32;
using quint4x2 = ::executorch::runtime::etensor::quint4x2;
using quint2x4 = ::executorch::runtime::etensor::quint2x4;
using ::executorch::runtime::etensor::compute_numel;
using ::executorch::runtime::etensor::safe_nbytes;
using ::executorch::runtime::etensor::safe_numel;

#endif

using OptionalIntArrayRef = OptionalArrayRef<int64_t>;

}  // namespace executorch::aten

// Documented names of the same things.
namespace torch::executor {
using ::executorch::aten::TensorList;
}  // namespace torch::executor

// Documented spelling of the same namespace.
namespace exec_aten = ::executorch::aten;
