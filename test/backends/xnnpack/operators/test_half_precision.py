# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Modules in float16 and bfloat16, and float32 modules with rounded factors, against eager in float64."""

import copy
from pathlib import Path
from typing import Any

import pytest
import torch
from oracle.models.delegated import run
from oracle.models.xnnpack_runtime import needs_xnnpack
from oracle.tolerances import BFLOAT16_PRODUCTS, ONE_ROUNDED_FUNCTION
from torch import nn
from torch.nn import functional as F

from executorch.backends.xnnpack.partition.xnnpack_partitioner import XnnpackPartitioner
from executorch.exir import to_edge_transform_and_lower
from executorch.runtime import Runtime

pytestmark = needs_xnnpack

HALVES = [torch.float16, torch.bfloat16]
SPECIAL = torch.tensor([float("nan"), float("inf"), -float("inf"), -0.0, 0.0, 1.0, 6e-8, -1e-40, 65504.0])


class _Convolutional(nn.Module):
    """All kinds of convolutions, pooling, resizing and a classifier, with sizes that are not multiples of tiles."""

    def __init__(self) -> None:
        super().__init__()
        self.stem, self.norm = nn.Conv2d(3, 19, 3, padding=1), nn.BatchNorm2d(19)
        self.depthwise = nn.Conv2d(19, 19, 3, padding=1, groups=19)
        self.point, self.groups = nn.Conv2d(19, 34, 1), nn.Conv2d(34, 34, 3, 2, groups=2)
        self.back = nn.ConvTranspose2d(34, 9, 2, 2)
        self.classifier = nn.Linear(9, 5)

    def forward(self, x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        y = F.relu(self.norm(self.stem(x)))
        y = self.point(F.silu(self.depthwise(y)) + y)
        y = self.back(F.hardswish(self.groups(y)))
        image = F.interpolate(F.max_pool2d(y, 2), scale_factor=2, mode="bilinear")
        return self.classifier(y.mean((2, 3))), image


class _Attention(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.norm, self.inputs, self.outputs = nn.LayerNorm(36), nn.Linear(36, 108), nn.Linear(36, 36)
        self.up, self.down = nn.Linear(36, 71), nn.Linear(71, 36)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        q, k, v = (part.unflatten(-1, (2, 18)).transpose(1, 2) for part in self.inputs(self.norm(x)).chunk(3, -1))
        x = x + self.outputs(F.scaled_dot_product_attention(q, k, v).transpose(1, 2).flatten(2))
        return x + self.down(F.gelu(self.up(x)))


MODELS = {
    "convolutional": lambda: (_Convolutional(), torch.randn(2, 3, 13, 11)),
    "attention": lambda: (_Attention(), torch.randn(2, 23, 36)),
    "linear of one row": lambda: (nn.Linear(130, 67), torch.randn(1, 130)),
}


def _tensors(result: Any) -> tuple[torch.Tensor, ...]:
    return (result,) if isinstance(result, torch.Tensor) else tuple(result)


def _relative_error(output: torch.Tensor, exact: torch.Tensor) -> float:
    return float((output.detach().double() - exact.detach()).norm() / exact.detach().norm())


@pytest.mark.sampled
@pytest.mark.parametrize("dtype", HALVES)
@pytest.mark.parametrize("name", MODELS)
def test_a_half_model_is_one_delegate_and_nearer_to_exact_results_than_eager(name: str, dtype: torch.dtype) -> None:
    torch.manual_seed(0)
    model, x = MODELS[name]()
    model, x = model.eval().to(dtype), x.to(dtype)
    exact = _tensors(copy.deepcopy(model).double()(x.double()))
    eager = _tensors(model(x))
    for mine, theirs, true in zip(run(model, (x,)), eager, exact, strict=True):
        assert mine.dtype == dtype
        assert _relative_error(mine, true) <= 1.1 * _relative_error(theirs, true) + torch.finfo(dtype).eps / 2


@pytest.mark.parametrize("dtype", HALVES)
def test_moved_values_keep_their_bits(dtype: torch.dtype) -> None:
    class Moves(nn.Module):
        def forward(self, x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
            return torch.cat([x, x], 1).permute(1, 0), x.reshape(-1)

    x = SPECIAL.to(dtype).reshape(3, 3)
    for mine, theirs in zip(run(Moves(), (x,)), Moves()(x), strict=True):
        same = mine.view(torch.int16) == theirs.view(torch.int16)
        assert bool((same | (mine.isnan() & theirs.isnan())).all())


@pytest.mark.parametrize("dtype", HALVES)
def test_special_values_match_eager(dtype: torch.dtype) -> None:
    class Functions(nn.Module):
        def forward(self, x: torch.Tensor) -> tuple[torch.Tensor, ...]:
            return x.abs(), F.relu(x), x.neg(), torch.sign(x), x * 2 - 1, torch.sigmoid(x)

    x = SPECIAL.to(dtype)
    for mine, theirs in zip(run(Functions(), (x,)), Functions()(x), strict=True):
        torch.testing.assert_close(mine, theirs, **ONE_ROUNDED_FUNCTION, equal_nan=True)


@pytest.mark.parametrize("dtype", HALVES)
def test_a_conversion_of_the_program_rounds(dtype: torch.dtype) -> None:
    class Rounds(nn.Module):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return (x * 3).to(dtype).float() + 0

    x = torch.randn(5, 7)
    assert torch.equal(run(Rounds(), (x,))[0], Rounds()(x))


def _lowered(model: nn.Module, x: torch.Tensor, **options: str) -> bytes:
    partitioner = XnnpackPartitioner(**options)  # type: ignore[arg-type]
    exported = torch.export.export(model.eval(), (x,))
    return to_edge_transform_and_lower(exported, partitioner=[partitioner]).to_executorch().buffer


def _run(program: bytes, x: torch.Tensor, **options: str) -> tuple[torch.Tensor, ...]:
    loaded = Runtime.get().load_program(program, backend_options={"XnnpackBackend": dict(options)})
    return tuple(loaded.load_method("forward").execute((x,)))


@pytest.mark.parametrize("name", MODELS)
def test_products_may_round_their_factors_by_export_or_by_option(name: str) -> None:
    torch.manual_seed(0)
    model, x = MODELS[name]()
    exact = _tensors(copy.deepcopy(model).eval().double()(x.double()))
    plain, permitted = _lowered(model, x), _lowered(model, x, compute_precision="bf16")
    by_export, by_option = _run(permitted, x), _run(plain, x, compute_precision="bf16")
    for mine, theirs, true in zip(by_export, by_option, exact, strict=True):
        assert torch.equal(mine, theirs)
        assert _relative_error(mine, true) < BFLOAT16_PRODUCTS  # 40 dB
        assert mine.dtype == torch.float32
    for mine, theirs in zip(_run(permitted, x, compute_precision="fp32"), _run(plain, x), strict=True):
        assert torch.equal(mine, theirs)


def test_another_precision_is_refused_by_name() -> None:
    with pytest.raises(ValueError, match="compute_precision must be one of fp32, bf16; found 'fp16'"):
        XnnpackPartitioner(compute_precision="fp16")


@pytest.mark.skipif(torch.backends.cpu.get_cpu_capability() == "DEFAULT", reason="older processors pack float32")
@pytest.mark.parametrize("dtype", HALVES)
@pytest.mark.parametrize("rows", [1, 3, 8, 56])
def test_packed_weights_of_linear_layers_keep_16_bits(rows: int, dtype: torch.dtype, tmp_path: Path) -> None:
    torch.manual_seed(0)
    model, x = nn.Linear(320, 481).to(dtype), torch.randn(rows, 320).to(dtype)
    exact = copy.deepcopy(model).double()(x.double())
    packed = tmp_path / "packed"
    (output,) = _run(_lowered(model, x), x, packed_cache_path=str(packed))
    assert _relative_error(output, exact) < BFLOAT16_PRODUCTS
    assert packed.stat().st_size < 3 * model.weight.numel()
