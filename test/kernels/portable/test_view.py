# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Views and rearrangements at the edges of their arguments, against eager."""

from __future__ import annotations

import pytest
import torch
from oracle.kernels.against_eager import assert_kernel_matches_eager, assert_kernel_refuses

WIDTHS = [torch.uint8, torch.float16, torch.uint16, torch.uint32, torch.float32, torch.uint64, torch.float64]
LAST = torch.channels_last


def numbered(shape: tuple[int, ...], dtype: torch.dtype = torch.float32) -> torch.Tensor:
    return torch.arange(torch.Size(shape).numel()).reshape(shape).to(dtype)


@pytest.mark.parametrize("offset", [-(2**62), -4, -3, 0, 2, 5, 6, 2**62])
def test_a_diagonal_beyond_the_corners_is_empty(offset: int) -> None:
    assert_kernel_matches_eager("aten::diagonal_copy.out", numbered((3, 5)), offset, 0, 1)


@pytest.mark.parametrize("source", [torch.int64, torch.float64, torch.bool], ids=str)
def test_scattered_values_take_the_dtype_of_self(source: torch.dtype) -> None:
    self = numbered((3, 4))
    assert_kernel_matches_eager("aten::select_scatter.out", self, numbered((4,), source), 0, 1)
    assert_kernel_matches_eager("aten::slice_scatter.out", self, numbered((3, 2), source), 1, 0, 4, 2)


@pytest.mark.parametrize("dtype", WIDTHS, ids=str)
def test_elements_of_every_width_are_moved(dtype: torch.dtype) -> None:
    x = numbered((2, 6, 4, 4), dtype)
    for layout in (torch.contiguous_format, LAST):
        given = x.to(memory_format=layout)
        for out in (None, LAST):
            assert_kernel_matches_eager("aten::view_copy.out", given, [4, 3, 8, 2], memory_format=out)
            assert_kernel_matches_eager("aten::permute_copy.out", given, [0, -2, 1, 3], memory_format=out)
            assert_kernel_matches_eager("aten::expand_copy.out", given[:1], [3, -1, 4, 4], memory_format=out)
            if dtype not in (torch.uint16, torch.uint32, torch.uint64):  # which eager does not roll
                assert_kernel_matches_eager("aten::roll.out", given, [35], memory_format=out)
                assert_kernel_matches_eager("aten::roll.out", given, [3, -9], [1, 2], memory_format=out)


def test_invalid_sizes_are_refused() -> None:
    x, out = numbered((4, 6)), torch.empty(4, 6)
    for sizes in ([2**40, 2**40], [-1, -1], [5, -1], [0, -1], [-2, 12], [2**62, 4, -1]):
        assert_kernel_refuses("aten::view_copy.out", x, sizes, out=out)
    assert_kernel_refuses("aten::expand_copy.out", x, [-1, 4, 6], out=torch.empty(1, 4, 6))
    assert_kernel_refuses("aten::expand_copy.out", x, [5, 6], out=out)
    assert_kernel_refuses("aten::as_strided_copy.out", x, [4, 6], [6, 2], None, out=out)
    assert_kernel_refuses("aten::as_strided_copy.out", x, [2, 2], [2**62, 2**62], None, out=out)
    assert_kernel_refuses("aten::as_strided_copy.out", x, [1, 1], [1, 1], 24, out=out)
    assert_kernel_refuses("aten::split_copy.Tensor_out", x, 0, 0, out=[[out]])
    assert_kernel_refuses("aten::split_with_sizes_copy.out", x, [2**62, 2**62], 0, out=[[out, out]])
    assert_kernel_refuses("aten::pixel_shuffle.out", numbered((2, 3, 3)), 2**33, out=out)
    assert_kernel_refuses("aten::pixel_unshuffle.out", numbered((2, 3, 3)), 0, out=out)
    assert_kernel_refuses("aten::repeat.out", x, [2**40, 2**40], out=out)


def test_norms_of_empty_tensors_match_eager() -> None:
    assert_kernel_matches_eager("aten::native_layer_norm.out", torch.ones(2, 0), [0], None, None, 1e-5)
    assert_kernel_matches_eager("aten::native_group_norm.out", torch.ones(2, 4, 0), None, None, 2, 4, 0, 2, 1e-5)
