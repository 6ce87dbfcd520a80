# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Values that are computed again leave the bounds of dynamic sizes as they were."""

from collections.abc import Iterator
from typing import Any

import pytest
import torch
from torch import nn
from torch.export import Dim, export
from torch.fx.experimental.symbolic_shapes import ShapeEnv

from executorch.exir import EdgeProgramManager, to_edge
from executorch.exir.dialects._ops import ops
from executorch.exir.pass_base import fake_mode_of
from executorch.exir.rewrite.fake_call import call_on_fakes
from executorch.exir.rewrite.node_rewrite import with_values


class Windows(nn.Module):
    """A convolution of the four quarters of each image: a batch of 4 * b."""

    def __init__(self) -> None:
        super().__init__()
        self.convolution = nn.Conv2d(3, 5, 1)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.relu(self.convolution(x.reshape(x.shape[0] * 4, 3, 4, 4)))


@pytest.fixture
def edge() -> Iterator[EdgeProgramManager]:
    """The program for batches of 2 to 4. One thread: torch then compares the batch with 16."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    shapes = {"x": {0: Dim("b", min=2, max=4)}}
    yield to_edge(export(Windows().eval(), (torch.randn(2, 3, 8, 8),), dynamic_shapes=shapes))
    torch.set_num_threads(threads)


def _largest_batch(edge: EdgeProgramManager) -> int:
    placeholder = list(edge.exported_program().graph.find_nodes(op="placeholder"))[-1]
    node: Any = placeholder.meta["val"].shape[0].node
    environment: ShapeEnv = node.shape_env
    return int(environment.var_to_range[node.expr].upper)


def test_the_choice_of_a_kernel_does_not_narrow_the_batch(edge: EdgeProgramManager) -> None:
    module = edge.exported_program().graph_module
    mode = fake_mode_of(module)
    (call,) = module.graph.find_nodes(op="call_function", target=ops.edge.aten.convolution.default)
    images, *others = with_values(call.args)
    with mode:
        smaller = torch.empty(images.shape[0], 3, 2, 2)
    result = call_on_fakes(mode, call.target, (smaller, *others), {})
    assert result.shape[1:] == (5, 2, 2)
    assert _largest_batch(edge) == 4
