# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Regions of channels-last convolutions begin and end at copies; other programs keep their layouts."""

from typing import Any

import pytest
import torch
from models.module_kinds import Kind
from oracle.models.every_step import assert_every_step_keeps
from oracle.tolerances import LAYER
from torch import nn
from torch.export import Dim, export

from executorch.exir import ExecutorchBackendConfig, to_edge
from executorch.runtime import Runtime

CONTIGUOUS, CHANNELS_LAST = [0, 1, 2, 3], [0, 2, 3, 1]


class Features(nn.Module):
    """Eleven convolutions, with pools, a residual and a gate computed from the mean of each channel."""

    def __init__(self, channels: int = 3) -> None:
        super().__init__()
        self.first = nn.Conv2d(channels, 8, 3, padding=1)
        self.depthwise = nn.Conv2d(8, 8, 3, padding=1, groups=8)
        self.layers = nn.ModuleList(nn.Conv2d(8, 8, 3, padding=1) for _ in range(8))
        self.gate = nn.Conv2d(8, 8, 1)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y = nn.functional.hardswish(self.first(x))
        y = torch.cat([nn.functional.max_pool2d(y, 2)[:, :4], nn.functional.avg_pool2d(y, 2)[:, 4:]], 1)
        y = self.depthwise(y) + y
        for layer in self.layers:
            y = torch.relu(layer(y))
        return y * torch.sigmoid(self.gate(y.mean((2, 3), keepdim=True)))


class Classifier(Features):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return super().forward(x).mean((2, 3))


class Few(nn.Module):
    """Two convolutions between an input and an output: copies would cost more than they save."""

    def __init__(self) -> None:
        super().__init__()
        self.layers = nn.Sequential(nn.Conv2d(3, 8, 3), nn.ReLU(), nn.Conv2d(8, 8, 3))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.layers(x)


def _lower(model: nn.Module, x: torch.Tensor, sizes: Any = None, **options: Any) -> Any:
    config = ExecutorchBackendConfig(tune_for_optimized_kernels=True, **options)
    return to_edge(export(model.eval(), (x,), dynamic_shapes=sizes)).to_executorch(config)


def _copies(manager: Any) -> list[list[int]]:
    """The dim orders that the program's copies write."""
    nodes = manager.exported_program().graph.nodes
    return [list(node.kwargs["dim_order"]) for node in nodes if "_to_dim_order_copy" in str(node.target)]


def _assert_equal(manager: Any, model: nn.Module, *calls: torch.Tensor) -> None:
    method = Runtime.get().load_program(manager.buffer).load_method("forward")
    for x in calls:
        with torch.no_grad():
            expected = model(x)
        (found,) = method.execute([x])
        assert found.stride() == expected.contiguous().stride()
        torch.testing.assert_close(found, expected, **LAYER)


REGIONS = {
    "of an image's mean": (Classifier(), [CHANNELS_LAST]),
    "that is an output": (Features(), [CHANNELS_LAST, CONTIGUOUS]),
    "too small to gain": (Few(), []),
}


@pytest.mark.parametrize("what", REGIONS)
def test_copies_are_inserted_where_a_region_begins_and_ends(what: str) -> None:
    model, expected = REGIONS[what]
    x = torch.randn(2, 3, 8, 10)
    manager = _lower(model, x)
    assert _copies(manager) == expected
    _assert_equal(manager, model, x)


def test_an_image_of_one_channel_enters_without_a_copy() -> None:
    model, x = Classifier(channels=1), torch.randn(1, 1, 8, 8)
    manager = _lower(model, x)
    assert _copies(manager) == []
    _assert_equal(manager, model, x)


def test_sizes_may_vary() -> None:
    model = Features()
    sizes = ({0: Dim("batch", max=4), 2: Dim("half", min=2, max=8) * 2, 3: Dim("width", min=4, max=16)},)
    manager = _lower(model, torch.randn(2, 3, 8, 8), sizes)
    assert _copies(manager) == [CHANNELS_LAST, CONTIGUOUS]
    _assert_equal(manager, model, *(torch.randn(size) for size in [(1, 3, 4, 4), (4, 3, 16, 16), (3, 3, 10, 7)]))


def test_weights_of_external_files_keep_their_layout() -> None:
    manager = _lower(Features(), torch.randn(1, 3, 8, 8), external_constants=True)
    assert _copies(manager) == [CHANNELS_LAST, CONTIGUOUS]


def test_a_model_in_channels_last_is_left_alone() -> None:
    model = Features().to(memory_format=torch.channels_last)
    x = torch.randn(1, 3, 8, 8).to(memory_format=torch.channels_last)
    assert _copies(_lower(model, x)) == []


def test_layouts_stay_unless_the_option_is_set() -> None:
    edge = to_edge(export(Features().eval(), (torch.randn(1, 3, 8, 8),)))
    assert _copies(edge.to_executorch()) == []


def test_each_step_keeps_the_results_of_a_region() -> None:
    layers = nn.Sequential(*(nn.Conv2d(2, 2, 1) for _ in range(8))).eval()
    assert_every_step_keeps(Kind(layers, [(torch.randn(1, 2, 3, 3),)]))
