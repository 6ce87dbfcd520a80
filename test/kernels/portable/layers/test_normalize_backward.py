# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Gradients of the norms and of softmax against eager."""

from __future__ import annotations

import pytest
import torch
from oracle.kernels.against_eager import assert_kernel_matches_eager, assert_kernel_refuses, assert_matches, eager
from oracle.kernels.kernel_entry import call_kernel

FLOATS = [torch.float16, torch.bfloat16, torch.float32, torch.float64]
ALL = [True, True, True]
aten = torch.ops.aten


@pytest.fixture(autouse=True)
def seed() -> None:
    torch.manual_seed(0)


def parameter(present: bool, *shape: int, dtype: torch.dtype) -> torch.Tensor | None:
    return (torch.randn(shape) + 1).to(dtype) if present else None


def assert_gradients_match_eager(name: str, *args: object, affine: bool) -> None:
    """Compare all three gradients; without a weight, only that of the input, because eager gives no other."""
    if affine:
        assert_kernel_matches_eager(name, *args, ALL)
        return
    expected = eager(name, *args, [True, False, False])[0]
    outs = [torch.empty_like(expected), torch.empty(0), torch.empty(0)]
    call = call_kernel(name, *args, [True, False, False], out=outs)
    assert call.error == 0, call.message
    assert_matches(call.outputs[0], expected, name)


@pytest.mark.parametrize("dtype", FLOATS, ids=str)
@pytest.mark.parametrize("weight", [False, True])
def test_gradients_of_layer_norm_match_eager(dtype: torch.dtype, weight: bool) -> None:
    for shape, tail in [((4, 384), 1), ((2, 3, 700), 1), ((2, 3, 5), 2), ((6,), 1), ((0, 4), 1), ((2, 3, 4, 5), 3)]:
        sizes = list(shape[-tail:])
        x, grad = (torch.randn(shape) * 2 + 1).to(dtype), torch.randn(shape).to(dtype)
        scale, shift = (parameter(weight, *sizes, dtype=dtype) for _ in range(2))
        _, mean, rstd = aten.native_layer_norm(x, sizes, scale, shift, 1e-5)
        name = "aten::native_layer_norm_backward.out"
        assert_gradients_match_eager(name, grad, x, sizes, mean, rstd, scale, shift, affine=weight)


@pytest.mark.parametrize("dtype", FLOATS, ids=str)
@pytest.mark.parametrize("weight", [False, True])
@pytest.mark.parametrize("layout", [torch.contiguous_format, torch.channels_last], ids=str)
def test_gradients_of_group_norm_match_eager(dtype: torch.dtype, weight: bool, layout: torch.memory_format) -> None:
    for shape, groups in [((2, 6, 4, 5), 3), ((3, 4, 300), 2), ((1, 8), 8), ((2, 4, 3, 3, 2), 1), ((0, 4, 2, 2), 2)]:
        n, c, hw = shape[0], shape[1], torch.Size(shape[2:]).numel()
        x, grad = torch.randn(shape).to(dtype), torch.randn(shape).to(dtype)
        if len(shape) == 4:
            x, grad = x.to(memory_format=layout), grad.to(memory_format=layout)
        scale = parameter(weight, c, dtype=dtype)
        _, mean, rstd = aten.native_group_norm(x, scale, None, n, c, hw, groups, 1e-5)
        name = "aten::native_group_norm_backward.out"
        assert_gradients_match_eager(name, grad, x, mean, rstd, scale, n, c, hw, groups, affine=weight)


@pytest.mark.parametrize("dtype", FLOATS, ids=str)
@pytest.mark.parametrize("train", [False, True])
@pytest.mark.parametrize("layout", [torch.contiguous_format, torch.channels_last], ids=str)
def test_gradients_of_batch_norm_match_eager(dtype: torch.dtype, train: bool, layout: torch.memory_format) -> None:
    for shape in [(2, 5, 4, 3), (3, 4), (2, 3, 600), (2, 3, 2, 3, 4)]:
        x, grad = torch.randn(shape).to(dtype), torch.randn(shape).to(dtype)
        if len(shape) == 4:
            x, grad = x.to(memory_format=layout), grad.to(memory_format=layout)
        for weight in (False, True):
            scale = parameter(weight, shape[1], dtype=dtype)
            running = (torch.randn(shape[1]).to(dtype), (torch.rand(shape[1]) + 0.5).to(dtype))
            _, mean, invstd = aten.native_batch_norm(x, scale, None, *running, train, 0.1, 1e-5)
            name = "aten::native_batch_norm_backward.out"
            assert_kernel_matches_eager(name, grad, x, scale, *running, mean, invstd, train, 1e-5, ALL)


def test_outputs_that_the_mask_leaves_out_are_not_written() -> None:
    x, grad = torch.randn(3, 5), torch.randn(3, 5)
    _, mean, rstd = aten.native_layer_norm(x, [5], None, None, 1e-5)
    outs = [torch.full((3, 5), 7.0), torch.full((2,), 7.0), torch.full((5,), 7.0)]
    mask = [False, False, True]
    call = call_kernel("aten::native_layer_norm_backward.out", grad, x, [5], mean, rstd, None, None, mask, out=outs)
    assert call.error == 0, call.message
    torch.testing.assert_close(call.outputs[2], grad.sum(0))
    assert (call.outputs[0] == 7).all() and (call.outputs[1] == 7).all() and call.outputs[1].shape == (2,)


@pytest.mark.parametrize("dtype", FLOATS, ids=str)
@pytest.mark.parametrize("name", ["aten::_softmax_backward_data.out", "aten::_log_softmax_backward_data.out"])
def test_gradients_of_softmax_match_eager(name: str, dtype: torch.dtype) -> None:
    function = torch.log_softmax if "log" in name else torch.softmax
    for shape in [(3, 700), (2, 3, 5), (4, 1), (0, 3), (1,), (2, 3, 4, 5), ()]:
        grad, x = torch.randn(shape).to(dtype), torch.randn(shape).to(dtype)
        for dim in range(-max(len(shape), 1), max(len(shape), 1)):
            assert_kernel_matches_eager(name, grad, function(x, dim), dim, dtype)


def test_gradients_refuse_bad_arguments() -> None:
    x, stat, outs = torch.ones(2, 6), torch.ones(2, 1), [torch.ones(2, 6), torch.ones(6), torch.ones(6)]
    name = "aten::native_layer_norm_backward.out"
    assert_kernel_refuses(name, x, x, [5], stat, stat, None, None, ALL, out=outs)
    assert_kernel_refuses(name, x, x, [6], stat[:1], stat, None, None, ALL, out=outs)
    assert_kernel_refuses(name, x[:1], x, [6], stat, stat, None, None, ALL, out=outs)
    assert_kernel_refuses(name, x, x, [6], stat, stat, torch.ones(5), None, ALL, out=outs)
    assert_kernel_refuses(name, x, x, [6], stat, stat, None, None, ALL[:2], out=outs)
    assert_kernel_refuses(name, x, x.double(), [6], stat, stat, None, None, ALL, out=outs)
    group = "aten::native_group_norm_backward.out"
    assert_kernel_refuses(group, x, x, stat, stat, None, 2, 6, 1, 4, ALL, out=outs)
    batch = "aten::native_batch_norm_backward.out"
    assert_kernel_refuses(batch, x, x, None, None, None, None, None, True, 1e-5, ALL, out=outs)
    name = "aten::_softmax_backward_data.out"
    assert_kernel_refuses(name, x, x, 2, torch.float32, out=x.clone())
    assert_kernel_refuses(name, x, x, 1, torch.float16, out=x.clone())
    assert_kernel_refuses(name, x.int(), x.int(), 1, torch.int32, out=x.int())
