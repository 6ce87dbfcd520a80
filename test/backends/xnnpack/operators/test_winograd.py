# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Large 3 x 3 convolutions by Winograd tiles: correct for all sizes and values, and as exact as direct sums."""

import copy
from collections.abc import Callable
from pathlib import Path

import pytest
import torch
from oracle.models.xnnpack_runtime import needs_xnnpack
from oracle.tolerances import LAYER, ONE_ROUNDING
from torch import nn
from torch.nn import functional as F

from executorch.backends.xnnpack.partition.xnnpack_partitioner import XnnpackPartitioner
from executorch.exir import to_edge_transform_and_lower
from executorch.runtime import Runtime

pytestmark = needs_xnnpack

Images = tuple[torch.Tensor, ...]


def _program(model: nn.Module, inputs: Images, dynamic: object = None) -> bytes:
    exported = torch.export.export(model.eval(), inputs, dynamic_shapes=dynamic)
    return to_edge_transform_and_lower(exported, partitioner=[XnnpackPartitioner()]).to_executorch().buffer


def _method(model: nn.Module, inputs: Images, dynamic: object = None) -> Callable[[Images], list[torch.Tensor]]:
    return Runtime.get().load_program(_program(model, inputs, dynamic)).load_method("forward").execute


def _exact(model: nn.Module, *inputs: torch.Tensor) -> torch.Tensor:
    return copy.deepcopy(model).double()(*(x.double() for x in inputs))


def _assert_of_products(actual: torch.Tensor, model: nn.Module, x: torch.Tensor) -> None:
    """NaN and infinities where they are in exact sums; else errors as of few roundings of products with the largest
    weight of each kernel."""
    exact = _exact(model, x)
    torch.testing.assert_close(actual.isnan(), exact.isnan())
    infinite = actual.isinf() | exact.isinf()
    torch.testing.assert_close(actual[infinite].double(), exact[infinite])
    absolute = copy.deepcopy(model)
    for parameter in absolute.parameters():
        sizes = parameter.data.abs()
        parameter.data = sizes.amax((2, 3), keepdim=True).expand_as(sizes) if sizes.dim() == 4 else sizes
    scale = _exact(absolute, x.abs().nan_to_num(0, 0))
    error = (actual - exact).abs()[exact.isfinite()]
    assert bool((error <= ONE_ROUNDING["rtol"] * scale[exact.isfinite()]).all()), float(error.max())


CONVOLUTIONS = {
    "of whole tiles": lambda: (nn.Conv2d(64, 64, 3, padding=1), (1, 64, 14, 16)),
    "of odd sizes": lambda: (nn.Conv2d(48, 40, 3, padding=1), (1, 48, 11, 13)),
    "without padding": lambda: (nn.Conv2d(64, 33, 3), (1, 64, 15, 14)),
    "with wide padding": lambda: (nn.Conv2d(50, 47, 3, padding=(3, 2)), (1, 50, 9, 12)),
    "of another padding on each side": lambda: (
        nn.Sequential(nn.ZeroPad2d((2, 0, 1, 3)), nn.Conv2d(64, 64, 3)),
        (1, 64, 10, 13),
    ),
    "of one column": lambda: (nn.Conv2d(64, 64, 3, padding=1), (1, 64, 70, 1)),
    "of several images": lambda: (nn.Conv2d(67, 101, 3, padding=1, bias=False), (3, 67, 9, 7)),
    "of many channels": lambda: (nn.Conv2d(300, 96, 3, padding=1), (1, 300, 14, 14)),
}


@pytest.mark.parametrize("kind", CONVOLUTIONS)
def test_convolutions_match_exact_sums(kind: str) -> None:
    torch.manual_seed(0)
    model, shape = CONVOLUTIONS[kind]()
    x = torch.randn(shape)
    _assert_of_products(_method(model, (x,))((x,))[0], model, x)


def test_errors_are_as_small_as_those_of_direct_sums() -> None:
    torch.manual_seed(0)
    model, x = nn.Conv2d(128, 64, 3, padding=1), torch.randn(1, 128, 16, 16).relu()
    exact = _exact(model, x)
    (actual,) = _method(model, (x,))((x,))
    direct = F.unfold(x, 3, padding=1)[0].T.contiguous()
    sums = torch.zeros(256, 64)
    for column, weight in zip(direct.T, model.weight.reshape(64, -1).T, strict=True):
        sums = torch.addcmul(sums, column[:, None], weight[None, :])  # one after the other, as products are summed
    expected = (sums + model.bias).T.reshape(1, 64, 16, 16)
    assert (actual - exact).square().mean() <= 9 * (expected - exact).square().mean()


def test_all_sizes_within_the_bound_run() -> None:
    torch.manual_seed(0)
    model = nn.Conv2d(64, 40, 3, padding=1)
    sizes = {
        dim: torch.export.Dim(name, min=1, max=most) for dim, name, most in ((0, "n", 3), (2, "h", 20), (3, "w", 17))
    }
    execute = _method(model, (torch.randn(2, 64, 9, 8),), {"input": sizes})
    for shape in ((2, 64, 9, 8), (1, 64, 1, 1), (3, 64, 20, 17), (1, 64, 2, 17), (3, 64, 5, 1)):
        x = torch.randn(shape)
        _assert_of_products(execute((x,))[0], model, x)


@pytest.mark.parametrize("number", [torch.nan, torch.inf, -torch.inf, 1e36, -1e30, 1e13])
@pytest.mark.parametrize("count", [1, 40])
def test_large_and_non_finite_values_stay_in_their_tiles(number: float, count: int) -> None:
    torch.manual_seed(0)
    model, x = nn.Conv2d(48, 40, 3, padding=1), torch.randn(2, 48, 11, 13)
    with torch.no_grad():
        model.weight[torch.rand(model.weight.shape) < 0.2] = 0  # which an infinity makes NaN
        model.weight[torch.rand(model.weight.shape) < 0.2] *= 1e-12  # whose signs count
    execute = _method(model, (x,))
    x.view(-1)[torch.randperm(x.numel())[:count]] = number
    x[1, 3, 4, 5] = torch.inf
    _assert_of_products(execute((x,))[0], model, x)


def test_a_region_of_equal_large_numbers_is_found() -> None:
    torch.manual_seed(0)
    model, x = nn.Conv2d(48, 40, 3, padding=1), torch.randn(1, 48, 12, 12)
    execute = _method(model, (x,))
    x[:, :, 3:10, 2:9] = 1e37
    _assert_of_products(execute((x,))[0], model, x)


@pytest.mark.parametrize("number", [torch.nan, torch.inf, 1e30])
def test_weights_and_biases_that_are_not_finite_or_large_are_used_as_they_are(number: float) -> None:
    torch.manual_seed(0)
    x = torch.randn(1, 48, 12, 12)
    for name in ("weight", "bias"):
        model = nn.Conv2d(48, 40, 3, padding=1)
        getattr(model, name).data.view(-1)[7] = number
        (actual,) = _method(model, (x,))((x,))
        torch.testing.assert_close(actual, model(x), **LAYER, equal_nan=True)


class _Residual(nn.Module):
    def __init__(self, limits: tuple[float, float]) -> None:
        super().__init__()
        self.convolution = nn.Conv2d(64, 37, 3, padding=1)
        self.limits = limits

    def forward(self, x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        return (self.convolution(x) + y).clamp(*self.limits)


@pytest.mark.parametrize("limits", [(0.0, torch.inf), (-0.25, 0.5)])
def test_residuals_and_clamps_are_fused(limits: tuple[float, float]) -> None:
    torch.manual_seed(0)
    model, inputs = _Residual(limits), (torch.randn(2, 64, 11, 13), torch.randn(2, 37, 11, 13))
    execute = _method(model, inputs)
    for _ in range(2):
        torch.testing.assert_close(execute(inputs)[0], model(*inputs), **LAYER, equal_nan=True)
        inputs[0].view(-1)[::977], inputs[1].view(-1)[::89] = torch.nan, -torch.inf


@pytest.mark.parametrize("shape", [(1, 64, 30, 31), (1, 256, 12, 12), (2, 64, 9, 9)])
def test_the_number_of_threads_changes_no_bit(shape: tuple[int, ...]) -> None:
    torch.manual_seed(0)
    model, x = nn.Conv2d(shape[1], 128, 3, padding=1), torch.randn(shape)
    x.view(-1)[::4001] = torch.inf
    program = Runtime.get().load_program(_program(model, (x,)))
    results = [program.load_method("forward", threads=threads).execute((x,))[0] for threads in (1, 2, 3, 7)]
    for result in results[1:]:
        torch.testing.assert_close(result, results[0], rtol=0, atol=0, equal_nan=True)


class _HalfWeights(nn.Module):
    """A convolution of float32 images whose weights are stored in float16."""

    def __init__(self, layer: nn.Conv2d) -> None:
        super().__init__()
        self.layer = layer.half()

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        assert self.layer.bias is not None
        return F.conv2d(x, self.layer.weight.float(), self.layer.bias.float(), padding=1)


@pytest.mark.parametrize("weights", ["float32", "float16", "infinite"])
def test_transformed_weights_are_kept_in_the_file(weights: str, tmp_path: Path) -> None:
    """Infinite weights are packed as a product's. Both loads choose alike."""
    torch.manual_seed(0)
    layer, x = nn.Conv2d(64, 64, 3, padding=1), torch.randn(1, 64, 14, 14)
    if weights == "infinite":
        layer.weight.data[5, 3, 1, 1] = torch.inf
    model = _HalfWeights(layer) if weights == "float16" else layer
    program, results = _program(model, (x,)), []
    for _ in range(2):
        options = {"XnnpackBackend": {"packed_cache_path": str(tmp_path / "weights")}}
        loaded = Runtime.get().load_program(program, backend_options=options)
        results.append(loaded.load_method("forward").execute((x,))[0])
        del loaded
    torch.testing.assert_close(results[0], results[1], rtol=0, atol=0, equal_nan=True)
    _assert_of_products(results[0], layer.float(), x)
