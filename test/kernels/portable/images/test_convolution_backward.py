# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Gradients of convolution against eager, which computes them in at least float32."""

from __future__ import annotations

import itertools
from typing import Any

import pytest
import torch
from oracle.kernels.against_eager import assert_kernel_refuses, assert_matches
from oracle.kernels.kernel_entry import call_kernel

BACKWARD = "aten::convolution_backward.out"
ALL = (True, True, True)
UNTOUCHED = 77.0


@pytest.fixture(autouse=True)
def seed() -> None:
    torch.manual_seed(0)


def check(
    image: torch.Tensor,
    weight: torch.Tensor,
    *,
    stride: int = 1,
    padding: int = 0,
    dilation: int = 1,
    transposed: bool = False,
    output_padding: int = 0,
    groups: int = 1,
    mask: tuple[bool, bool, bool] = ALL,
) -> None:
    spatial = weight.dim() - 2
    options = ([stride] * spatial, [padding] * spatial, [dilation] * spatial, transposed, [output_padding] * spatial)
    wide = torch.float64 if image.dtype is torch.float64 else torch.float32
    result = torch.ops.aten.convolution(image.to(wide), weight.to(wide), None, *options, groups)
    grad = torch.randn_like(result).to(image.dtype)
    channels = [result.shape[image.dim() - spatial - 1]]
    tensors = [t.to(wide) for t in (grad, image, weight)]
    expected = torch.ops.aten.convolution_backward(*tensors, channels, *options, groups, list(ALL))
    outs = [torch.full_like(e, UNTOUCHED, dtype=image.dtype) for e in expected]
    call = call_kernel(BACKWARD, grad, image, weight, channels, *options, groups, list(mask), out=outs)
    what = f"{tuple(image.shape)} {tuple(weight.shape)} {options} groups={groups} mask={mask}"
    assert call.error == 0, f"{what}: {call.message}"
    for found, wanted, is_wanted in zip(call.outputs, expected, mask, strict=True):
        if is_wanted:
            assert_matches(found, wanted.to(image.dtype), what)
        else:
            assert bool((found == UNTOUCHED).all()), f"{what}: wrote a gradient that was not requested"


@pytest.mark.parametrize("transposed", [False, True])
@pytest.mark.parametrize("groups", [1, 2, 4])
@pytest.mark.parametrize("spatial", [1, 2, 3])
def test_gradients_match_eager(spatial: int, groups: int, transposed: bool) -> None:
    image = torch.randn(2, 4, *(7, 6, 5)[:spatial])
    shape = (4, 8 // groups) if transposed else (8, 4 // groups)
    weight = torch.randn(*shape, *(3, 2, 3)[:spatial])
    for stride, dilation, padding in itertools.product((1, 2, 3), (1, 2), (0, 1)):
        extra = stride - 1 if transposed else 0
        options: dict[str, Any] = {"stride": stride, "dilation": dilation, "padding": padding, "output_padding": extra}
        check(image, weight, transposed=transposed, groups=groups, **options)


def test_images_of_more_positions_than_are_read_together_match_eager() -> None:
    check(torch.randn(3, 4, 23, 19), torch.randn(5, 4, 3, 3), padding=1)
    check(torch.randn(3, 4, 23, 19), torch.randn(4, 5, 3, 3), transposed=True, stride=2)


def test_every_mask_writes_the_outputs_that_it_selects() -> None:
    image, weight = torch.randn(2, 4, 6, 5), torch.randn(6, 2, 3, 3)
    for mask in itertools.product((False, True), repeat=3):
        check(image, weight, groups=2, mask=mask)


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float64], ids=str)
@pytest.mark.parametrize("transposed", [False, True])
def test_every_floating_dtype_matches_eager(dtype: torch.dtype, transposed: bool) -> None:
    image, weight = torch.randn(3, 4, 9, 8).to(dtype), (torch.randn(4, 4, 3, 3) / 6).to(dtype)
    check(image, weight, stride=2, padding=1, transposed=transposed)
    last = torch.channels_last
    check(image.to(memory_format=last), weight.to(memory_format=last), padding=1, transposed=transposed)


def test_unusual_sizes_match_eager() -> None:
    check(torch.randn(1, 3, 5, 5), torch.randn(3, 4, 2, 2), transposed=True, stride=2, dilation=4, output_padding=3)
    check(torch.randn(2, 6, 40, 33), torch.randn(6, 1, 3, 3), groups=6, padding=1)
    check(torch.randn(2, 40, 12, 11), torch.randn(60, 40, 3, 3), padding=1)
    check(torch.randn(0, 4, 6, 6), torch.randn(4, 4, 3, 3))
    check(torch.randn(1, 4, 6, 6), torch.randn(4, 4, 1, 1), stride=3)


def test_bad_arguments_are_refused() -> None:
    image, weight, grad = torch.ones(1, 4, 5, 5), torch.ones(2, 4, 3, 3), torch.ones(1, 2, 3, 3)
    outs = [torch.empty_like(image), torch.empty_like(weight), torch.empty(2)]
    rest = ([1, 1], [0, 0], [1, 1], False, [0, 0], 1, list(ALL))

    def refuse(*tensors: torch.Tensor, rest: tuple[Any, ...] = rest, outs: list[torch.Tensor] = outs) -> None:
        assert_kernel_refuses(BACKWARD, *tensors, [2], *rest, out=outs)

    refuse(torch.ones(1, 2, 4, 4), image, weight)
    refuse(grad.double(), image, weight)
    refuse(grad.long(), image.long(), weight.long())
    refuse(grad, image, weight, outs=[outs[0], outs[1], torch.empty(1)])
    refuse(grad, image, weight, rest=([0, 1], *rest[1:]))
    refuse(grad, image, weight, rest=(*rest[:5], 0, list(ALL)))
    refuse(grad, image, weight, rest=(*rest[:6], [True, True]))
