# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Compares one kernel with eager torch: same arguments, same results within the dtype's tolerance."""

from __future__ import annotations

from typing import Any

import torch
from oracle.kernels.dense_memory import dense
from oracle.kernels.kernel_entry import call_kernel
from oracle.tolerances import LONG_SUMS


def functional_of(name: str) -> Any:
    """Return the functional operator of an out variant: ``aten.mm.default`` for ``aten::mm.out``."""
    operator, _, overload = name.removeprefix("aten::").partition(".")
    return getattr(getattr(torch.ops.aten, operator), overload.removesuffix("out").removesuffix("_") or "default")


def eager(name: str, *args: Any, **kwargs: Any) -> list[torch.Tensor]:
    """The results of the functional operator, as a list."""
    results = functional_of(name)(*args, **kwargs)
    return [results] if isinstance(results, torch.Tensor) else list(results)


def assert_matches(found: torch.Tensor, expected: torch.Tensor, what: str) -> None:
    """Assert equal sizes and dtype, and values within LONG_SUMS. NaN equals NaN."""
    rtol, atol = LONG_SUMS.get(expected.dtype, (0.0, 0.0))
    torch.testing.assert_close(
        found, expected, rtol=rtol, atol=atol, equal_nan=True, check_stride=False, msg=lambda m: f"{what}\n{m}"
    )


def assert_kernel_matches_eager(
    name: str, *args: Any, memory_format: torch.memory_format | None = None, **kwargs: Any
) -> None:
    """Compare the kernel with eager. Outputs have ``memory_format`` if their rank allows it, else contiguous."""
    args = tuple(dense(a) if isinstance(a, torch.Tensor) else a for a in args)
    try:
        expected = eager(name, *args, **kwargs)
    except (RuntimeError, IndexError, ValueError) as error:
        raise AssertionError(f"eager refuses {name}: {error}") from error
    outs = []
    for result in expected:
        out = torch.full_like(result, 77, memory_format=torch.contiguous_format)
        if memory_format is not None and result.dim() == (5 if memory_format is torch.channels_last_3d else 4):
            out = out.to(memory_format=memory_format)
        outs.append(out)
    call = call_kernel(name, *args, out=outs, **kwargs)
    what = f"{name} of {[tuple(a.shape) if isinstance(a, torch.Tensor) else a for a in args]} {kwargs}"
    assert call.error == 0, f"{what}: error {call.error}: {call.message}"
    for found, wanted in zip(call.outputs, expected, strict=True):
        assert_matches(found, wanted, what)


def assert_kernel_refuses(name: str, *args: Any, out: Any, **kwargs: Any) -> str:
    """Assert that the kernel refuses the call, and return its message."""
    call = call_kernel(name, *args, out=out, **kwargs)
    assert call.error != 0, f"{name} accepted what it must refuse"
    assert call.message, f"{name} failed without a message"
    return call.message


def random_tensor(shape: tuple[int, ...], dtype: torch.dtype) -> torch.Tensor:
    """Return random values around zero (from zero for uint8); integers are so small that sums do not overflow."""
    if dtype.is_floating_point:
        return torch.randn(shape).to(dtype)
    if dtype is torch.bool:
        return torch.rand(shape) > 0.5
    return torch.randint(0 if dtype is torch.uint8 else -9, 10, shape).to(dtype)
