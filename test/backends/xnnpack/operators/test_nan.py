# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""NaN and infinities appear in results of delegates where they do in eager mode, and nowhere else."""

from collections.abc import Callable

import pytest
import torch
from models.function_module import Function
from oracle.models.xnnpack_runtime import needs_xnnpack
from oracle.tolerances import EXPONENTIALS, ROUNDED_ONCE
from torch.nn import functional as F

from executorch.backends.xnnpack.partition.xnnpack_partitioner import XnnpackPartitioner
from executorch.exir import to_edge_transform_and_lower
from executorch.runtime import Runtime

pytestmark = needs_xnnpack


def _weights(*shape: int) -> torch.Tensor:
    return torch.linspace(-1, 1, torch.Size(shape).numel()).reshape(shape)


def _image(x: torch.Tensor) -> torch.Tensor:
    return x.view(1, 1, 3, 8)


OPERATORS: dict[str, Callable[[torch.Tensor], torch.Tensor]] = {
    "relu": F.relu,
    "relu6": F.relu6,
    "clamp": lambda x: x.clamp(-0.5, 0.5),
    "clamp from below": lambda x: x.clamp(min=0.1),
    "clamp from above": lambda x: x.clamp(max=0.1),
    "hardswish": F.hardswish,
    "maximum": lambda x: torch.maximum(x, x.flip(0) * 0 + 0.5),
    "minimum": lambda x: torch.minimum(x * 0 + 0.5, x),
    "add and relu": lambda x: F.relu(x + 1),
    "max pool": lambda x: F.max_pool2d(_image(x), 2),
    "largest of rows": lambda x: x.view(8, 3).amax(1),
    "largest of images": lambda x: x.view(1, 2, 3, 4).amax((2, 3)),
    "smallest of images": lambda x: x.view(2, 3, 2, 2).amin((2, 3), keepdim=True),
    "softplus": F.softplus,
    "mish": F.mish,
    "expm1": torch.expm1,
    "log1p": torch.log1p,
    "cumulative sum": lambda x: x.view(3, 8).cumsum(1),
    "selection": lambda x: torch.where(x > 0, x, -0.5),
    "clamped to tensors": lambda x: x.clamp(x.view(2, 12)[0, :1] * 0 - 1, torch.tensor([0.5]).to(x.dtype)),
    "average pool": lambda x: F.avg_pool2d(_image(x), (1, 2)),
    "mean": lambda x: x.view(3, 8).mean(1),
    "softmax": lambda x: torch.softmax(x.view(3, 8), -1),
    "linear with few columns": lambda x: F.linear(x.view(3, 8), _weights(4, 8).to(x.dtype)),
    "linear and relu": lambda x: F.relu(F.linear(x.view(3, 8), _weights(17, 8).to(x.dtype))),
    "convolution and relu": lambda x: F.relu(F.conv2d(_image(x), _weights(3, 1, 2, 2).to(x.dtype))),
    "convolution of colours": lambda x: F.conv2d(x.view(1, 3, 2, 4), _weights(33, 3, 2, 3).to(x.dtype)),
    "depthwise and relu6": lambda x: F.relu6(F.conv2d(x.view(1, 2, 3, 4), _weights(2, 1, 2, 2).to(x.dtype), groups=2)),
}


@pytest.mark.sampled
@pytest.mark.parametrize("dtype", [torch.float32, torch.float16])
@pytest.mark.parametrize("name", OPERATORS)
def test_nan_and_infinities_are_where_eager_has_them(name: str, dtype: torch.dtype) -> None:
    torch.manual_seed(0)
    x = torch.randn(24)
    x[[0, 17]], x[3], x[9] = torch.nan, torch.inf, -torch.inf
    x = x.to(dtype)
    model = Function(OPERATORS[name])
    edge = to_edge_transform_and_lower(torch.export.export(model, (x,)), partitioner=[XnnpackPartitioner()])
    (result,) = Runtime.get().load_program(edge.to_executorch().buffer).load_method("forward").execute((x,))
    torch.testing.assert_close(result, model(x), **ROUNDED_ONCE[dtype], equal_nan=True)


@pytest.mark.parametrize("channels", [1, 7, 8, 13, 24])
@pytest.mark.parametrize("window", [(1, 2), 2, 3, (2, 5), 5])
def test_the_maximum_of_a_window_with_a_nan_is_nan(channels: int, window: int | tuple[int, int]) -> None:
    torch.manual_seed(0)
    shape = (2, channels, 9, 11)
    images = [torch.randn(shape), torch.where(torch.rand(shape) < 0.05, torch.nan, torch.randn(shape))]
    images.append(torch.where(torch.rand(shape) < 0.5, -torch.inf, images[1]))
    model = Function(lambda x: F.max_pool2d(x, window, stride=2, padding=int(window == 3)))
    edge = to_edge_transform_and_lower(torch.export.export(model, (images[0],)), partitioner=[XnnpackPartitioner()])
    method = Runtime.get().load_program(edge.to_executorch().buffer).load_method("forward")
    for x in images:
        (result,) = method.execute((x,))
        torch.testing.assert_close(result, model(x), rtol=0, atol=0, equal_nan=True)


ELEMENTARY: dict[str, Callable[[torch.Tensor], torch.Tensor]] = {
    **{name: getattr(torch, name) for name in ("exp", "log", "sin", "cos", "sqrt", "rsqrt", "sigmoid", "tanh", "sign")},
    "silu": F.silu,
    "elu": F.elu,
    "reciprocal": torch.reciprocal,
    "square": torch.square,
    "vector norm": lambda x: torch.linalg.vector_norm(x.view(-1, 1), dim=1),
}


def _of_all_magnitudes(dtype: torch.dtype) -> torch.Tensor:
    """Both signs, zeros, infinities, NaN; none whose square root, reciprocal or half is subnormal."""
    exponents = torch.linspace(*((-120, 125, 300) if dtype == torch.float32 else (-13, 13, 60)))
    sizes = torch.cat([torch.exp2(exponents), torch.tensor([0.0, torch.inf])])
    return torch.cat([sizes, -sizes, torch.tensor([torch.nan])]).to(dtype)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float16])
@pytest.mark.parametrize("name", ELEMENTARY)
def test_elementary_functions_are_right_for_all_magnitudes(name: str, dtype: torch.dtype) -> None:
    x = _of_all_magnitudes(dtype)
    model = Function(ELEMENTARY[name])
    edge = to_edge_transform_and_lower(torch.export.export(model, (x,)), partitioner=[XnnpackPartitioner()])
    (result,) = Runtime.get().load_program(edge.to_executorch().buffer).load_method("forward").execute((x,))
    torch.testing.assert_close(result, model(x), **EXPONENTIALS[dtype], equal_nan=True)
