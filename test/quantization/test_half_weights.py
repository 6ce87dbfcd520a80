# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Weights kept in float16 and converted for operands of float32: delegated to XNNPACK, as exact as the conversion."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from oracle.models.xnnpack_runtime import needs_xnnpack
from oracle.tolerances import LAYER
from quantization.flow import run
from torch import nn
from torch.nn import functional as F

from executorch.backends.xnnpack.partition.config import ConvolutionConfig, ReLUConfig
from executorch.backends.xnnpack.partition.xnnpack_partitioner import XnnpackPartitioner
from executorch.backends.xnnpack.serialization.payload import deserialize_payload
from executorch.backends.xnnpack.serialization.xnnpack_graph import Convert
from executorch.exir import to_edge, to_edge_transform_and_lower
from executorch.exir.lowered_backend_module import get_lowered_submodules

pytestmark = needs_xnnpack


class HalfWeights(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.first, self.deep = nn.Conv2d(3, 4, 3).half(), nn.Conv2d(4, 4, 3, padding=1, groups=4).half()
        self.up, self.last = nn.ConvTranspose2d(4, 2, 2, stride=2).half(), nn.Linear(72, 5).half()

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        weights: list[Any] = [[layer.weight.float(), layer.bias.float()] for layer in self.children()]  # type: ignore[operator, union-attr]
        x = torch.relu(F.conv2d(x, *weights[0]))
        x = F.conv2d(x, *weights[1], padding=1, groups=4)
        return F.linear(F.conv_transpose2d(x, *weights[2], stride=2).flatten(1), *weights[3])


CHOICES: dict[str, tuple[dict[str, Any], int]] = {
    "all": ({}, 1),
    "every operator apart": ({"per_op_mode": True}, 0),
    "convolutions": ({"configs": [ConvolutionConfig]}, 0),
    "activations": ({"configs": [ReLUConfig]}, 1),
}


@pytest.mark.parametrize("name", CHOICES)
def test_models_of_half_weights_are_delegated(name: str) -> None:
    torch.manual_seed(0)
    settings, delegates = CHOICES[name]
    model, x = HalfWeights().eval(), (torch.randn(2, 3, 5, 5),)
    lowered = to_edge_transform_and_lower(torch.export.export(model, x), partitioner=[XnnpackPartitioner(**settings)])
    calls = [str(node.target) for node in lowered.exported_program().graph.nodes if node.op == "call_function"]
    calls_of_delegates = sum("delegate" in call for call in calls)
    assert calls_of_delegates == delegates if delegates else calls_of_delegates > 1, calls
    assert any("convolution" in call for call in calls) == (name == "activations"), calls
    torch.testing.assert_close(run(lowered, x), model(*x), **LAYER)
    for _, module, _ in get_lowered_submodules(lowered.exported_program().graph_module):
        nodes = deserialize_payload(module.processed_bytes)[0].xnodes
        assert not any(isinstance(node.xnode_union, Convert) for node in nodes), "weights are converted at run time"


def test_without_a_delegate_the_results_are_the_same() -> None:
    torch.manual_seed(0)
    model, x = HalfWeights().eval(), (torch.randn(2, 3, 5, 5),)
    torch.testing.assert_close(run(to_edge(torch.export.export(model, x)), x), model(*x), **LAYER)
