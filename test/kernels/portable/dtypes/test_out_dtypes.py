# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""An `out` of another dtype than the result's, and unusual arguments that eager accepts."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from oracle.kernels.kernel_entry import call_kernel, schema_of
from oracle.tolerances import LAYER, MODEL

BYTES = torch.tensor([100, -128, 7], dtype=torch.int8)
FLOATS = torch.randn(3, 4)
# kernel, arguments, dtype of out
CALLS: list[tuple[str, tuple[Any, ...], torch.dtype]] = [
    *((f"{name}.out", (BYTES, BYTES), dtype) for name in ("mul", "add", "sub") for dtype in (torch.int64, torch.int32)),
    ("mul.out", (BYTES, BYTES), torch.float32),
    ("mul.out", (FLOATS.half() * 300, FLOATS.half() * 300), torch.float32),
    ("mul.out", (FLOATS, FLOATS), torch.complex64),
    ("max.unary_out", (BYTES,), torch.float32),
    ("min.unary_out", (BYTES,), torch.int64),
    ("glu.out", (FLOATS, 1), torch.float64),
    ("glu.out", (FLOATS.half(), 1), torch.float32),
    ("prod.int_out", (FLOATS, 1), torch.bool),
    ("sum.IntList_out", (FLOATS, [1]), torch.bool),
]


@pytest.mark.parametrize("call", CALLS, ids=lambda call: f"{call[0]}-{call[2]}")
def test_results_are_cast_to_out_as_in_eager(call: tuple[str, tuple[Any, ...], torch.dtype]) -> None:
    name, args, dtype = call
    operator, _, overload = name.partition(".")
    expected = getattr(getattr(torch.ops.aten, operator), overload)(*args, out=torch.empty(0, dtype=dtype))
    found = call_kernel(f"aten::{name}", *args, out=torch.empty_like(expected), schema=schema_of(f"aten::{name}"))
    assert found.error == 0, found.message
    torch.testing.assert_close(found.outputs[0], expected, **LAYER)


@pytest.mark.parametrize("pad", [[-6, 4], [-7, 4], [4, -7], [2, -6], [-5, 2], [-1, -1]], ids=str)
@pytest.mark.parametrize("name", ["reflection_pad1d", "replication_pad1d"])
def test_borders_may_be_cropped_by_more_than_the_input(name: str, pad: list[int]) -> None:
    x = torch.arange(5.0)[None]
    expected = getattr(torch.ops.aten, name)(x, pad)
    found = call_kernel(f"aten::{name}.out", x, pad, out=torch.empty_like(expected))
    assert found.error == 0, found.message
    assert torch.equal(found.outputs[0], expected)


def test_a_constant_border_crops_no_more_than_the_input() -> None:
    call = call_kernel("aten::constant_pad_nd.out", torch.arange(5.0)[None], [-6, 4], out=torch.empty(1, 3))
    assert call.error != 0 and "padding" in call.message


@pytest.mark.parametrize("bias", [(1,), (), (3,), (2, 3), (2, 1)], ids=str)
def test_a_bias_is_broadcast_to_the_result(bias: tuple[int, ...]) -> None:
    x, weight, added = torch.randn(2, 4), torch.randn(3, 4), torch.randn(bias)
    expected = torch.ops.aten.linear(x, weight, added)
    found = call_kernel("aten::linear.out", x, weight, added, out=torch.empty(2, 3))
    assert found.error == 0, found.message
    torch.testing.assert_close(found.outputs[0], expected)


@pytest.mark.parametrize("size", [5, 8, 9])
def test_a_full_spectrum_is_accepted(size: int) -> None:
    spectrum = torch.complex(torch.randn(2, 5), torch.randn(2, 5))
    expected = torch.ops.aten._fft_c2r(spectrum, [1], 0, size)
    found = call_kernel("aten::_fft_c2r.out", spectrum, [1], 0, size, out=torch.empty(2, size))
    assert found.error == 0, found.message
    torch.testing.assert_close(found.outputs[0], expected, **MODEL)
