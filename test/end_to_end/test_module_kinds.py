# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Every kind of module lowers, and each call matches eager."""

from copy import deepcopy

import pytest
import torch
from models.module_kinds import KINDS, Function
from oracle.models.pipeline import run
from oracle.tolerances import LAYER
from torch import nn
from torch.export import export
from torch.utils import _pytree as pytree

from executorch.exir import to_edge
from executorch.runtime import Runtime


@pytest.mark.sampled
@pytest.mark.parametrize("what", KINDS)
def test_every_kind_lowers_and_matches_eager(what: str) -> None:
    kind = KINDS[what]
    exported = export(deepcopy(kind.module), deepcopy(kind.calls[0]), dynamic_shapes=kind.sizes, strict=False)
    program = Runtime.get().load_program(to_edge(exported).to_executorch().buffer)
    method, model = program.load_method("forward"), deepcopy(kind.module)
    for call in kind.calls:
        with torch.no_grad():
            expected = pytree.tree_leaves(model(*deepcopy(call)))
        found = method.execute(pytree.tree_leaves(deepcopy(call)))
        assert len(found) == len(expected)
        for one, other in zip(found, expected, strict=True):
            value = torch.as_tensor(one) if isinstance(other, torch.Tensor) else one
            torch.testing.assert_close(value, other, **LAYER, check_stride=False)


class Shared(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.layer = nn.Linear(3, 3)
        self.register_buffer("seen", torch.zeros(()))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.layer(x).relu()


def test_several_methods_of_one_module() -> None:
    model = Shared()
    other = Function(lambda x: model.layer(x).sum())
    other.layer = model.layer
    x = torch.randn(2, 3)
    edge = to_edge({"forward": export(model, (x,)), "total": export(other, (x,))}, constant_methods={"size": 3})
    program = edge.to_executorch().buffer
    torch.testing.assert_close(torch.as_tensor(run(program, (x,))[0]), model(x).detach())
    torch.testing.assert_close(torch.as_tensor(run(program, (x,), "total")[0]), other(x).detach())
    assert run(program, (), "size") == [3]
