# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Products and convolutions of float16 and bfloat16: summed in float32 and rounded once, at every size and layout."""

from __future__ import annotations

import itertools
from typing import Any

import pytest
import torch
from oracle.kernels.kernel_entry import call_kernel
from torch.nn import functional as F

REDUCED = [torch.float16, torch.bfloat16]
INF, NAN = float("inf"), float("nan")


def _values(*sizes: int, dtype: torch.dtype) -> torch.Tensor:
    return torch.randn(sizes).to(dtype)


def _assert_rounded_once(name: str, expected: torch.Tensor, magnitude: torch.Tensor, terms: int, *args: Any) -> None:
    """Compare with a float64 result. magnitude: the sum of its terms' magnitudes."""
    dtype = next(a.dtype for a in args if isinstance(a, torch.Tensor))
    out = torch.full(expected.shape, 77.0).to(dtype)
    if expected.dim() == 4 and args[0].is_contiguous(memory_format=torch.channels_last):
        out = out.contiguous(memory_format=torch.channels_last)
    call = call_kernel(f"aten::{name}.out", *args, out=out)
    assert call.error == 0, call.message
    finfo = torch.finfo(dtype)
    bound = expected.abs() * finfo.eps / 2 + magnitude * terms * 2.0**-24 + finfo.smallest_normal * finfo.eps
    assert ((call.outputs[0].double() - expected).abs() <= bound).all()


@pytest.mark.parametrize("dtype", REDUCED, ids=str)
@pytest.mark.parametrize("weight", ["rows", "columns"])
def test_products_round_once(dtype: torch.dtype, weight: str) -> None:
    torch.manual_seed(0)
    sizes = itertools.product((1, 3, 17, 150), (0, 1, 7, 40, 1200), (1, 2, 33, 130, 2100))
    for rows, depth, columns in sizes:
        left, right = _values(rows, depth, dtype=dtype), _values(depth, columns, dtype=dtype)
        addend = _values(columns, dtype=dtype)
        exact, magnitude = left.double() @ right.double(), left.double().abs() @ right.double().abs()
        if weight == "rows":
            args = ("addmm", exact + addend.double(), magnitude + addend.double().abs(), depth + 1, addend, left, right)
        else:
            args = ("linear", exact, magnitude, depth, left, right.t().contiguous())
        _assert_rounded_once(*args)


@pytest.mark.parametrize("dtype", REDUCED, ids=str)
def test_batches_and_factors_round_once(dtype: torch.dtype) -> None:
    torch.manual_seed(0)
    for batch, rows, depth, columns in ((3, 20, 9, 70), (0, 2, 3, 4), (2, 1, 30, 1), (1, 200, 3, 5), (5, 4, 70, 3)):
        left, right = _values(batch, rows, depth, dtype=dtype), _values(batch, depth, columns, dtype=dtype)
        addend = _values(1, rows, 1, dtype=dtype)
        exact = 0.5 * addend.double() - 2 * (left.double() @ right.double())
        magnitude = 0.5 * addend.double().abs() + 2 * (left.double().abs() @ right.double().abs())
        _assert_rounded_once("baddbmm", exact, magnitude, depth + 2, addend, left, right, 0.5, -2)


CONVOLUTIONS = [
    # channels, outputs, groups, kernel, stride, padding, dilation, transposed
    pytest.param(24, 70, 1, (1, 1), 1, 0, 1, False, id="pointwise"),
    pytest.param(40, 40, 40, (3, 3), 2, 1, 1, False, id="depthwise"),
    pytest.param(6, 6, 6, (5, 3), 1, 2, 2, False, id="dilated depthwise"),
    pytest.param(9, 17, 1, (3, 3), 1, 1, 1, False, id="windows"),
    pytest.param(8, 12, 4, (3, 1), 2, 1, 1, False, id="groups"),
    pytest.param(5, 4, 1, (3, 3), 2, 1, 1, True, id="transposed"),
    pytest.param(7, 3, 1, (1, 1), 2, 0, 1, False, id="strided pointwise"),
]


@pytest.mark.parametrize("dtype", REDUCED, ids=str)
@pytest.mark.parametrize("channels,outputs,groups,kernel,stride,padding,dilation,transposed", CONVOLUTIONS)
def test_convolutions_round_once(
    dtype: torch.dtype,
    channels: int,
    outputs: int,
    groups: int,
    kernel: tuple[int, int],
    stride: int,
    padding: int,
    dilation: int,
    transposed: bool,
) -> None:
    torch.manual_seed(0)
    split = (channels, outputs // groups) if transposed else (outputs, channels // groups)
    weight, bias = _values(*split, *kernel, dtype=dtype), _values(outputs, dtype=dtype)
    lists = ([stride] * 2, [padding] * 2, [dilation] * 2, transposed, [0, 0], groups)
    terms = channels * kernel[0] * kernel[1] + 1
    for (height, width), layout, has_bias in itertools.product(
        ((5, 5), (31, 45)), (torch.contiguous_format, torch.channels_last), (True, False)
    ):
        image = _values(2, channels, height, width, dtype=dtype).contiguous(memory_format=layout)
        added = bias if has_bias else None
        operands = [None if tensor is None else tensor.double() for tensor in (image, weight, added)]
        exact = torch.convolution(*operands, *lists)
        magnitude = torch.convolution(*(None if tensor is None else tensor.abs() for tensor in operands), *lists)
        # Winograd transforms round as well.
        _assert_rounded_once("convolution", exact, 4 * magnitude, terms, image, weight, added, *lists)


@pytest.mark.parametrize("dtype", REDUCED, ids=str)
def test_one_pixel_is_a_product(dtype: torch.dtype) -> None:
    torch.manual_seed(0)
    image, weight = _values(2, 30, 1, 1, dtype=dtype), _values(50, 30, 1, 1, dtype=dtype)
    operands = (image.double(), weight.double())
    exact, magnitude = F.conv2d(*operands), F.conv2d(*(tensor.abs() for tensor in operands))
    lists = ([1, 1], [0, 0], [1, 1], False, [0, 0], 1)
    _assert_rounded_once("convolution", exact, magnitude, 30, image, weight, None, *lists)


@pytest.mark.parametrize("dtype", REDUCED, ids=str)
def test_non_finite_factors_follow_ieee(dtype: torch.dtype) -> None:
    for rows in (1, 40):
        left, right = torch.ones(rows, 50).to(dtype), torch.ones(50, 70).to(dtype)
        left[0, 3], right[3, 4], right[7, 5], right[9, 6] = INF, 0.0, NAN, -INF
        out = call_kernel("aten::mm.out", left, right, out=torch.empty(rows, 70).to(dtype)).outputs[0]
        torch.testing.assert_close(out, (left.float() @ right.float()).to(dtype), equal_nan=True)


@pytest.mark.parametrize("dtype", REDUCED, ids=str)
def test_small_results_keep_denormals_and_large_ones_overflow(dtype: torch.dtype) -> None:
    finfo = torch.finfo(dtype)
    tiny = finfo.smallest_normal * finfo.eps
    small = torch.full((1, 1), 4 * tiny, dtype=dtype)
    half = torch.full((1, 40), 0.5, dtype=dtype)
    assert (call_kernel("aten::mm.out", small, half, out=torch.zeros_like(half)).outputs[0].double() == 2 * tiny).all()
    large = torch.full((1, 1), finfo.max, dtype=dtype)
    two = torch.full((1, 40), -2.0, dtype=dtype)
    assert (call_kernel("aten::mm.out", large, two, out=torch.zeros_like(two)).outputs[0] == -INF).all()


@pytest.mark.parametrize("dtype", REDUCED, ids=str)
def test_conversions_round_to_nearest_even(dtype: torch.dtype) -> None:
    bits = torch.arange(-(2**15), 2**15, dtype=torch.int16).view(dtype)
    widened = bits.float()
    for values in (widened, widened * (1 + 2.0**-9), widened * (1 + 2.0**-12), widened + 2.0**-149):
        out = call_kernel("aten::_to_copy.out", values, out=torch.empty(values.shape, dtype=dtype)).outputs[0]
        torch.testing.assert_close(out, values.to(dtype), rtol=0, atol=0, equal_nan=True)
    back = call_kernel("aten::_to_copy.out", bits, out=torch.empty(bits.shape)).outputs[0]
    torch.testing.assert_close(back, widened, rtol=0, atol=0, equal_nan=True)


@pytest.mark.parametrize("dtype", REDUCED, ids=str)
def test_the_bits_of_a_column_do_not_depend_on_the_number_of_columns(dtype: torch.dtype) -> None:
    torch.manual_seed(0)
    for rows in (1, 3, 20):
        left, right = _values(rows, 150, dtype=dtype), _values(150, 2049, dtype=dtype)
        all_columns, last = (
            call_kernel("aten::mm.out", left, matrix, out=torch.empty(rows, matrix.shape[1]).to(dtype)).outputs[0]
            for matrix in (right, right[:, -2:].contiguous())
        )
        torch.testing.assert_close(all_columns[:, -2:], last, rtol=0, atol=0)
