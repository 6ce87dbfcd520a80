# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Branches and loop bodies run on XNNPACK, with the weights that they read, and match eager."""

from __future__ import annotations

import pytest
import torch
from oracle.models.xnnpack_runtime import needs_xnnpack
from oracle.tolerances import LAYER
from torch import nn
from torch._higher_order_ops.map import map as map_
from torch._higher_order_ops.scan import scan
from torch.utils._pytree import tree_leaves

from executorch.backends.xnnpack.partition.xnnpack_partitioner import XnnpackPartitioner
from executorch.exir import EdgeProgramManager, to_edge_transform_and_lower
from executorch.exir.backend.utils import get_delegation_info
from executorch.runtime import Runtime

pytestmark = needs_xnnpack


class Layers(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.first, self.second = nn.Linear(8, 8), nn.Linear(8, 8)
        self.window = nn.Conv2d(1, 2, 3, padding=1)


class Branches(Layers):
    """`first` is read in branches of two depths and outside them."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        def taken(x: torch.Tensor) -> torch.Tensor:
            return torch.relu(self.first(x)) + self.window(x[None, None])[0, 0]

        def nested(x: torch.Tensor) -> torch.Tensor:
            return torch.cond(
                x.mean() > -0.05, lambda x: self.second(x).tanh(), lambda x: self.first(x) * self.second(x), (x,)
            )

        return torch.cond(x.sum() > 0, taken, nested, (x,)) + self.first(x)


class Loop(Layers):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        def go_on(i: torch.Tensor, x: torch.Tensor) -> torch.Tensor:
            return torch.logical_and(i < 4, self.second(x).abs().max() < 1e3)

        def step(i: torch.Tensor, x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
            return i + 1, torch.relu(self.first(x)) + x

        return torch.while_loop(go_on, step, (torch.tensor(0), x))[1]


class Steps(Layers):
    def forward(self, x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        def step(h: torch.Tensor, row: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
            h = torch.tanh(self.first(row) + self.second(h))
            return h, h * 2

        last, every = scan(step, torch.zeros_like(x[0]) + x[0], x, dim=0)
        return last, every


class Rows(Layers):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return map_(lambda row, scale: self.first(row) * scale, x, x[0] * 2)


class Written(Layers):
    """A mutated buffer is not a constant of the branches that read it."""

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("shift", torch.zeros(8))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        branch_result = torch.cond(
            x.sum() > 0, lambda x: self.first(x) + self.shift, lambda x: x * 2 - self.shift, (x,)
        )
        self.shift.add_(1)
        return branch_result


def _lowered(model: nn.Module, x: torch.Tensor, dynamic: bool = False) -> EdgeProgramManager:
    shapes = {"x": {0: torch.export.Dim("n", min=2, max=9)}} if dynamic else None
    exported = torch.export.export(model, (x,), dynamic_shapes=shapes)
    return to_edge_transform_and_lower(exported, partitioner=[XnnpackPartitioner()])


def _check(model: nn.Module, lowered: EdgeProgramManager, *inputs: torch.Tensor) -> None:
    program = Runtime.get().load_program(bytes(lowered.to_executorch().buffer))
    method = program.load_method("forward")
    assert method is not None
    for x in inputs:
        with torch.no_grad():
            wanted = tree_leaves(model(x))
        for got, want in zip(method.execute((x,)), wanted, strict=True):
            torch.testing.assert_close(torch.as_tensor(got), want, **LAYER)


@pytest.mark.sampled
@pytest.mark.parametrize(
    ("kind", "delegates", "dynamic"),
    [(Branches, 6, False), (Loop, 2, True), (Steps, 2, True), (Rows, 2, True), (Written, 3, False)],
)
def test_bodies_of_control_flow_are_delegated_with_their_weights(
    kind: type[nn.Module], delegates: int, dynamic: bool
) -> None:
    torch.manual_seed(0)
    model = kind().eval()
    x = torch.randn(8, 8) if kind is Branches else torch.randn(5, 3, 8)
    lowered = _lowered(model, x, dynamic)
    info = get_delegation_info(lowered.exported_program().graph_module)
    assert info.num_delegated_subgraphs == delegates, info.get_summary()
    assert not any(name.startswith("aten_linear") for name, _, outside in info.operator_rows() if outside)
    read = [node.name for node in lowered.exported_program().graph.find_nodes(op="placeholder") if node.users]
    assert not any("weight" in name or "bias" in name for name in read), read
    _check(model, lowered, x, -x.abs(), x.abs(), *([torch.randn(2, 3, 8), torch.randn(9, 3, 8)] if dynamic else []))
