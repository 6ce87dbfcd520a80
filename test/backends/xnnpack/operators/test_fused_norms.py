# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Norms, rotary embeddings and gates, many XNNPACK nodes in a payload, run as one node and match eager."""

from collections.abc import Callable
from pathlib import Path

import pytest
import torch
from models.function_module import Function
from oracle.models.xnnpack_runtime import needs_xnnpack
from oracle.tolerances import BETWEEN_PRODUCTS, ROUNDED_ONCE
from torch import nn
from torch.nn import functional as F

from executorch.backends.xnnpack.partition.xnnpack_partitioner import XnnpackPartitioner
from executorch.devtools import Inspector
from executorch.examples.models.llama.rope import rotate
from executorch.exir import to_edge_transform_and_lower
from executorch.extension.pybindings import portable_lib
from executorch.runtime import Runtime

pytestmark = needs_xnnpack

Tensors = tuple[torch.Tensor, ...]


def _method(model: nn.Module, inputs: Tensors, dynamic: object = None) -> Callable[[Tensors], list[torch.Tensor]]:
    exported = torch.export.export(model.eval(), inputs, dynamic_shapes=dynamic)
    edge = to_edge_transform_and_lower(exported, partitioner=[XnnpackPartitioner()])
    return Runtime.get().load_program(edge.to_executorch().buffer).load_method("forward").execute


def _assert_close(result: torch.Tensor, expected: torch.Tensor) -> None:
    torch.testing.assert_close(result, expected, **BETWEEN_PRODUCTS, equal_nan=True)


class _Norm(nn.Module):
    """Computes `f(x, norm(x))`."""

    def __init__(self, norm: nn.Module, f: Callable[[torch.Tensor, torch.Tensor], torch.Tensor]) -> None:
        super().__init__()
        self.norm = norm
        self.f = f
        with torch.no_grad():
            for parameter in norm.parameters():
                parameter.copy_(torch.randn(parameter.shape))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.f(x, self.norm(x))


NORMS: dict[str, Callable[[], tuple[nn.Module, tuple[int, ...]]]] = {
    "rows": lambda: (nn.LayerNorm(192), (3, 5, 192)),
    "odd rows": lambda: (nn.LayerNorm(37), (7, 37)),
    "one number": lambda: (nn.LayerNorm(1), (4, 1)),
    "ones before": lambda: (nn.LayerNorm((1, 9)), (2, 5, 1, 9)),
    "ones behind": lambda: (nn.LayerNorm((6, 1)), (2, 5, 6, 1)),
    "several dimensions": lambda: (nn.LayerNorm((3, 4, 5)), (2, 6, 3, 4, 5)),
    "all": lambda: (nn.LayerNorm((6, 7)), (6, 7)),
    "no parameters": lambda: (nn.LayerNorm(20, elementwise_affine=False), (3, 20)),
    "no bias": lambda: (nn.LayerNorm(20, bias=False), (3, 20)),
    "another epsilon": lambda: (nn.LayerNorm(20, eps=0.7), (3, 20)),
    "long rows": lambda: (nn.LayerNorm(20011), (2, 20011)),
    "root mean square": lambda: (nn.RMSNorm(37, eps=1e-5), (2, 7, 37)),
    "root mean square of dimensions": lambda: (nn.RMSNorm((4, 5), eps=0.1), (3, 4, 5)),
    "root mean square, no weight": lambda: (nn.RMSNorm(64, eps=1e-6, elementwise_affine=False), (5, 64)),
    "groups": lambda: (nn.GroupNorm(3, 12), (2, 12, 5, 7)),
    "instances": lambda: (nn.InstanceNorm2d(6, affine=True), (1, 6, 5, 7)),
}
USES: dict[str, Callable[[torch.Tensor, torch.Tensor], torch.Tensor]] = {
    "alone": lambda x, y: y,
    "of a computed value": lambda x, y: y * 2,
    "with a residual": lambda x, y: F.relu(x + y),
    "used twice": lambda x, y: y * torch.sigmoid(y) - y,
    "limited": lambda x, y: y.clamp(-0.5, 0.5),
}


@pytest.mark.parametrize("kind", NORMS)
def test_norms_match_eager(kind: str) -> None:
    torch.manual_seed(0)
    norm, shape = NORMS[kind]()
    model, x = _Norm(norm, USES["alone"]), 3 * torch.randn(shape) + 1
    _assert_close(_method(model, (x,))((x,))[0], model(x))


@pytest.mark.parametrize("kind", [nn.LayerNorm, nn.RMSNorm])
@pytest.mark.parametrize("use", USES)
def test_values_around_a_norm_match_eager(use: str, kind: Callable[[int], nn.Module]) -> None:
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(9, 21), _Norm(kind(21), USES[use]), nn.Linear(21, 4))
    x = torch.randn(6, 9)
    _assert_close(_method(model, (x,))((x,))[0], model(x))


@pytest.mark.parametrize("kind", [nn.LayerNorm, nn.RMSNorm])
def test_nonfinite_and_large_rows_match_eager(kind: Callable[[int], nn.Module]) -> None:
    torch.manual_seed(0)
    model, x = _Norm(kind(45), USES["alone"]), torch.randn(8, 45)
    x[1, 7], x[2, 0], x[3, 44], x[4] = torch.nan, torch.inf, -torch.inf, 5
    x[5], x[6, 3] = x[5] * 1e15, 1e25
    _assert_close(_method(model, (x,))((x,))[0], model(x))


def test_half_precision_matches_eager() -> None:
    torch.manual_seed(0)
    model, x = _Norm(nn.LayerNorm(45), USES["with a residual"]).half(), torch.randn(8, 45).half()
    torch.testing.assert_close(_method(model, (x,))((x,))[0], model(x), **ROUNDED_ONCE[torch.float16])


def test_norms_run_at_other_sizes_than_exported() -> None:
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(9, 21), _Norm(nn.LayerNorm(21), USES["with a residual"]))
    sizes = {0: torch.export.Dim("rows", min=1, max=40)}
    execute = _method(model, (torch.randn(6, 9),), {"input": sizes})
    for rows in (6, 1, 40, 2):
        x = torch.randn(rows, 9)
        _assert_close(execute((x,))[0], model(x))


class _ByHand(nn.Module):
    """The parts of a norm, one of which differs from a norm or is returned."""

    def __init__(self, part: str) -> None:
        super().__init__()
        self.part = part

    def forward(self, x: torch.Tensor) -> Tensors:
        centered = x - x.mean(-1, keepdim=True)
        variance = (centered * centered if self.part == "product" else centered**2).mean(-1, keepdim=True)
        scale = torch.rsqrt(variance + 1e-3)
        if self.part == "of x":
            return (x * scale,)
        if self.part == "reversed":
            return ((x.mean(-1, keepdim=True) - x) * scale,)
        if self.part == "another mean":
            return ((x - x.mean(0, keepdim=True)) * scale,)
        y = centered * scale
        return (y, {"centered": centered, "scale": scale, "variance": variance}.get(self.part, x))


@pytest.mark.parametrize(
    "part", ["product", "of x", "reversed", "another mean", "centered", "scale", "variance", "whole"]
)
def test_patterns_similar_to_a_norm_match_eager(part: str) -> None:
    torch.manual_seed(0)
    x = torch.randn(12, 12)
    for result, expected in zip(_method(_ByHand(part), (x,))((x,)), _ByHand(part)(x), strict=True):
        _assert_close(result, expected)


class _RmsByHand(nn.Module):
    """The RMS norm of transformers."""

    def __init__(self) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.randn(64))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.weight * (x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + 1e-6))


def _rotary(halves: bool, channels: int) -> Callable[..., torch.Tensor]:
    return lambda x, cos, sin: rotate(x, cos[:, :channels], sin[:, :channels], halves=halves)


def _rotary_of_transformers(x: torch.Tensor, cos: torch.Tensor, sin: torch.Tensor) -> torch.Tensor:
    low, high = x.chunk(2, -1)
    return x * cos + torch.cat((-high, low), -1) * sin


_X = (torch.randn(16, 64),)
_PAIRS = (torch.randn(1, 5, 3, 64), torch.randn(5, 32), torch.randn(5, 32))
ONE_OPERATOR: dict[str, tuple[nn.Module, Tensors]] = {
    "layer norm": (_Norm(nn.LayerNorm(64), USES["alone"]), _X),
    "RMS norm": (_Norm(nn.RMSNorm(64, eps=1e-6), USES["alone"]), _X),
    "RMS norm of transformers": (_RmsByHand(), _X),
    "silu of a gate": (Function(lambda x, y: F.silu(x) * y), (*_X, torch.randn(16, 64))),
    "rotary embedding of halves": (Function(_rotary(True, 32)), _PAIRS),
    "rotary embedding of neighbors": (Function(_rotary(False, 32)), _PAIRS),
    "rotary embedding of transformers": (
        Function(_rotary_of_transformers),
        (torch.randn(1, 3, 5, 64), torch.randn(5, 64), torch.randn(5, 64)),
    ),
}


@pytest.mark.parametrize("name", ONE_OPERATOR)
def test_norms_and_rotations_written_as_several_nodes_run_as_one_operator(name: str, tmp_path: Path) -> None:
    model, inputs = ONE_OPERATOR[name]
    assert _count_operators(model, inputs, None, [inputs], tmp_path) == 1


def _count_operators(model: nn.Module, inputs: Tensors, dynamic: object, calls: list[Tensors], folder: Path) -> int:
    """Return how many operators of the delegate a call runs on average. Each call must match eager."""
    exported = torch.export.export(model.eval(), inputs, dynamic_shapes=dynamic)
    edge = to_edge_transform_and_lower(exported, partitioner=[XnnpackPartitioner()])
    module = portable_lib._load_for_executorch_from_buffer(edge.to_executorch().buffer, enable_etdump=True)
    for call in calls:
        _assert_close(module.run_method("forward", list(call))[0], model(*call))
    module.write_etdump_result_to_file(str(folder / "run.etdp"))
    frame = Inspector(etdump_path=str(folder / "run.etdp")).to_dataframe()
    return len([name for name in frame["event_name"] if "(N" in name])


@pytest.mark.sampled
@pytest.mark.parametrize("name", ["layer norm", "RMS norm", "RMS norm of transformers"])
def test_a_norm_of_a_batch_and_a_sequence_that_vary_is_one_operator(name: str, tmp_path: Path) -> None:
    shapes = {0: torch.export.Dim("batch", min=0, max=4), 1: torch.export.Dim("length", min=1, max=32)}
    model = ONE_OPERATOR[name][0]
    calls = [(3 * torch.randn(*sizes, 64) + 1,) for sizes in ((2, 9), (1, 32), (4, 1))]
    assert _count_operators(model, calls[0], (shapes,), calls, tmp_path) == 1
    empty = (torch.randn(0, 5, 64),)
    _assert_close(_method(model, calls[0], (shapes,))(empty)[0], model(*empty))


@pytest.mark.parametrize("halves", [True, False])
def test_rotary_embeddings_run_at_other_sizes_than_exported(halves: bool) -> None:
    count = {0: torch.export.Dim("positions", min=1, max=40)}
    model = Function(lambda x, cos, sin: rotate(x * 2, cos, sin, halves=halves) - 1)
    exported = (torch.randn(1, 6, 3, 16), torch.randn(6, 6), torch.randn(6, 6))
    execute = _method(model, exported, (({1: count[0]}, count, count),))
    for positions in (6, 1, 40, 2):
        inputs = (torch.randn(1, positions, 3, 16), torch.randn(positions, 6), torch.randn(positions, 6))
        _assert_close(execute(inputs)[0], model(*inputs))
