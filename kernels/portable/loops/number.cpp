// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
#include <executorch/kernels/portable/loops/number.h>

#include <executorch/kernels/portable/loops/convert.h>
#include <executorch/kernels/portable/loops/promote.h>

namespace executorch::kernels::portable {

Number::Number(const Scalar& scalar) : dtype_(dtype_of(scalar)) {
  if (dtype_ == ScalarType::Double) {
    write<double>(as_double(scalar), storage_, dtype_);
  } else {
    write<int64_t>(as_int(scalar), storage_, dtype_);
  }
}

Strided Number::strided() const {
  Strided result;
  result.data = const_cast<char*>(storage_);
  result.dtype = dtype_;
  return result;
}

}  // namespace executorch::kernels::portable
