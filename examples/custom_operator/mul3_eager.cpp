// Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
// The same kernel as an operator of PyTorch: torch.ops.my_ops.mul3, and its out variant.
#include <executorch/extension/aten_util/make_aten_functor_from_et_functor.h>
#include <torch/library.h>

#include "mul3.h"

namespace {

at::Tensor mul3(const at::Tensor& x) {
  at::Tensor out = at::empty_like(x);
  WRAP_TO_ATEN(mul3_out, 1)(x, out);
  return out;
}

}  // namespace

TORCH_LIBRARY(my_ops, m) {
  m.def("mul3(Tensor x) -> Tensor");
  m.def("mul3.out(Tensor x, *, Tensor(a!) out) -> Tensor(a!)");
}

TORCH_LIBRARY_IMPL(my_ops, CPU, m) {
  m.impl("mul3", mul3);
  m.impl("mul3.out", WRAP_TO_ATEN(mul3_out, 1));
}
