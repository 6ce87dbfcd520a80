# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Scalars beside tensors: a kernel rejects a value outside the dtype, and wraps where eager wraps."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import pytest
import torch
from oracle.kernels.kernel_entry import call_kernel
from oracle.tolerances import LAYER, ROUNDED_ONCE

aten = torch.ops.aten
Number = int | float | bool
Call = tuple[tuple[Any, ...], dict[str, Any]]

VALUES: tuple[Number, ...] = (
    *(300, -200, -128, 255, -255, -256, 127, 65504, 66000.0, 1e40, -1e40, math.inf, -math.inf, math.nan),
    *(1.5, -1.5, 255.5, 70000.0, 2**40, 2**63 - 1, 2.0**63, 1e300, True, -1, 0.5),
)
DTYPES = (
    *(torch.int8, torch.uint8, torch.int16, torch.int32, torch.int64, torch.bool),
    *(torch.float16, torch.bfloat16, torch.float32, torch.float64),
)
INDEX, MASK = torch.zeros(1, dtype=torch.int64), torch.ones(4, dtype=torch.bool)


def ones(dtype: torch.dtype, *shape: int) -> torch.Tensor:
    return torch.ones(shape or (4,), dtype=dtype)


def both(dtype: torch.dtype, name: str, value: Number, *shapes: tuple[int, ...]) -> Call:
    return tuple(ones(dtype, *shape) for shape in shapes), {name: value}


# The kernel, the functional operator, and its arguments for a dtype and a number.
CALLS: list[tuple[str, Any, Callable[[torch.dtype, Number], Call]]] = [
    ("add.out", aten.add.Tensor, lambda d, v: both(d, "alpha", v, (4,), (4,))),
    ("sub.out", aten.sub.Tensor, lambda d, v: both(d, "alpha", v, (4,), (4,))),
    ("rsub.Tensor_out", aten.rsub.Tensor, lambda d, v: both(d, "alpha", v, (4,), (4,))),
    ("rsub.Scalar_out", aten.rsub.Scalar, lambda d, v: ((ones(d), 1, v), {})),
    ("rsub.Scalar_out", aten.rsub.Scalar, lambda d, v: ((ones(d), v), {})),
    ("add.Scalar_out", aten.add.Scalar, lambda d, v: ((ones(d), 1, v), {})),
    ("mul.Scalar_out", aten.mul.Scalar, lambda d, v: ((ones(d), v), {})),
    ("pow.Tensor_Scalar_out", aten.pow.Tensor_Scalar, lambda d, v: ((ones(d), v), {})),
    ("pow.Scalar_out", aten.pow.Scalar, lambda d, v: ((v, ones(d)), {})),
    ("clamp.out", aten.clamp.default, lambda d, v: ((ones(d), v, None), {})),
    ("clamp.out", aten.clamp.default, lambda d, v: ((ones(d), 0, v), {})),
    ("clamp_min.out", aten.clamp_min.default, lambda d, v: ((ones(d), v), {})),
    ("clamp_max.out", aten.clamp_max.default, lambda d, v: ((ones(d), v), {})),
    ("hardtanh.out", aten.hardtanh.default, lambda d, v: ((ones(d), 0, v), {})),
    ("hardtanh.out", aten.hardtanh.default, lambda d, v: ((ones(d), v, 100), {})),
    ("leaky_relu.out", aten.leaky_relu.default, lambda d, v: ((ones(d), v), {})),
    ("elu.out", aten.elu.default, lambda d, v: ((ones(d) * 2, v, v, 1), {})),
    ("softplus.out", aten.softplus.default, lambda d, v: ((ones(d), v), {})),
    ("softplus.out", aten.softplus.default, lambda d, v: ((ones(d), 1, v), {})),
    ("threshold.out", aten.threshold.default, lambda d, v: ((ones(d), v, 0), {})),
    ("threshold.out", aten.threshold.default, lambda d, v: ((ones(d), 5, v), {})),
    ("addcmul.out", aten.addcmul.default, lambda d, v: both(d, "value", v, (4,), (4,), (4,))),
    ("lerp.Scalar_out", aten.lerp.Scalar, lambda d, v: ((ones(d), ones(d), v), {})),
    ("fill.Scalar_out", aten.fill.Scalar, lambda d, v: ((ones(d), v), {})),
    ("fill.Scalar_out", aten.fill.Scalar, lambda d, v: ((ones(d, 0), v), {})),
    ("fill.Scalar_out", aten.fill.Scalar, lambda d, v: ((ones(d, 1), v), {})),
    ("full_like.out", aten.full_like.default, lambda d, v: ((ones(d), v), {})),
    ("constant_pad_nd.out", aten.constant_pad_nd.default, lambda d, v: ((ones(d), [1, 1], v), {})),
    ("constant_pad_nd.out", aten.constant_pad_nd.default, lambda d, v: ((ones(d), [-1, 0], v), {})),
    ("masked_fill.Scalar_out", aten.masked_fill.Scalar, lambda d, v: ((ones(d), MASK, v), {})),
    ("masked_fill.Tensor_out", aten.masked_fill.Tensor, lambda d, v: ((ones(d), MASK, torch.tensor(v)), {})),
    ("fill.Tensor_out", aten.fill.Tensor, lambda d, v: ((ones(d), torch.tensor(v)), {})),
    ("scatter.value_out", aten.scatter.value, lambda d, v: ((ones(d), 0, INDEX, v), {})),
    ("scatter.value_out", aten.scatter.value, lambda d, v: ((ones(d), 0, INDEX[:0], v), {})),
    ("addmm.out", aten.addmm.default, lambda d, v: both(d, "beta", v, (2, 2), (2, 2), (2, 2))),
    ("addmm.out", aten.addmm.default, lambda d, v: both(d, "alpha", v, (2, 2), (2, 2), (2, 2))),
    ("baddbmm.out", aten.baddbmm.default, lambda d, v: both(d, "alpha", v, (1, 2, 2), (1, 2, 2), (1, 2, 2))),
    ("addmv.out", aten.addmv.default, lambda d, v: both(d, "alpha", v, (2,), (2, 2), (2,))),
    ("histc.out", aten.histc.default, lambda d, v: ((ones(d), 4, 0, v), {})),
    ("bucketize.Scalar_out", aten.bucketize.Scalar, lambda d, v: ((v, ones(d)), {})),
    ("searchsorted.Scalar_out", aten.searchsorted.Scalar, lambda d, v: ((ones(d), v), {"right": True})),
]


def difference(name: str, op: Any, arguments: Call) -> str:
    """Empty where the kernel gives what eager gives, or both refuse."""
    args, options = arguments
    try:
        expected = op(*args, **options)
    except (RuntimeError, ZeroDivisionError) as error:
        if "not implemented" in str(error):  # the kernel may have a dtype that eager lacks
            return ""
        expected = None
    like = next(a for a in args if isinstance(a, torch.Tensor))
    out = torch.ones_like(like if expected is None else expected)
    call = call_kernel(f"aten::{name}", *args, out=out, **options)
    if expected is None:
        return "" if call.error else "accepted, eager refuses"
    if call.error:
        return f"refused: {call.message}"
    rtol = ROUNDED_ONCE.get(expected.dtype, LAYER)["rtol"]
    same = torch.allclose(call.outputs[0].double(), expected.double(), rtol=rtol, equal_nan=True)
    return "" if same else f"{call.outputs[0].flatten()[:2]}, eager {expected.flatten()[:2]}"


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("call", CALLS, ids=lambda call: call[0])
def test_a_number_that_the_dtype_cannot_hold_is_refused_as_in_eager(
    call: tuple[str, Any, Callable[[torch.dtype, Number], Call]],
) -> None:
    name, op, arguments = call
    cases = [(dtype, value) for dtype in DTYPES for value in VALUES]
    faults = [
        f"{dtype} {value}: {fault}"
        for dtype, value in cases
        if (fault := difference(name, op, arguments(dtype, value)))
    ]
    assert not faults, "\n".join(faults)


def test_the_message_names_argument_value_and_dtype() -> None:
    x = torch.ones(3, dtype=torch.int8)
    call = call_kernel("aten::add.out", x, x, out=x.clone(), alpha=300)
    assert call.error != 0
    assert "alpha must fit int8, found 300" in call.message
