# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Copies of images between NCHW and channels last: by the engine where it applies, else by the portable kernel."""

from __future__ import annotations

import itertools

import pytest
import torch
from oracle.kernels.kernel_entry import call_kernel

KERNELS = ["_to_dim_order_copy", "_clone_dim_order"]
FORMATS = {torch.contiguous_format: [0, 1, 2, 3], torch.channels_last: [0, 2, 3, 1]}


def _image(sizes: tuple[int, ...], dtype: torch.dtype) -> torch.Tensor:
    """Random bits, with NaN and infinities among them for floats."""
    x = torch.randint(-1000, 1000, sizes).to(dtype)
    if dtype.is_floating_point and x.numel() > 2:
        x.view(-1)[:3] = torch.tensor([float("nan"), float("-inf"), -0.0], dtype=dtype)
    return x


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("dtype", [torch.float32, torch.int32, torch.float16, torch.int64, torch.bool], ids=str)
def test_copies_between_layouts_keep_every_bit(kernel: str, dtype: torch.dtype) -> None:
    torch.manual_seed(0)
    images = ((1, 3, 224, 224), (2, 3, 5, 7), (2, 17, 9, 33), (1, 1, 4, 4), (3, 64, 1, 1), (0, 3, 2, 2), (2, 0, 3, 3))
    for sizes, (source, (target, order)) in itertools.product(images, itertools.product(FORMATS, FORMATS.items())):
        x = _image(sizes, dtype).contiguous(memory_format=source)
        for dim_order in (order, None):
            out = torch.zeros(sizes, dtype=dtype).contiguous(memory_format=target)
            call = call_kernel(f"dim_order_ops::{kernel}.out", x, False, dim_order, out=out)
            assert call.error == 0, call.message
            torch.testing.assert_close(call.outputs[0], x, rtol=0, atol=0, equal_nan=True)


def test_a_copy_to_another_dtype_and_layout_converts() -> None:
    x = torch.arange(2 * 3 * 4 * 5, dtype=torch.float32).view(2, 3, 4, 5)
    out = torch.zeros(2, 3, 4, 5, dtype=torch.int32).contiguous(memory_format=torch.channels_last)
    call = call_kernel("dim_order_ops::_to_dim_order_copy.out", x, False, [0, 2, 3, 1], out=out)
    assert call.error == 0, call.message
    assert torch.equal(call.outputs[0], x.to(torch.int32))


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("dim_order", [[0, 1, 2, 3], [0, 2, 3], [0, 2, 2, 1], [0, 2, 3, 4]], ids=str)
def test_a_dim_order_that_out_does_not_have_is_refused(kernel: str, dim_order: list[int]) -> None:
    out = torch.zeros(2, 3, 4, 5).contiguous(memory_format=torch.channels_last)
    assert call_kernel(f"dim_order_ops::{kernel}.out", torch.randn(2, 3, 4, 5), False, dim_order, out=out).error
