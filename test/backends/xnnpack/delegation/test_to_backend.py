# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""`to_edge(...).to_backend(XnnpackPartitioner())` delegates the same nodes as `to_edge_transform_and_lower`."""

from collections import Counter
from collections.abc import Callable

import pytest
import torch
from models import LARGE_NAMES, NAMES, make
from oracle.models.xnnpack_runtime import needs_xnnpack
from oracle.tolerances import MODEL
from torch import nn
from torch.export import ExportedProgram

from executorch.backends.xnnpack.partition.xnnpack_partitioner import XnnpackPartitioner
from executorch.exir import EdgeProgramManager, to_edge, to_edge_transform_and_lower
from executorch.exir.backend.backend_api import to_backend
from executorch.exir.dialects._ops import ops
from executorch.runtime import Runtime


def _calls(program: ExportedProgram) -> Counter[str]:
    return Counter(str(node.target) for node in program.graph.nodes if node.op == "call_function")


def _older_way(exported: ExportedProgram) -> EdgeProgramManager:
    return to_edge(exported).to_backend(XnnpackPartitioner())


def _assert_same_calls(exported: ExportedProgram) -> None:
    newer = to_edge_transform_and_lower(exported, partitioner=[XnnpackPartitioner()])
    assert _calls(_older_way(exported).exported_program()) == _calls(newer.exported_program())


@pytest.mark.sampled
@pytest.mark.parametrize("name", [*NAMES, *LARGE_NAMES])
def test_a_model_has_the_same_delegates_by_both_ways(name: str) -> None:
    model, inputs = make(name)
    _assert_same_calls(torch.export.export(model, inputs))


class Attention(nn.Module):
    """Scaled dot-product attention of one tensor with itself."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return nn.functional.scaled_dot_product_attention(x, x, x)


IMAGE = (1, 4, 6, 6)
LAYERS: dict[str, tuple[Callable[[], nn.Module], tuple[int, ...]]] = {
    "linear": (lambda: nn.Linear(8, 4), (2, 8)),
    "linear of three dimensions": (lambda: nn.Linear(8, 4), (2, 3, 8)),
    "linear without bias": (lambda: nn.Linear(8, 4, bias=False), (2, 3, 8)),
    "layer norm": (lambda: nn.LayerNorm(8), (2, 8)),
    "gelu": (nn.GELU, (2, 8)),
    "silu": (nn.SiLU, (2, 8)),
    "hardswish": (nn.Hardswish, (2, 8)),
    "prelu": (lambda: nn.PReLU(4), IMAGE),
    "attention": (Attention, (1, 2, 5, 8)),
    "bilinear upsampling": (lambda: nn.Upsample(scale_factor=2, mode="bilinear"), IMAGE),
    "nearest upsampling": (lambda: nn.Upsample(scale_factor=2), IMAGE),
    "batch norm after a convolution": (lambda: nn.Sequential(nn.Conv2d(4, 4, 3), nn.BatchNorm2d(4)), IMAGE),
    "batch norm": (lambda: nn.BatchNorm2d(4), IMAGE),
    "pixel shuffle": (lambda: nn.PixelShuffle(2), IMAGE),
    "max pooling": (lambda: nn.MaxPool2d(2), IMAGE),
}


@pytest.mark.sampled
@needs_xnnpack
@pytest.mark.parametrize("name", LAYERS)
def test_a_layer_has_the_same_delegates_by_both_ways_and_runs(name: str) -> None:
    build, sizes = LAYERS[name]
    model, x = build().eval(), torch.randn(sizes)
    exported = torch.export.export(model, (x,))
    _assert_same_calls(exported)
    program = Runtime.get().load_program(_older_way(exported).to_executorch().buffer)
    (output,) = program.load_method("forward").execute([x])
    torch.testing.assert_close(output, model(x), **MODEL)


def _linear() -> ExportedProgram:
    model = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 4))
    return torch.export.export(model.eval(), (torch.randn(2, 3, 8),))


def test_the_function_that_takes_one_program_delegates_linear_layers_whole() -> None:
    program = to_backend(to_edge(_linear()).exported_program(), XnnpackPartitioner())
    assert list(_calls(program)) == ["executorch_call_delegate", "<built-in function getitem>"]


def test_linear_layers_are_delegated_whole_after_passes_of_the_user() -> None:
    lowered = to_edge(_linear()).transform([]).to_backend(XnnpackPartitioner())
    assert list(_calls(lowered.exported_program())) == ["executorch_call_delegate", "<built-in function getitem>"]


@needs_xnnpack
def test_an_edge_program_changed_by_hand_is_lowered() -> None:
    x = torch.randn(2, 8)
    edge = to_edge(torch.export.export(nn.Sequential(nn.Hardswish(), nn.Sigmoid()), (x,)))
    graph_module = edge.exported_program().graph_module
    sigmoid = next(node for node in graph_module.graph.nodes if "sigmoid" in str(node.target))
    sigmoid.target = ops.edge.aten.tanh.default
    graph_module.recompile()
    program = Runtime.get().load_program(edge.to_backend(XnnpackPartitioner()).to_executorch().buffer)
    (output,) = program.load_method("forward").execute([x])
    torch.testing.assert_close(output, nn.Hardswish()(x).tanh(), **MODEL)


def test_methods_without_a_partitioner_stay_as_they_are() -> None:
    edge = to_edge({"one": _linear(), "other": _linear()}, constant_methods={"size": 3})
    lowered = edge.to_backend({"one": XnnpackPartitioner()})
    assert _calls(lowered.exported_program("other")) == _calls(edge.exported_program("other"))
    assert lowered.config_methods == {"size"}


def test_a_record_is_of_the_program_that_was_lowered() -> None:
    edge = to_edge(_linear(), generate_etrecord=True)
    record = edge.to_backend(XnnpackPartitioner()).to_executorch().get_etrecord()
    assert "aten.linear.default" in _calls(record.edge_dialect_program)
