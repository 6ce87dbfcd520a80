# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""The vectorized norms and softmax: every floating dtype, parameters or none, odd sizes, means far from zero."""

from __future__ import annotations

import itertools

import pytest
import torch
from oracle.kernels.against_eager import assert_kernel_matches_eager
from oracle.kernels.kernel_entry import call_kernel, prepare_kernel
from oracle.tolerances import CANCELLING

FLOATS = [torch.float16, torch.bfloat16, torch.float32, torch.float64]


@pytest.mark.parametrize("dtype", FLOATS, ids=str)
def test_layer_norms_match_eager(dtype: torch.dtype) -> None:
    torch.manual_seed(0)
    for sizes, parameters in itertools.product(([1], [7], [33], [4, 9]), (True, False)):
        x = torch.randn(3, 2, *sizes).to(dtype)
        weight, bias = (torch.randn(sizes).to(dtype) if parameters else None for _ in range(2))
        assert_kernel_matches_eager("aten::native_layer_norm.out", x, sizes, weight, bias, 1e-5)


@pytest.mark.parametrize("dtype", FLOATS, ids=str)
def test_group_norms_match_eager(dtype: torch.dtype) -> None:
    torch.manual_seed(0)
    for (channels, groups), pixels in itertools.product(((6, 3), (6, 1), (6, 6)), ([1], [5, 7], [3, 21, 11])):
        x = torch.randn(2, channels, *pixels).to(dtype)
        shape = (2, channels, x[0, 0].numel(), groups, 1e-5)
        for weight, bias in ((torch.randn(channels), torch.randn(channels)), (None, None)):
            parameters = [None if p is None else p.to(dtype) for p in (weight, bias)]
            assert_kernel_matches_eager("aten::native_group_norm.out", x, *parameters, *shape)


def test_a_large_region_far_from_zero_keeps_its_variance() -> None:
    torch.manual_seed(0)
    x = torch.randn(1, 8, 100, 101) + 1000
    out = [torch.empty_like(x), torch.empty(1, 2), torch.empty(1, 2)]
    call = call_kernel("aten::native_group_norm.out", x, torch.ones(8), None, 1, 8, 10100, 2, 1e-5, out=out)
    expected = torch.nn.functional.group_norm(x.double(), 2).float()
    torch.testing.assert_close(call.outputs[0], expected, **CANCELLING)


def test_group_norm_refuses_sizes_that_do_not_fit() -> None:
    for n, channels, pixels, groups in ((2, 6, 5, 4), (2, 6, 4, 3), (1, 6, 5, 3), (2, 6, 5, 0), (2, 2**62, 5, 3)):
        call = prepare_kernel(
            "aten::native_group_norm.out",
            *(torch.randn(2, 6, 5), None, None, n, channels, pixels, groups, 1e-5),
            out=[torch.empty(2, 6, 5), torch.empty(2, 3), torch.empty(2, 3)],
        )
        assert call().error


@pytest.mark.parametrize("dtype", FLOATS, ids=str)
@pytest.mark.parametrize("name", ["_softmax", "_log_softmax"])
def test_softmax_along_and_across_matches_eager(name: str, dtype: torch.dtype) -> None:
    torch.manual_seed(0)
    for sizes, dim in itertools.product(((5, 7, 33), (3, 1, 300)), (0, 1, 2)):
        assert_kernel_matches_eager(f"aten::{name}.out", torch.randn(sizes).to(dtype), dim, False)
    assert_kernel_matches_eager(f"aten::{name}.out", torch.randn(5, 7, 33).to(dtype).permute(2, 0, 1), 0, False)
