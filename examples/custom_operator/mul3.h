// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
#pragma once

#include <executorch/runtime/kernel/kernel_includes.h>

// my_ops::mul3.out(Tensor x, *, Tensor(a!) out) -> Tensor(a!)
executorch::aten::Tensor& mul3_out(executorch::aten::RuntimeContext& ctx,
                                   const executorch::aten::Tensor& x,
                                   executorch::aten::Tensor& out);
