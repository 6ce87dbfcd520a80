# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Resizing, grid sampling, unfolding, gating and distances against eager."""

from __future__ import annotations

import itertools
from typing import Any

import pytest
import torch
from oracle.kernels.against_eager import assert_kernel_matches_eager, assert_kernel_refuses, random_tensor
from oracle.kernels.kernel_entry import call_kernel

FLOATS = [torch.float16, torch.bfloat16, torch.float32, torch.float64]


@pytest.fixture(autouse=True)
def seed() -> None:
    torch.manual_seed(0)


@pytest.mark.parametrize("dtype", [*FLOATS, torch.uint8], ids=str)
@pytest.mark.parametrize("name", ["upsample_nearest", "_upsample_nearest_exact"])
def test_nearest_matches_eager(name: str, dtype: torch.dtype) -> None:
    x = random_tensor((2, 3, 5, 7, 4), dtype)
    for size in [(5, 7, 4), (10, 14, 8), (3, 2, 9), (1, 1, 1), (11, 5, 300)]:
        assert_kernel_matches_eager(f"aten::{name}3d.out", x, size)
        assert_kernel_matches_eager(f"aten::{name}2d.out", x[0], size[:2])
        assert_kernel_matches_eager(f"aten::{name}1d.out", x[0, 0], size[:1])
    assert_kernel_matches_eager(f"aten::{name}2d.out", x[0], (12, 9), 2.5, 1.3)
    last = x[0].to(memory_format=torch.channels_last)
    assert_kernel_matches_eager(f"aten::{name}2d.out", last, (9, 9), memory_format=torch.channels_last)


@pytest.mark.parametrize("dtype", FLOATS, ids=str)
@pytest.mark.parametrize("align", [False, True])
def test_linear_matches_eager(align: bool, dtype: torch.dtype) -> None:
    x = random_tensor((2, 3, 5, 7, 4), dtype)
    for size in [(5, 7, 4), (10, 14, 8), (3, 2, 9), (1, 1, 1), (11, 5, 300)]:
        assert_kernel_matches_eager("aten::upsample_trilinear3d.out", x, size, align)
        assert_kernel_matches_eager("aten::upsample_bilinear2d.out", x[0], size[:2], align)
        assert_kernel_matches_eager("aten::upsample_linear1d.out", x[0, 0], size[:1], align)
    assert_kernel_matches_eager("aten::upsample_bilinear2d.out", x[0], (12, 9), align, 2.5, 1.3)


PLANAR = ("upsample_bilinear2d", "upsample_bicubic2d", "_upsample_bilinear2d_aa", "_upsample_bicubic2d_aa")


@pytest.mark.parametrize("name", PLANAR)
@pytest.mark.parametrize("align", [False, True])
def test_interpolation_in_two_dimensions_matches_eager(name: str, align: bool) -> None:
    for dtype in (torch.uint8, torch.float32, torch.float64):
        x = torch.randint(0, 256, (2, 3, 13, 17), dtype=torch.uint8)
        x = x if dtype is torch.uint8 else x.to(dtype) / 256
        # Eager fails on an assertion of its own where uint8 keeps its size or becomes a single pixel.
        same = [] if dtype is torch.uint8 else [(13, 17), (1, 1)]
        for size in [*same, (26, 30), (6, 9), (13, 30), (5, 17), (3, 40), (29, 2)]:
            assert_kernel_matches_eager(f"aten::{name}.out", x, size, align)
    x = torch.randn(2, 3, 9, 8)
    assert_kernel_matches_eager(f"aten::{name}.out", x, (12, 5), align, 1.4, 0.6)
    last = torch.channels_last
    assert_kernel_matches_eager(f"aten::{name}.out", x.to(memory_format=last), (5, 13), align, memory_format=last)
    assert_kernel_matches_eager(f"aten::{name}.out", torch.randn(1, 2, 1, 300), (4, 7), align)


@pytest.mark.parametrize("arguments", [((9, 10), None), (None, [2.0, 1.5])], ids=str)
def test_vec_overloads_take_a_size_or_factors(arguments: tuple[Any, Any]) -> None:
    x = torch.randn(2, 3, 5, 7)
    size, factors = arguments
    assert_kernel_matches_eager("aten::upsample_nearest2d.vec_out", x, size, factors)
    for align in (False, True):
        assert_kernel_matches_eager("aten::upsample_bilinear2d.vec_out", x, size, align, factors)


def test_resizing_refuses_bad_arguments() -> None:
    x, out = torch.ones(1, 2, 4, 4), torch.ones(1, 2, 9, 9)
    assert_kernel_refuses("aten::upsample_nearest2d.out", x, [0, 3], out=out)
    assert_kernel_refuses("aten::upsample_nearest2d.out", x, [3], out=out[0])
    assert_kernel_refuses("aten::upsample_nearest2d.out", x.int(), [3, 3], out=out.int())
    assert_kernel_refuses("aten::upsample_nearest2d.vec_out", x, None, None, out=out)
    assert_kernel_refuses("aten::upsample_nearest2d.vec_out", x, [3, 3], [2.0, 2.0], out=out)
    assert_kernel_refuses("aten::upsample_bilinear2d.vec_out", x, None, False, [float("nan"), 2.0], out=out)
    assert_kernel_refuses("aten::upsample_bilinear2d.vec_out", x, None, False, [1e30, 2.0], out=out)
    assert_kernel_refuses("aten::upsample_bilinear2d.out", torch.ones(1, 2, 0, 4), [3, 3], False, out=out)
    assert_kernel_refuses("aten::upsample_linear1d.out", x[0].byte(), [3], False, out=out[0].byte())


def test_extreme_scales_do_not_crash() -> None:
    x = torch.rand(1, 2, 4, 4)
    for name, scale in itertools.product(PLANAR, (1e-300, 1e300, 5e-324, -1.0, float("nan"), float("inf"), 0.0)):
        out = torch.empty(1, 2, 9, 9)
        assert call_kernel(f"aten::{name}.out", x, [9, 9], False, scale, scale, out=out).error == 0
        assert call_kernel("aten::upsample_nearest2d.out", x, [9, 9], scale, scale, out=out).error == 0


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64], ids=str)
@pytest.mark.parametrize("mode", [0, 1, 2])
@pytest.mark.parametrize("padding", [0, 1, 2])
@pytest.mark.parametrize("align", [False, True])
def test_grid_sampling_matches_eager(mode: int, padding: int, align: bool, dtype: torch.dtype) -> None:
    x = torch.randn(2, 3, 6, 5).to(dtype)
    grid = (torch.rand(2, 4, 7, 2) * 3 - 1.5).to(dtype)
    assert_kernel_matches_eager("aten::grid_sampler_2d.out", x, grid, mode, padding, align)
    last = torch.channels_last
    image = x.to(memory_format=last)
    assert_kernel_matches_eager("aten::grid_sampler_2d.out", image, grid, mode, padding, align, memory_format=last)
    volume, points = torch.randn(2, 3, 4, 6, 5).to(dtype), (torch.rand(2, 3, 4, 5, 3) * 3 - 1.5).to(dtype)
    if mode == 2:
        out = torch.empty(2, 3, 3, 4, 5, dtype=dtype)
        assert_kernel_refuses("aten::grid_sampler_3d.out", volume, points, mode, padding, align, out=out)
    else:
        assert_kernel_matches_eager("aten::grid_sampler_3d.out", volume, points, mode, padding, align)


@pytest.mark.parametrize("mode", [0, 1, 2])
def test_pixels_outside_contribute_nothing_even_beside_infinite_ones(mode: int) -> None:
    x = torch.randn(1, 2, 6, 5)
    x[..., 0, :], x[..., -1] = float("inf"), float("-inf")
    grid = torch.rand(1, 3, 75, 2) * 2.6 - 1.3  # more points in a row than are sampled together
    assert_kernel_matches_eager("aten::grid_sampler_2d.out", x, grid, mode, 0, False)


def test_extreme_coordinates_of_grid_sampling_do_not_crash() -> None:
    wild = torch.tensor([float("nan"), float("inf"), -float("inf"), 1e30, -1e30, 3e9]).repeat(2, 1).t()[None, None]
    for mode, padding in itertools.product(range(3), range(3)):
        out = torch.empty(1, 1, 1, 6)
        assert (
            call_kernel("aten::grid_sampler_2d.out", torch.ones(1, 1, 3, 3), wild, mode, padding, False, out=out).error
            == 0
        )


@pytest.mark.parametrize("dtype", FLOATS, ids=str)
def test_glu_matches_eager(dtype: torch.dtype) -> None:
    x = torch.randn(4, 6, 600).to(dtype)
    for dim in (0, 1, 2, -1):
        assert_kernel_matches_eager("aten::glu.out", x, dim)
    assert_kernel_refuses("aten::glu.out", x[:3], 0, out=x.clone())


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64], ids=str)
@pytest.mark.parametrize("p", [0.0, 1.0, 2.0, 3.5, float("inf")])
def test_distances_match_eager(p: float, dtype: torch.dtype) -> None:
    assert_kernel_matches_eager(
        "aten::_cdist_forward.out", torch.randn(4, 9).to(dtype), torch.randn(5, 9).to(dtype), p, None
    )
    for a, b in [((2, 4, 300), (2, 3, 300)), ((3, 0, 5), (3, 2, 5)), ((3, 2, 0), (3, 2, 0))]:
        args = (torch.randn(a).to(dtype), torch.randn(b).to(dtype), p, None)
        assert_kernel_matches_eager("aten::_cdist_forward.out", *args)
    for n in (0, 1, 5):
        assert_kernel_matches_eager("aten::_pdist_forward.out", torch.randn(n, 7).to(dtype), p)


@pytest.mark.parametrize("dtype", FLOATS, ids=str)
def test_unfolding_and_folding_match_eager(dtype: torch.dtype) -> None:
    x = torch.randn(2, 3, 8, 9).to(dtype)
    for kernel, dilation, padding, stride in [((2, 3), 1, 0, 1), ((3, 3), (1, 2), 1, 2), ((1, 4), 1, (0, 2), (3, 1))]:
        rest = [list(v) if isinstance(v, tuple) else [v, v] for v in (kernel, dilation, padding, stride)]
        assert_kernel_matches_eager("aten::im2col.out", x, *rest)
        columns = torch.ops.aten.im2col(x, *rest)
        assert_kernel_matches_eager("aten::col2im.out", columns, [8, 9], *rest)
        assert_kernel_matches_eager("aten::col2im.out", columns[0].contiguous(), [8, 9], *rest)
    name, out = "aten::im2col.out", torch.empty(2, 99, 99, dtype=dtype)
    assert_kernel_refuses(name, x, [9, 9], [1, 1], [0, 0], [1, 1], out=out)
    assert_kernel_refuses(name, x, [1 << 30, 1 << 30], [1, 1], [1 << 30, 1 << 30], [1, 1], out=out)
    assert_kernel_refuses("aten::col2im.out", columns, [8, 8], *rest, out=x.clone())


@pytest.mark.parametrize("dilation", [1, 2, 3, 4])
@pytest.mark.parametrize("stride", [1, 2, 3, 6, 20])
def test_folding_with_steps_of_every_relation_matches_eager(stride: int, dilation: int) -> None:
    for kernel, padding in itertools.product((1, 3), (0, 3)):
        rest = [[kernel, 2], [dilation, 5], [padding, 1], [stride, 3]]
        columns = torch.ops.aten.im2col(torch.randn(2, 10, 11), *rest)
        assert_kernel_matches_eager("aten::col2im.out", columns, [10, 11], *rest)


@pytest.mark.parametrize("width", [31, 32, 33, 70])
def test_folding_of_wide_images_matches_eager(width: int) -> None:
    rest = [[2, 3], [1, 2], [0, 1], [1, 2]]
    columns = torch.ops.aten.im2col(torch.randn(2, 3, 5, width), *rest)
    assert_kernel_matches_eager("aten::col2im.out", columns, [5, width], *rest)
