// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
#include <executorch/runtime/core/exec_aten/util/dtype_info.h>

#ifndef USE_ATEN_LIB  // ATen defines these itself

namespace executorch::runtime {

using executorch::aten::ScalarType;

const char* toString(ScalarType t) {
#define ET_INTERNAL_NAME(type, name) \
  case ScalarType::name:             \
    return #name;
  switch (t) {
    ET_FORALL_SCALAR_TYPES(ET_INTERNAL_NAME)
    case ScalarType::Undefined:
      return "Undefined";
    default:
      return "UNKNOWN_SCALAR";
  }
#undef ET_INTERNAL_NAME
}

size_t elementSize(ScalarType t) {
#define ET_INTERNAL_SIZE(type, name) \
  case ScalarType::name:             \
    return sizeof(type);
  switch (t) {
    ET_FORALL_SCALAR_TYPES(ET_INTERNAL_SIZE)
    default:
      return 0;
  }
#undef ET_INTERNAL_SIZE
}

}  // namespace executorch::runtime

#endif  // USE_ATEN_LIB
