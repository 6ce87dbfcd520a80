# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Gradients of pooling against eager; for 16-bit floats, against eager in float32."""

from __future__ import annotations

import itertools
from typing import Any

import pytest
import torch
from oracle.kernels.against_eager import assert_kernel_refuses, assert_matches, eager, random_tensor
from oracle.kernels.kernel_entry import call_kernel

FLOATS = [torch.float16, torch.bfloat16, torch.float32, torch.float64]
# (spatial dimensions, input sizes, (kernel, stride, padding, dilation))
FIXED = [
    (2, (2, 3, 9, 10), ([2], [2], [0], [1])),
    (2, (3, 9, 10), ([3, 2], [2, 1], [1, 1], [1])),
    (2, (2, 3, 9, 600), ([3], [1], [1], [2])),
    (3, (2, 3, 6, 7, 5), ([2], [2], [0], [1])),
    (3, (3, 6, 7, 5), ([3, 2, 3], [1], [1], [1])),
]
# (spatial dimensions, input sizes, output sizes), for adaptive pools
FITTED = [
    (2, (2, 3, 7, 12), (3, 5)),
    (2, (3, 7, 12), (7, 13)),
    (3, (2, 3, 4, 5, 6), (2, 3, 4)),
    (3, (2, 4, 5, 6), (1, 1, 1)),
]


@pytest.fixture(autouse=True)
def seed() -> None:
    torch.manual_seed(0)


def check(name: str, x: torch.Tensor, result: torch.Tensor, *rest: Any) -> None:
    grad = random_tensor(tuple(result.shape), x.dtype)
    wide = torch.float32 if x.dtype in (torch.float16, torch.bfloat16) else x.dtype
    expected = eager_gradient(name, grad.to(wide), x.to(wide), *rest).to(x.dtype)
    layouts = [torch.contiguous_format, *([torch.channels_last] if x.dim() == 4 and "2d" in name else [])]
    for layout in layouts:

        def laid_out(value: Any, layout: torch.memory_format = layout) -> Any:
            return value.contiguous(memory_format=layout) if isinstance(value, torch.Tensor) else value

        out = torch.full_like(laid_out(x), 77)
        call = call_kernel(name, *map(laid_out, (grad, x, *rest)), out=out)
        assert call.error == 0, call.message
        assert_matches(call.outputs[0], expected, f"{name} {tuple(x.shape)} {layout}")


def eager_gradient(name: str, *args: Any) -> torch.Tensor:
    operator = getattr(torch.ops.aten, name.removeprefix("aten::").partition(".")[0])
    return operator(*args)  # type: ignore[no-any-return]


@pytest.mark.parametrize("dtype", FLOATS, ids=str)
@pytest.mark.parametrize("ceil", [False, True])
def test_gradients_of_max_pooling_match_eager(dtype: torch.dtype, ceil: bool) -> None:
    for spatial, sizes, window in FIXED:
        x = random_tensor(sizes, dtype)
        pooled = eager(f"aten::max_pool{spatial}d_with_indices.out", x, *window, ceil)
        check(f"aten::max_pool{spatial}d_with_indices_backward.grad_input", x, pooled[0], *window, ceil, pooled[1])


@pytest.mark.parametrize("dtype", [*FLOATS, torch.int64], ids=str)
@pytest.mark.parametrize("count", [False, True])
def test_gradients_of_average_pooling_match_eager(dtype: torch.dtype, count: bool) -> None:
    for (spatial, sizes, window), ceil, divisor in itertools.product(FIXED, (False, True), (None, 3)):
        x = random_tensor(sizes, dtype)
        wide = x if dtype in (torch.float64, torch.int64) else x.float()
        if dtype is torch.int64 and spatial == 3:
            continue  # eager has none
        arguments = (*window[:3], ceil, count, divisor)
        pooled = eager(f"aten::avg_pool{spatial}d.out", wide, *arguments)
        check(f"aten::avg_pool{spatial}d_backward.grad_input", x, pooled[0], *arguments)


@pytest.mark.parametrize("dtype", FLOATS, ids=str)
def test_gradients_of_adaptive_pooling_match_eager(dtype: torch.dtype) -> None:
    for spatial, sizes, size in FITTED:
        x = random_tensor(sizes, dtype)
        mean = eager(f"aten::_adaptive_avg_pool{spatial}d.out", x, size)[0]
        check(f"aten::_adaptive_avg_pool{spatial}d_backward.out", x, mean)
        best, places = eager(f"aten::adaptive_max_pool{spatial}d.out", x, size)
        check(f"aten::adaptive_max_pool{spatial}d_backward.grad_input", x, best, places)


def test_bad_arguments_are_refused() -> None:
    x, grad, out = torch.ones(1, 2, 4, 4), torch.ones(1, 2, 2, 2), torch.ones(1, 2, 4, 4)
    window: tuple[Any, ...] = ([2], [2], [0], [1], False)
    places = torch.zeros(1, 2, 2, 2, dtype=torch.int64)
    name = "aten::max_pool2d_with_indices_backward.grad_input"
    for wild in (-1, 16, -(2**63), 2**62):
        assert "outside" in assert_kernel_refuses(name, grad, x, *window, torch.full_like(places, wild), out=out)
    assert_kernel_refuses(name, grad, x, *window, places.int(), out=out)
    assert_kernel_refuses(name, grad, x, *window, places[:, :1], out=out)
    assert_kernel_refuses(name, x, x, *window, places, out=out)
    assert_kernel_refuses(name, grad.long(), x.long(), *window, places, out=out.long())
    assert_kernel_refuses(name, grad, x, [0], *window[1:], places, out=out)
    assert_kernel_refuses("aten::avg_pool2d_backward.grad_input", grad, x, [2], [2], [0], False, True, 0, out=out)
    assert_kernel_refuses("aten::_adaptive_avg_pool2d_backward.out", grad[:, :1], x, out=out)
    assert_kernel_refuses("aten::_adaptive_avg_pool2d_backward.out", grad, torch.ones(1, 2, 0, 4), out=out)
