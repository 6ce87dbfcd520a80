# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Softmax and the norms against eager."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from oracle.kernels.against_eager import assert_kernel_matches_eager, assert_kernel_refuses
from oracle.tolerances import MODEL

FLOATS = [torch.float16, torch.bfloat16, torch.float32, torch.float64]


@pytest.fixture(autouse=True)
def seed() -> None:
    torch.manual_seed(0)


@pytest.mark.parametrize("dtype", FLOATS, ids=str)
@pytest.mark.parametrize("name", ["aten::_softmax.out", "aten::_log_softmax.out"])
def test_softmax_along_every_dimension_matches_eager(name: str, dtype: torch.dtype) -> None:
    for shape in [(3, 700), (2, 3, 5), (4, 1), (0, 3), (3, 0), (1,), (2, 3, 4, 5)]:
        x = (torch.randn(shape) * 5).to(dtype)
        for dim in range(-len(shape), len(shape)):
            assert_kernel_matches_eager(name, x, dim, False)
    last = torch.randn(2, 6, 4, 5).to(dtype).to(memory_format=torch.channels_last)
    for dim in range(4):
        assert_kernel_matches_eager(name, last, dim, False, memory_format=torch.channels_last)
    assert_kernel_matches_eager(name, torch.tensor(3.0, dtype=dtype), 0, False)


@pytest.mark.parametrize("name", ["aten::_softmax.out", "aten::_log_softmax.out"])
def test_softmax_of_infinities_and_nan_matches_eager(name: str) -> None:
    inf, nan = float("inf"), float("nan")
    rows = [[-inf, 1, 2], [-inf, -inf, -inf], [inf, 1, 2], [nan, 1, 2], [1e4, -1e4, 0], [3, 3, 3]]
    assert_kernel_matches_eager(name, torch.tensor(rows), 1, False)
    assert_kernel_matches_eager(name, torch.tensor(rows).repeat(1, 7), 1, False)


@pytest.mark.parametrize("name", ["aten::_softmax.out", "aten::_log_softmax.out"])
@pytest.mark.parametrize("dtype", [torch.bool, torch.int32, torch.float32], ids=str)
def test_softmax_without_elements_takes_any_dtype_as_eager_does(name: str, dtype: torch.dtype) -> None:
    for shape in [(0,), (0, 3), (3, 0)]:
        assert_kernel_matches_eager(name, torch.zeros(shape, dtype=dtype), -1, False)


def test_softmax_refuses_bad_arguments() -> None:
    x = torch.ones(2, 3)
    assert_kernel_refuses("aten::_softmax.out", x, 2, False, out=x.clone())
    assert_kernel_refuses("aten::_softmax.out", x.int(), 1, False, out=x.int())
    assert_kernel_refuses("aten::_softmax.out", x, 1, True, out=x.clone())
    assert_kernel_refuses("aten::_softmax.out", x, 1, False, out=x.double())


def optional(present: bool, *shape: int, dtype: torch.dtype) -> torch.Tensor | None:
    return torch.randn(shape).to(dtype) if present else None


@pytest.mark.parametrize("dtype", FLOATS, ids=str)
@pytest.mark.parametrize("weight", [False, True])
@pytest.mark.parametrize("bias", [False, True])
def test_layer_norm_matches_eager(dtype: torch.dtype, weight: bool, bias: bool) -> None:
    for shape, tail in [((4, 384), 1), ((2, 3, 700), 1), ((2, 3, 5), 2), ((6,), 1), ((0, 4), 1), ((2, 3, 4, 5), 3)]:
        sizes = shape[-tail:]
        affine = (optional(weight, *sizes, dtype=dtype), optional(bias, *sizes, dtype=dtype))
        x = (torch.randn(shape) * 3 + 1).to(dtype)
        assert_kernel_matches_eager("aten::native_layer_norm.out", x, list(sizes), *affine, 1e-5)


@pytest.mark.parametrize("dtype", FLOATS, ids=str)
def test_group_norm_matches_eager(dtype: torch.dtype) -> None:
    for shape, groups in [((2, 6, 4, 5), 3), ((3, 4, 300), 2), ((1, 8), 8), ((2, 4, 3, 3, 2), 1), ((0, 4, 2, 2), 2)]:
        n, c, hw = shape[0], shape[1], torch.Size(shape[2:]).numel()
        x = torch.randn(shape).to(dtype)
        for affine in (True, False):
            weights = (optional(affine, c, dtype=dtype), optional(affine, c, dtype=dtype))
            assert_kernel_matches_eager("aten::native_group_norm.out", x, *weights, n, c, hw, groups, 1e-5)
    x = torch.randn(2, 6, 4, 5).to(dtype).to(memory_format=torch.channels_last)
    assert_kernel_matches_eager(
        "aten::native_group_norm.out", x, None, None, 2, 6, 20, 2, 1e-3, memory_format=torch.channels_last
    )


@pytest.mark.parametrize("dtype", FLOATS, ids=str)
@pytest.mark.parametrize("affine", [False, True])
@pytest.mark.parametrize("layout", [None, torch.channels_last], ids=str)
def test_batch_norm_matches_eager(dtype: torch.dtype, affine: bool, layout: Any) -> None:
    for shape in [(2, 5, 4, 3), (3, 4), (2, 3, 600), (2, 3, 2, 3, 4)]:
        c = shape[1]
        x = torch.randn(shape).to(dtype)
        if layout is not None and x.dim() == 4:
            x = x.to(memory_format=layout)
        weights = (optional(affine, c, dtype=dtype), optional(affine, c, dtype=dtype))
        running = (torch.randn(c).to(dtype), torch.rand(c).to(dtype) + 0.5)
        name = "aten::_native_batch_norm_legit_no_training.out"
        assert_kernel_matches_eager(name, x, *weights, *running, 0.1, 1e-5, memory_format=layout)
        name = "aten::_native_batch_norm_legit.no_stats_out"
        assert_kernel_matches_eager(name, x, *weights, True, 0.1, 1e-5, memory_format=layout)


def test_batch_norm_in_training_updates_the_running_statistics() -> None:
    from oracle.kernels.kernel_entry import call_kernel

    x, mean, var = torch.randn(4, 3, 5, 5), torch.randn(3), torch.rand(3) + 0.5
    expected_mean, expected_var = mean.clone(), var.clone()
    expected = torch.ops.aten._native_batch_norm_legit(x, None, None, expected_mean, expected_var, True, 0.1, 1e-5)
    outs = [torch.empty_like(e) for e in expected]
    call = call_kernel("aten::_native_batch_norm_legit.out", x, None, None, mean, var, True, 0.1, 1e-5, out=outs)
    assert call.error == 0, call.message
    for found, wanted in zip([*call.outputs, mean, var], [*expected, expected_mean, expected_var], strict=True):
        torch.testing.assert_close(found, wanted, **MODEL)


def test_norms_refuse_bad_arguments() -> None:
    x, out = torch.ones(2, 6), [torch.ones(2, 6), torch.ones(2, 6), torch.ones(2, 6)]
    assert_kernel_refuses("aten::native_layer_norm.out", x, [5], None, None, 1e-5, out=out)
    assert_kernel_refuses("aten::native_layer_norm.out", x, [], None, None, 1e-5, out=out)
    assert_kernel_refuses("aten::native_layer_norm.out", x, [6], torch.ones(5), None, 1e-5, out=out)
    assert_kernel_refuses("aten::native_layer_norm.out", x.int(), [6], None, None, 1e-5, out=out)
    assert_kernel_refuses("aten::native_group_norm.out", x, None, None, 2, 6, 1, 4, 1e-5, out=out)
    assert_kernel_refuses("aten::native_group_norm.out", x, None, None, 2, 6, 1, 0, 1e-5, out=out)
    assert_kernel_refuses("aten::native_group_norm.out", x, None, None, 3, 6, 1, 2, 1e-5, out=out)
    name = "aten::_native_batch_norm_legit_no_training.out"
    assert_kernel_refuses(name, x, None, None, torch.ones(5), torch.ones(6), 0.1, 1e-5, out=out)
