# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Kernels round scalar operands to the dtype of 16-bit tensors first, where eager does."""

from collections.abc import Callable

import pytest
import torch
from models.function_module import Function
from oracle.tolerances import two_roundings
from torch.export import export

from executorch.exir import to_edge
from executorch.runtime import Runtime

CALLS: dict[str, Callable[[torch.Tensor], torch.Tensor]] = {
    "remainder": lambda x: x % 0.1,
    "remainder of a number": lambda x: 1.1 % (x.abs() + 1),
    "fmod": lambda x: torch.fmod(x, -1.1),
    "power": lambda x: x.abs() ** 2.3,
    "power of a number": lambda x: 0.3**x,
    "alpha": lambda x: torch.add(x, x, alpha=-1.1),
}


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_scalars_are_rounded_as_in_eager(dtype: torch.dtype) -> None:
    torch.manual_seed(0)
    x = (torch.randn(512) * 3).to(dtype)
    for name, call in CALLS.items():
        program = to_edge(export(Function(call), (x,))).to_executorch().buffer
        output = torch.as_tensor(Runtime.get().load_program(program).load_method("forward").execute([x])[0])
        torch.testing.assert_close(output, call(x), **two_roundings(dtype), msg=name)
