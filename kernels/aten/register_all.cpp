// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// Linking aten_ops_lib requires the symbol below, which links and so runs the registration.
#include <executorch/kernels/aten/aten_kernels.h>

namespace {

[[maybe_unused]] const executorch::runtime::Error registered =
    executorch::kernels::register_all_aten_kernels();

}  // namespace

extern "C" {
extern const int executorch_link_aten_kernels;
}
const int executorch_link_aten_kernels = 0;
