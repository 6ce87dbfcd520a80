# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Pooling and padding against eager."""

from __future__ import annotations

import itertools
from typing import Any

import pytest
import torch
from oracle.kernels.against_eager import assert_kernel_matches_eager, assert_kernel_refuses, random_tensor

FLOATS = [torch.float16, torch.bfloat16, torch.float32, torch.float64]
INTEGERS = [torch.uint8, torch.int8, torch.int16, torch.int32, torch.int64]


@pytest.fixture(autouse=True)
def seed() -> None:
    torch.manual_seed(0)


@pytest.mark.parametrize("ceil", [False, True])
@pytest.mark.parametrize("layout", [None, torch.channels_last], ids=str)
def test_max_pooling_matches_eager(ceil: bool, layout: Any) -> None:
    x = torch.randn(2, 3, 13, 10)
    for kernel, stride, padding, dilation in itertools.product(
        [[2], [3, 2]], [[], [1], [2, 3]], [[0], [1]], [[1], [2]]
    ):
        if padding == [0] or kernel == [3, 2] or layout is None:
            image = x.to(memory_format=layout) if layout else x
            args = (kernel, stride, padding, dilation, ceil)
            assert_kernel_matches_eager("aten::max_pool2d_with_indices.out", image, *args, memory_format=layout)
    assert_kernel_matches_eager(
        "aten::max_pool3d_with_indices.out", torch.randn(2, 2, 6, 7, 5), [2], [2], [1], [1], ceil
    )
    assert_kernel_matches_eager("aten::max_pool2d_with_indices.out", torch.randn(3, 9, 600), [3], [1], [1], [1], ceil)


@pytest.mark.parametrize("dtype", FLOATS + INTEGERS, ids=str)
def test_max_pooling_of_every_dtype_matches_eager(dtype: torch.dtype) -> None:
    assert_kernel_matches_eager("aten::max_pool2d_with_indices.out", random_tensor((2, 3, 8, 9), dtype), [3], [2], [1])


def test_max_pooling_of_nan_and_infinity_matches_eager() -> None:
    x = torch.randn(1, 2, 8, 8)
    x[0, 0, 2, 3] = float("nan")
    x[0, 1] = -float("inf")
    assert_kernel_matches_eager("aten::max_pool2d_with_indices.out", x, [3], [2], [1])


@pytest.mark.parametrize("dtype", [*FLOATS, torch.int64], ids=str)
@pytest.mark.parametrize("ceil", [False, True])
@pytest.mark.parametrize("count", [False, True])
def test_average_pooling_matches_eager(dtype: torch.dtype, ceil: bool, count: bool) -> None:
    x = random_tensor((2, 3, 11, 10), dtype)
    for divisor in (None, 3, -2):
        for kernel, stride, padding in [([2], [], [0]), ([3, 2], [2, 3], [1, 1]), ([3], [1], [1])]:
            assert_kernel_matches_eager("aten::avg_pool2d.out", x, kernel, stride, padding, ceil, count, divisor)
        if dtype in (torch.float16, torch.bfloat16):
            continue  # eager has no three-dimensional one
        x3 = random_tensor((2, 2, 5, 6, 7), dtype)
        assert_kernel_matches_eager("aten::avg_pool3d.out", x3, [2, 3, 3], [2], [1], ceil, count, divisor)
    assert_kernel_matches_eager("aten::avg_pool1d.out", x[0], [3], [2], [1], ceil, count)
    last = x.to(memory_format=torch.channels_last)
    assert_kernel_matches_eager(
        "aten::avg_pool2d.out", last, [3], [2], [1], ceil, count, None, memory_format=torch.channels_last
    )


@pytest.mark.parametrize("dtype", FLOATS, ids=str)
def test_adaptive_pooling_matches_eager(dtype: torch.dtype) -> None:
    x = torch.randn(2, 3, 7, 12).to(dtype)
    for size in [(1, 1), (7, 7), (3, 5), (9, 13), (7, 12), (0, 2)]:
        assert_kernel_matches_eager("aten::_adaptive_avg_pool2d.out", x, size)
        if 0 not in size:
            assert_kernel_matches_eager("aten::adaptive_max_pool2d.out", x, size)
    assert_kernel_matches_eager("aten::adaptive_avg_pool1d.out", x[0], [5])
    assert_kernel_matches_eager("aten::_adaptive_avg_pool3d.out", torch.randn(1, 2, 4, 5, 6).to(dtype), [2, 3, 4])
    assert_kernel_matches_eager("aten::adaptive_max_pool3d.out", torch.randn(2, 4, 5, 6).to(dtype), [2, 3, 4])


def test_pooling_refuses_bad_arguments() -> None:
    x, outs = torch.ones(1, 2, 4, 4), [torch.ones(1, 2, 4, 4), torch.ones(1, 2, 4, 4).long()]
    name = "aten::max_pool2d_with_indices.out"
    for args in [([0],), ([2], [0]), ([2], [2], [2]), ([9],), ([2, 2, 2],), ([2], [2], [0], [0]), ([2], [2], [-1])]:
        assert_kernel_refuses(name, x, *args, out=outs)
    assert_kernel_refuses(name, x.bool(), [2], out=[outs[0].bool(), outs[1]])
    assert_kernel_refuses(name, x[0, 0], [2], out=outs)
    assert_kernel_refuses("aten::avg_pool2d.out", x, [2], divisor_override=0, out=outs[0])
    assert_kernel_refuses("aten::_adaptive_avg_pool2d.out", x, [-1, 2], out=outs[0])
    assert_kernel_refuses("aten::_adaptive_avg_pool2d.out", torch.ones(1, 2, 0, 4), [1, 2], out=outs[0])


@pytest.mark.parametrize("dtype", [*FLOATS, *INTEGERS, torch.bool], ids=str)
def test_constant_padding_matches_eager(dtype: torch.dtype) -> None:
    x = random_tensor((2, 3, 4, 5), dtype)
    for pad in [[], [1, 2], [0, 0, 3, 1], [-1, 2, 1, -2], [-1, -1], [0, 0, 0, 0, 2, -1], [1, 1, 1, 1, 1, 1, 1, 1]]:
        for value in (0, 3, 2.5):
            assert_kernel_matches_eager("aten::constant_pad_nd.out", x, pad, value)
    last = x.to(memory_format=torch.channels_last)
    assert_kernel_matches_eager("aten::constant_pad_nd.out", last, [1, 2, 0, 1], 1, memory_format=torch.channels_last)


@pytest.mark.parametrize("dtype", FLOATS + INTEGERS, ids=str)
@pytest.mark.parametrize("kind", ["reflection", "replication"])
def test_border_padding_matches_eager(kind: str, dtype: torch.dtype) -> None:
    for spatial, pads in [
        (1, [[1, 2], [0, 4], [-1, 2]]),
        (2, [[1, 2, 3, 0], [-1, 1, 2, -2], [4, 4, 2, 2]]),
        (3, [[1, 1, 2, 0, 1, 2]]),
    ]:
        for pad, batch in itertools.product(pads, ((), (2,))):
            x = random_tensor((*batch, 3, 4, 5, 6)[: len(batch) + 1] + (5,) * spatial, dtype)
            assert_kernel_matches_eager(f"aten::{kind}_pad{spatial}d.out", x, pad)


def test_padding_refuses_bad_arguments() -> None:
    x, out = torch.ones(1, 2, 4, 4), torch.ones(1, 2, 9, 9)
    for pad in ([1], [1] * 10, [-3, -3], [1 << 62, 0], [-1 << 63, -2], [9, 9, 9, 9, 9, 9]):
        assert_kernel_refuses("aten::constant_pad_nd.out", x, pad, out=out)
    for pad in ([4, 0, 0, 0], [1, 1], [-5, 0, 0, 0], [-2, -2, 0, 0]):
        assert_kernel_refuses("aten::reflection_pad2d.out", x, pad, out=out)
    assert_kernel_refuses("aten::replication_pad2d.out", torch.ones(2, 0, 4), [1, 1, 1, 1], out=out)
