# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Fused kernels on int8 give the bits of their reference, for random and extreme numbers, sizes and layouts."""

from __future__ import annotations

import itertools
import re
from typing import Any

import pytest
import torch
from oracle.kernels.kernel_entry import call_kernel, registered_kernels

import executorch.exir.operator.quantized_fused  # noqa: F401  # defines quantized_fused

fused = torch.ops.quantized_fused
LAST = torch.channels_last
_checked: set[str] = set()


def check(name: str, *args: Any) -> None:
    _checked.add(f"quantized_fused::{name}.out")
    expected = getattr(fused, name)(*args)
    layout = LAST if args[0].dim() == 4 and args[0].is_contiguous(memory_format=LAST) else torch.contiguous_format
    out = torch.full_like(expected, 7).to(memory_format=layout if expected.dim() == 4 else torch.contiguous_format)
    call = call_kernel(f"quantized_fused::{name}.out", *args, out=[out])
    assert not call.error, call.message
    (found,) = call.outputs
    assert found.shape == expected.shape
    places = (found != expected).nonzero()
    assert not len(places), [(tuple(at.tolist()), found[tuple(at)], expected[tuple(at)]) for at in places[:4]]


def integers(*sizes: int, seed: int = 0, extreme: bool = False) -> torch.Tensor:
    generator = torch.Generator().manual_seed(seed)
    if extreme:
        return torch.randint(0, 2, sizes, generator=generator).mul(255).sub(128).to(torch.int8)
    return torch.randint(-128, 128, sizes, generator=generator).to(torch.int8)


def channels(count: int, depth: int, seed: int = 1) -> tuple[torch.Tensor, torch.Tensor]:
    """Scales that spread sums of `depth` products over int8, and offsets."""
    generator = torch.Generator().manual_seed(seed)
    scales = (torch.rand(count, generator=generator) + 0.1) / (40.0 * max(depth, 1) ** 0.5)
    return scales, torch.randn(count, generator=generator) * 20


# batch, channels, sizes, output channels, kernel, stride, padding, dilation, groups
CONVOLUTIONS: tuple[tuple[int, int, list[int], int, list[int], list[int], list[int], list[int], int], ...] = (
    (2, 3, [9, 11], 5, [3, 3], [1, 1], [1, 1], [1, 1], 1),
    (1, 16, [7, 7], 33, [1, 1], [1, 1], [0, 0], [1, 1], 1),
    (1, 8, [20, 18], 7, [3, 3], [2, 2], [1, 1], [1, 1], 1),
    (2, 6, [10, 40], 6, [3, 3], [1, 1], [1, 1], [1, 1], 6),
    (1, 6, [13, 37], 12, [5, 3], [2, 2], [2, 0], [1, 1], 6),
    (1, 4, [9, 9], 8, [3, 3], [1, 1], [2, 2], [2, 2], 2),
    (3, 5, [1, 1], 4, [1, 1], [1, 1], [0, 0], [1, 1], 1),
    (1, 2, [4, 4], 3, [4, 4], [1, 1], [0, 0], [1, 1], 1),
    (1, 1, [5, 3], 1, [3, 3], [3, 1], [1, 1], [1, 1], 1),
    (2, 7, [50], 9, [5], [1], [2], [1], 1),
    (1, 4, [31], 4, [3], [2], [1], [2], 4),
    (1, 2, [3, 5, 6], 4, [2, 3, 3], [1, 1, 1], [1, 1, 0], [1, 1, 1], 1),
    (0, 2, [5, 5], 4, [3, 3], [1, 1], [1, 1], [1, 1], 1),
)


@pytest.mark.parametrize("case", CONVOLUTIONS, ids=str)
@pytest.mark.parametrize("extreme", [False, True])
def test_fused_convolutions_match_their_reference(case: tuple[Any, ...], extreme: bool) -> None:
    batch, inputs, sizes, outputs, kernel, stride, padding, dilation, groups = case
    x = integers(batch, inputs, *sizes, extreme=extreme)
    weight = integers(outputs, inputs // groups, *kernel, seed=2, extreme=extreme)
    parameters = channels(outputs, weight[0].numel())
    layouts = (x, x.contiguous(memory_format=LAST)) if x.dim() == 4 else (x,)
    for dtype, (zero, *out) in itertools.product(
        layouts, ((-128, 127, -128, 127), (5, -3, -3, 60), (127, -128, -128, 127))
    ):
        check("convolution", dtype, zero, weight, *parameters, stride, padding, dilation, groups, *out)


# batch, inputs, sizes, outputs, kernel, stride, padding, dilation, output padding, groups
TRANSPOSED: tuple[tuple[Any, ...], ...] = (
    (2, 3, [5, 7], 6, [3, 3], [2, 2], [1, 1], [1, 1], [1, 1], 1),
    (1, 16, [9, 20], 33, [4, 4], [2, 2], [1, 1], [1, 1], [0, 0], 1),
    (1, 8, [6, 5], 4, [2, 2], [2, 2], [0, 0], [1, 1], [0, 0], 1),
    (2, 4, [6, 5], 8, [2, 3], [3, 1], [0, 2], [1, 1], [2, 0], 2),  # a phase without taps
    (1, 6, [4, 4], 6, [3, 3], [2, 2], [1, 1], [2, 2], [1, 1], 6),
    (1, 1, [1, 1], 1, [5, 5], [4, 3], [2, 2], [1, 1], [3, 2], 1),
    (2, 5, [11], 7, [4], [3], [1], [2], [1], 1),
    (1, 2, [3, 2, 4], 3, [2, 3, 3], [2, 1, 2], [1, 1, 0], [1, 1, 1], [1, 0, 1], 1),
)


@pytest.mark.parametrize("case", TRANSPOSED, ids=str)
@pytest.mark.parametrize("extreme", [False, True])
def test_fused_transposed_convolutions_match_their_reference(case: tuple[Any, ...], extreme: bool) -> None:
    batch, inputs, sizes, outputs, kernel, *places = case
    x = integers(batch, inputs, *sizes, extreme=extreme)
    weight = integers(inputs, outputs // case[-1], *kernel, seed=2, extreme=extreme)
    parameters = channels(outputs, weight[:, 0].numel())
    layouts = (x, x.contiguous(memory_format=LAST)) if x.dim() == 4 else (x,)
    for dtype, (zero, *out) in itertools.product(
        layouts, ((-128, 127, -128, 127), (5, -3, -3, 60), (127, 0, -128, 127))
    ):
        check("transposed_convolution", dtype, zero, weight, *parameters, *places, *out)


def test_ties_round_to_even() -> None:
    halves = torch.full((4,), 0.5), torch.zeros(4)  # every other sum lies halfway between two integers
    check(
        "convolution",
        integers(1, 1, 8, 8),
        0,
        integers(4, 1, 1, 1, seed=5) % 3,
        *halves,
        [1],
        [0],
        [1],
        1,
        1,
        -128,
        127,
    )


@pytest.mark.parametrize("extreme", [False, True])
def test_fused_linear_layers_match_their_reference(extreme: bool) -> None:
    for rows, depth, outputs in (
        (1, 64, 10),
        (1, 1, 1),
        (3, 37, 130),
        (4, 16, 3),
        (9, 515, 67),
        (0, 8, 4),
        (2, 200, 5),
    ):
        x, weight = integers(rows, depth, extreme=extreme), integers(outputs, depth, seed=3, extreme=extreme)
        parameters = channels(outputs, depth)
        for out in ((0, -128, 127), (-128, -128, 127), (127, -5, 100)):
            check("linear", x, weight, *parameters, *out)
        check("product", x, weight)
    check("linear", integers(2, 3, 20), integers(6, 20, seed=1), *channels(6, 20), 3, -128, 127)


def test_lookup_tables_match_their_reference() -> None:
    table = integers(256, seed=9)
    for x in (integers(2, 3, 5, 7), integers(2, 3, 5, 7).contiguous(memory_format=LAST), integers(0, 4), integers(300)):
        check("lookup", x, table)
        check("lookup", x, table.to(torch.uint8))
        check("lookup", x.to(torch.uint8), table)


@pytest.mark.parametrize("name", ["mul", "sub"])
def test_fused_products_and_differences_match_their_reference(name: str) -> None:
    limits = (-128, 127)
    a, b = integers(4, 1, 300), integers(3, 300, seed=4)
    check(name, a, 0.03, 3, *limits, b, 0.011, -2, *limits, 0.05, 1, *limits)
    check(name, a, 0.03, -128, *limits, a, 0.5, 127, *limits, 1e-4, 1, 0, 100)
    check(name, integers(0, 3), 0.03, 0, *limits, integers(3), 0.5, 1, *limits, 1.0, 1, *limits)


@pytest.mark.parametrize("layout", [torch.contiguous_format, LAST], ids=str)
def test_fused_pools_match_their_reference(layout: torch.memory_format) -> None:
    x = integers(2, 5, 9, 11).contiguous(memory_format=layout)
    for kernel, stride, padding, ceil in (
        ([2, 2], [], [0, 0], False),
        ([3, 3], [2, 2], [1, 1], True),
        ([3, 2], [1, 3], [1, 0], True),
    ):
        check("max_pool2d", x, kernel, stride, padding, [1, 1], ceil)
        for counted, divisor in ((True, None), (False, None), (True, 3)):
            for zero, *out in ((-128, 5, -128, 127), (127, -128, -128, 127), (0, 127, -20, 127)):
                check("avg_pool2d", x, zero, 1.7, kernel, stride, padding, ceil, counted, divisor, *out)
    check("max_pool2d", x, [3, 3], [1, 1], [0, 0], [2, 3], False)
    for dims, keep in (([2, 3], True), ([-1, -2], False), ([1], False), ([0, 1, 2, 3], True)):
        for zero, *out in ((-128, 5, -128, 127), (127, -128, -128, 127), (3, 0, -20, 50)):
            check("mean", x, zero, 0.83, dims, keep, *out)


OUT = torch.zeros(1, 2, 4, 4, dtype=torch.int8)
X, W, ONES = integers(1, 3, 6, 6), integers(2, 3, 3, 3), (torch.ones(2), torch.zeros(2))
PLACES = ([1, 1], [0, 0], [1, 1], 1)
BAD: dict[str, tuple[str, tuple[Any, ...], str]] = {
    "uint8": (
        "convolution",
        (X.to(torch.uint8), 0, W, *ONES, *PLACES, 0, -128, 127),
        "input must be int8, found uint8",
    ),
    "float weights": ("convolution", (X, 0, W.float(), *ONES, *PLACES, 0, -128, 127), "weight"),
    "few scales": (
        "convolution",
        (X, 0, W, torch.ones(1), ONES[1], *PLACES, 0, -128, 127),
        "one for each of 2 channels",
    ),
    "limits": ("convolution", (X, 0, W, *ONES, *PLACES, 0, -129, 127), "must be int8, found 0, -129 and 127"),
    "zero point": (
        "convolution",
        (X, 128, W, *ONES, *PLACES, 0, -128, 127),
        "input_zero_point must be int8, found 128",
    ),
    "channels": ("convolution", (X[:, :2].clone(), 0, W, *ONES, *PLACES, 0, -128, 127), "do not fit 1 groups"),
    "transposed terms": (
        "transposed_convolution",
        (integers(1, 1 << 16, 1), 0, integers(1 << 16, 2, 1), *ONES, [1], [0], [1], [0], 1, 0, -128, 127),
        "may have 65535 weights",
    ),
    "product": ("product", (integers(4, 9), integers(2, 8)), "must have at most 131071 terms"),
    "table of numbers": ("lookup", (X, torch.zeros(256)), "table must be int8 or uint8"),
    "depth": ("linear", (integers(4, 9), integers(2, 8), *ONES, 0, -128, 127), "cannot be multiplied"),
    "terms": (
        "linear",
        (integers(1, 1 << 17), integers(2, 1 << 17), *ONES, 0, -128, 127),
        "may have 131071 weights",
    ),
    "table": ("lookup", (X, integers(255)), r"must be \[256\]"),
}


@pytest.mark.parametrize("name", BAD)
def test_wrong_arguments_are_refused(name: str) -> None:
    kernel, args, why = BAD[name]
    out = OUT.int() if kernel == "product" else OUT.clone()
    call = call_kernel(f"quantized_fused::{kernel}.out", *args, out=[out])
    assert call.error
    assert re.search(why, call.message), call.message


def test_every_fused_kernel_is_compared_with_its_reference(request: pytest.FixtureRequest) -> None:
    if request.config.option.keyword or any("::" in argument for argument in request.config.args):
        pytest.skip("needs all tests of this file in one process")
    assert {name for name in registered_kernels() if name.startswith("quantized_fused::")} == _checked
