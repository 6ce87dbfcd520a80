# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Views of attention's result work, though our attention has another layout in memory than PyTorch's."""

import pytest
import torch
import torch.nn.functional as F

from executorch.backends.xnnpack.partition.xnnpack_partitioner import XnnpackPartitioner
from executorch.exir import to_edge_transform_and_lower
from executorch.runtime import Runtime


class JoinedHeads(torch.nn.Module):
    """Self-attention whose heads are joined by a view or a reshape."""

    def __init__(self, join: str) -> None:
        super().__init__()
        self.join = join
        self.projection = torch.nn.Linear(32, 96)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        batch, time, width = x.shape
        query, key, value = self.projection(x).view(batch, time, 3, 4, 8).permute(2, 0, 3, 1, 4).unbind(0)
        heads = F.scaled_dot_product_attention(query, key, value).transpose(1, 2)
        if self.join == "view_as":
            return heads.view_as(x)
        return heads.view(batch, time, width) if self.join == "view" else heads.reshape(batch, time, width)


@pytest.mark.sampled
@pytest.mark.parametrize("delegated", [False, True], ids=["portable", "xnnpack"])
@pytest.mark.parametrize("decomposed", [False, True], ids=["as exported", "decomposed before"])
@pytest.mark.parametrize("dynamic", [False, True], ids=["static", "dynamic"])
@pytest.mark.parametrize("join", ["view", "view_as", "reshape"])
def test_heads_of_attention_are_joined(join: str, dynamic: bool, decomposed: bool, delegated: bool) -> None:
    model, x = JoinedHeads(join).eval(), torch.randn(2, 17, 32)
    shapes = ({1: torch.export.Dim("time", min=2, max=40)},) if dynamic else None
    exported = torch.export.export(model, (x,), dynamic_shapes=shapes)
    if decomposed:
        exported = exported.run_decompositions({})
    partitioner = [XnnpackPartitioner()] if delegated else []
    program = to_edge_transform_and_lower(exported, partitioner=partitioner).to_executorch()
    (output,) = Runtime.get().load_program(program.buffer).load_method("forward").execute((x,))
    torch.testing.assert_close(output, model(x))
