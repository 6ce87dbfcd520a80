// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// The recurrent operators with plain loops.
#include <executorch/kernels/portable/NativeFunctions.h>
#include <executorch/kernels/portable/recurrent/kernels.h>

namespace executorch::kernels::portable {

EXECUTORCH_RECURRENT_KERNELS(plain_loops)

}  // namespace executorch::kernels::portable
