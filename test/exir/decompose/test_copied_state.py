# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""A copy to a buffer keeps the buffer's dtype and sizes, also in programs that torch traces."""

from __future__ import annotations

from collections.abc import Callable
from copy import deepcopy

import pytest
import torch
from torch.export import Dim, export

from executorch.exir import to_edge
from executorch.runtime import Runtime

Function = Callable[[torch.Tensor], torch.Tensor]
COPIES: dict[str, tuple[Function, torch.Tensor]] = {
    "a number to a matrix": (lambda x: x.sum(), torch.ones(4, 4)),
    "a row to a matrix": (lambda x: x.sum(0), torch.ones(4, 4)),
    "floats to integers": (lambda x: x.sum(0), torch.ones(4, dtype=torch.int32)),
    "a float32 number to a float16 vector": (lambda x: x.sum(), torch.ones(4, dtype=torch.float16)),
    "a value of the same dtype and sizes": (lambda x: x.sum(0), torch.ones(4)),
}


class Keeps(torch.nn.Module):
    def __init__(self, function: Function, state: torch.Tensor) -> None:
        super().__init__()
        self.function = function
        self.register_buffer("state", state.clone())

    def forward(self, x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        before = self.state + 0
        self.state.copy_(self.function(x))
        return before, self.state * 2


@pytest.mark.parametrize("what", COPIES)
@pytest.mark.parametrize("dynamic", [False, True], ids=["fixed sizes", "a dynamic size"])
def test_a_copy_to_a_buffer_keeps_its_dtype_and_sizes(what: str, dynamic: bool) -> None:
    torch.manual_seed(0)
    model = Keeps(*COPIES[what])
    shapes = ({0: Dim("rows", max=9)},) if dynamic else None
    program = to_edge(export(deepcopy(model), (torch.randn(3, 4),), dynamic_shapes=shapes)).to_executorch()
    method = Runtime.get().load_program(program.buffer).load_method("forward")
    for _ in range(3):
        x = 5 * torch.randn(3, 4)
        for found, expected in zip(method.execute((x,)), model(x), strict=True):
            torch.testing.assert_close(found, expected)
