// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// Lists of element types for kernels that are written with macros: ET_FORALL_<SET>_TYPES(_) expands
// `_(C++ type, name)` once for each dtype of the set. REAL is all integers (INT) and floating-point
// numbers (FLOAT). Letters after it add dtypes: H Half, B Bool, BF16 BFloat16.
// _AND adds dtypes by their names; _WITH and _WITH2 put arguments before the type.
#pragma once

#include <executorch/runtime/core/exec_aten/util/dtype_info.h>

#define ET_INTERNAL_CTYPE(name) \
  ::executorch::runtime::ScalarTypeToCppType<::executorch::aten::ScalarType::name>::type
#define ET_INTERNAL_ITEM(_, name) _(ET_INTERNAL_CTYPE(name), name)

#define ET_FORALL_INT_TYPES(_) \
  _(uint8_t, Byte)             \
  _(int8_t, Char)              \
  _(int16_t, Short)            \
  _(int32_t, Int)              \
  _(int64_t, Long)
#define ET_FORALL_INT_TYPES_AND(name, _) ET_FORALL_INT_TYPES(_) ET_INTERNAL_ITEM(_, name)

#define ET_FORALL_FLOAT_TYPES(_) \
  _(float, Float)                \
  _(double, Double)
#define ET_FORALL_FLOAT_TYPES_AND(name, _) ET_FORALL_FLOAT_TYPES(_) ET_INTERNAL_ITEM(_, name)
#define ET_FORALL_FLOAT_TYPES_AND2(name1, name2, _) \
  ET_FORALL_FLOAT_TYPES_AND(name1, _) ET_INTERNAL_ITEM(_, name2)
#define ET_FORALL_FLOATH_TYPES(_) ET_FORALL_FLOAT_TYPES_AND(Half, _)
#define ET_FORALL_FLOATHBF16_TYPES(_) ET_FORALL_FLOAT_TYPES_AND2(Half, BFloat16, _)

#define ET_FORALL_REAL_TYPES(_) ET_FORALL_INT_TYPES(_) ET_FORALL_FLOAT_TYPES(_)
#define ET_FORALL_REAL_TYPES_AND(name, _) ET_FORALL_REAL_TYPES(_) ET_INTERNAL_ITEM(_, name)
#define ET_FORALL_REAL_TYPES_AND2(name1, name2, _) \
  ET_FORALL_REAL_TYPES_AND(name1, _) ET_INTERNAL_ITEM(_, name2)
#define ET_FORALL_REAL_TYPES_AND3(name1, name2, name3, _) \
  ET_FORALL_REAL_TYPES_AND2(name1, name2, _) ET_INTERNAL_ITEM(_, name3)
#define ET_FORALL_REALH_TYPES(_) ET_FORALL_REAL_TYPES_AND(Half, _)
#define ET_FORALL_REALHBF16_TYPES(_) ET_FORALL_REAL_TYPES_AND2(Half, BFloat16, _)
#define ET_FORALL_REALHBBF16_TYPES(_) ET_FORALL_REAL_TYPES_AND3(Bool, Half, BFloat16, _)

#define ET_FORALL_QINT_TYPES(_)             \
  _(::executorch::aten::qint8, QInt8)       \
  _(::executorch::aten::quint8, QUInt8)     \
  _(::executorch::aten::qint32, QInt32)     \
  _(::executorch::aten::quint4x2, QUInt4x2) \
  _(::executorch::aten::quint2x4, QUInt2x4)

#define ET_FORALL_COMPLEX_TYPES(_)                    \
  _(::executorch::aten::complex<float>, ComplexFloat) \
  _(::executorch::aten::complex<double>, ComplexDouble)
#define ET_FORALL_COMPLEXH_TYPES(_)                                     \
  _(::executorch::aten::complex<::executorch::aten::Half>, ComplexHalf) \
  ET_FORALL_COMPLEX_TYPES(_)

#define ET_FORALL_INT_TYPES_WITH(x, _) \
  _(x, uint8_t, Byte)                  \
  _(x, int8_t, Char)                   \
  _(x, int16_t, Short)                 \
  _(x, int32_t, Int)                   \
  _(x, int64_t, Long)
#define ET_FORALL_FLOAT_TYPES_WITH(x, _) \
  _(x, float, Float)                     \
  _(x, double, Double)
#define ET_FORALL_FLOATH_TYPES_WITH(x, _) \
  ET_FORALL_FLOAT_TYPES_WITH(x, _)        \
  _(x, ::executorch::aten::Half, Half)
#define ET_FORALL_REAL_TYPES_WITH(x, _) \
  ET_FORALL_INT_TYPES_WITH(x, _)        \
  ET_FORALL_FLOAT_TYPES_WITH(x, _)
#define ET_FORALL_REAL_TYPES_AND_WITH(name, x, _) \
  ET_FORALL_REAL_TYPES_WITH(x, _)                 \
  _(x, ET_INTERNAL_CTYPE(name), name)

#define ET_FORALL_INT_TYPES_WITH2(x, y, _) \
  _(x, y, uint8_t, Byte)                   \
  _(x, y, int8_t, Char)                    \
  _(x, y, int16_t, Short)                  \
  _(x, y, int32_t, Int)                    \
  _(x, y, int64_t, Long)
#define ET_FORALL_FLOAT_TYPES_WITH2(x, y, _) \
  _(x, y, float, Float)                      \
  _(x, y, double, Double)
#define ET_FORALL_FLOATHBF16_TYPES_WITH2(x, y, _) \
  ET_FORALL_FLOAT_TYPES_WITH2(x, y, _)            \
  _(x, y, ::executorch::aten::Half, Half)         \
  _(x, y, ::executorch::aten::BFloat16, BFloat16)
#define ET_FORALL_REAL_TYPES_WITH2(x, y, _) \
  ET_FORALL_INT_TYPES_WITH2(x, y, _)        \
  ET_FORALL_FLOAT_TYPES_WITH2(x, y, _)
#define ET_FORALL_REALHBF16_TYPES_WITH2(x, y, _) \
  ET_FORALL_INT_TYPES_WITH2(x, y, _)             \
  ET_FORALL_FLOATHBF16_TYPES_WITH2(x, y, _)
#define ET_FORALL_REALHBBF16_TYPES_WITH2(x, y, _) \
  ET_FORALL_REALHBF16_TYPES_WITH2(x, y, _)        \
  _(x, y, bool, Bool)
