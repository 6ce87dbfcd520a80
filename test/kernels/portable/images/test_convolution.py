# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Convolution against eager: one to three dimensions, ordinary and transposed, groups, layouts, dtypes."""

from __future__ import annotations

import itertools
from typing import Any

import pytest
import torch
from oracle.kernels.against_eager import assert_kernel_matches_eager, assert_kernel_refuses, random_tensor

CONVOLUTION = "aten::convolution.out"


@pytest.fixture(autouse=True)
def seed() -> None:
    torch.manual_seed(0)


def arguments(spatial: int, **changed: Any) -> dict[str, Any]:
    values = {"stride": 1, "padding": 0, "dilation": 1, "output_padding": 0} | changed
    lists = {k: list(v) if isinstance(v, tuple) else [v] * spatial for k, v in values.items() if k in
             ("stride", "padding", "dilation", "output_padding")}  # fmt: skip
    return lists | {"transposed": values.get("transposed", False), "groups": values.get("groups", 1)}


def check(
    image: torch.Tensor, channels: int, kernel: tuple[int, ...], bias: bool = True, layout: Any = None, **changed: Any
) -> None:
    options = arguments(len(kernel), **changed)
    groups, inputs = options["groups"], image.shape[1]
    shape = (inputs, channels // groups, *kernel) if options["transposed"] else (channels, inputs // groups, *kernel)
    weight = random_tensor(shape, image.dtype)
    if image.dtype in (torch.float16, torch.bfloat16):
        weight = weight / (weight[0].numel() * (inputs if options["transposed"] else 1)) ** 0.5
    vector = random_tensor((channels,), image.dtype) if bias else None
    order = [options[k] for k in ("stride", "padding", "dilation", "transposed", "output_padding", "groups")]
    assert_kernel_matches_eager(CONVOLUTION, image, weight, vector, *order, memory_format=layout)
    if layout is not None and image.dim() == 4:
        weight = weight.to(memory_format=layout)
        assert_kernel_matches_eager(
            CONVOLUTION, image.to(memory_format=layout), weight, vector, *order, memory_format=layout
        )


@pytest.mark.parametrize("layout", [None, torch.channels_last], ids=str)
@pytest.mark.parametrize("transposed", [False, True])
@pytest.mark.parametrize("stride", [1, 2, (3, 1)], ids=str)
@pytest.mark.parametrize("dilation", [1, 2, (1, 3)], ids=str)
def test_strides_paddings_and_dilations_match_eager(stride: Any, dilation: Any, transposed: bool, layout: Any) -> None:
    for kernel, padding in itertools.product([(1, 1), (3, 3), (2, 5)], [0, 1, (2, 0)]):
        image = torch.randn(2, 6, 11, 14)
        options = {"stride": stride, "padding": padding, "dilation": dilation, "transposed": transposed}
        check(image, 8, kernel, layout=layout, **options)
        check(image, 4, kernel, layout=layout, groups=2, bias=False, **options)
        check(image, 12, kernel, layout=layout, groups=6, **options)


@pytest.mark.parametrize("transposed", [False, True])
def test_one_and_three_dimensions_match_eager(transposed: bool) -> None:
    for options in ({}, {"stride": 2, "padding": 1}, {"dilation": 2, "groups": 2}, {"stride": 3, "groups": 4}):
        check(torch.randn(3, 4, 19), 8, (4,), transposed=transposed, **options)
        check(torch.randn(2, 4, 7, 6, 8), 4, (2, 3, 2), transposed=transposed, **options)


@pytest.mark.parametrize(
    "dtype",
    [torch.uint8, torch.int8, torch.int16, torch.int32, torch.int64, torch.float16, torch.bfloat16, torch.float64],
    ids=str,
)
@pytest.mark.parametrize("layout", [None, torch.channels_last], ids=str)
def test_every_dtype_matches_eager(dtype: torch.dtype, layout: Any) -> None:
    image = random_tensor((2, 4, 9, 9), dtype)
    check(image, 6, (3, 3), layout=layout, padding=1)
    check(image, 8, (3, 3), layout=layout, stride=2, groups=4)
    check(image, 8, (1, 1), layout=layout)


@pytest.mark.parametrize("dtype", [torch.int64, torch.float16, torch.float64], ids=str)
def test_every_kind_of_dtype_matches_eager_transposed(dtype: torch.dtype) -> None:
    image = random_tensor((1, 4, 5, 6), dtype)
    check(image, 6, (3, 3), transposed=True, stride=2, padding=1, output_padding=1)
    check(image, 4, (3, 3), transposed=True, stride=2, groups=4)


def test_output_padding_and_strides_above_the_kernel_match_eager() -> None:
    check(torch.randn(1, 3, 5, 5), 4, (2, 2), transposed=True, stride=4, output_padding=(3, 1))
    check(torch.randn(1, 3, 5, 5), 4, (3, 3), transposed=True, stride=2, dilation=3, padding=2, output_padding=2)
    check(torch.randn(1, 3, 5, 5), 4, (3, 3), transposed=True, stride=4, dilation=6, output_padding=1)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float16, torch.int64], ids=str)
@pytest.mark.parametrize("layout", [None, torch.channels_last], ids=str)
def test_outputs_between_windows_are_the_bias(dtype: torch.dtype, layout: Any) -> None:
    image = random_tensor((2, 4, 3, 4), dtype)
    wide = {"transposed": True, "stride": (300, 41), "output_padding": (7, 5)}
    check(image, 6, (3, 2), layout=layout, padding=1, **wide)
    check(image, 8, (2, 3), layout=layout, groups=4, dilation=(3, 40), **wide)
    check(image, 4, (1, 1), layout=layout, bias=False, **wide)
    check(random_tensor((4, 5), dtype)[None], 4, (2,), transposed=True, stride=1000, groups=2)
    check(random_tensor((1, 2, 2, 3, 2), dtype), 4, (1, 2, 3), transposed=True, stride=(5, 9, 17))


def test_sizes_beyond_one_block_match_eager() -> None:
    check(torch.randn(1, 40, 20, 33), 230, (3, 3), padding=1)
    check(torch.randn(1, 300, 6, 6), 20, (3, 3), padding=1, layout=torch.channels_last)
    check(torch.randn(1, 2, 3, 700), 2, (1, 3), groups=2)


def test_windows_over_whole_images_match_eager() -> None:
    for batch, groups, inputs, outputs in ((64, 1, 1, 32), (1, 16, 8, 32), (1, 1, 64, 512), (2, 3, 5, 7)):
        for bias in (True, False):
            check(torch.randn(batch, groups * inputs, 7, 6), groups * outputs, (7, 6), groups=groups, bias=bias)


def test_weights_and_images_of_different_layouts_match_eager() -> None:
    image, weight, bias = torch.randn(2, 5, 8, 7), torch.randn(6, 5, 3, 3), torch.randn(6)
    last = torch.channels_last
    for x, w, layout in itertools.product(
        (image, image.to(memory_format=last)), (weight, weight.to(memory_format=last)), (None, last)
    ):
        rest = ([1, 1], [1, 1], [1, 1], False, [0, 0], 1)
        assert_kernel_matches_eager(CONVOLUTION, x, w, bias, *rest, memory_format=layout)


@pytest.mark.parametrize("inputs", [1, 40])
@pytest.mark.parametrize("stride", [1, 2])
def test_channels_last_images_with_more_weights_than_pixels_match_eager(inputs: int, stride: int) -> None:
    image = torch.randn(2, inputs, 5, 6).to(memory_format=torch.channels_last)
    weight, bias = torch.randn(48, inputs, 3, 3), torch.randn(48)
    order = ([stride] * 2, [1, 1], [1, 1], False, [0, 0], 1)
    assert_kernel_matches_eager(CONVOLUTION, image, weight, bias, *order, memory_format=torch.channels_last)


def test_an_empty_batch_gives_an_empty_result() -> None:
    check(torch.randn(0, 3, 8, 8), 4, (3, 3))


def test_bad_arguments_are_refused() -> None:
    image, weight, out = torch.ones(1, 4, 5, 5), torch.ones(2, 4, 3, 3), torch.ones(1, 2, 9, 9)

    def refuse(x: Any, w: Any, b: Any = None, **changed: Any) -> None:
        o = arguments(2, **changed)
        rest = (o["stride"], o["padding"], o["dilation"], o["transposed"], o["output_padding"], o["groups"])
        assert_kernel_refuses(CONVOLUTION, x, w, b, *rest, out=out)

    refuse(image, weight, stride=0)
    refuse(image, weight, dilation=0)
    refuse(image, weight, padding=-1)
    refuse(image, weight, padding=1 << 62)
    refuse(image, weight, groups=0)
    refuse(image, weight, groups=3)
    refuse(image, weight, torch.ones(3))
    refuse(image, weight, stride=(1, 1, 1))
    refuse(torch.ones(1, 3, 5, 5), weight)
    refuse(torch.ones(1, 4, 2, 2), weight)
    refuse(image, torch.ones(2, 4, 0, 3))
    refuse(torch.ones(4), weight)
    refuse(image, weight.double())
    refuse(image, torch.ones(4, 2, 3, 3), transposed=True, output_padding=1)
