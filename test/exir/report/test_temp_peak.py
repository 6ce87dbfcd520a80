# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""The peak of temporary memory is measured, but not where a single run cannot show it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
from models.function_module import Function
from torch.export import Dim, export

from executorch.exir import to_edge
from executorch.exir.report.temp_peak import TempPeak
from executorch.runtime import Runtime


def _program(function: Callable[..., Any], x: torch.Tensor, sizes: Any = None, **more: Any) -> Any:
    return to_edge(export(Function(function), (x,), dynamic_shapes=((sizes,),)), **more).to_executorch()


def _peak(*given: Any) -> TempPeak:
    peak: TempPeak = _program(*given).verdict.methods[0].temp_peak
    return peak


def test_kernels_without_temporary_memory_give_a_peak_of_zero() -> None:
    assert _peak(lambda x: x + 1, torch.randn(4)) == TempPeak(0)


@pytest.mark.parametrize(
    "x",
    [torch.randn(2, 6, 5), torch.randn(2, 3, 4, 5).to(memory_format=torch.channels_last)],
    ids=["rows", "channels last"],
)
def test_the_measured_peak_is_that_of_other_runs(x: torch.Tensor) -> None:
    program = _program(lambda x: torch.fft.rfft(x.float(), dim=1).abs() + 1, x)
    peak = program.verdict.methods[0].temp_peak
    method = Runtime.get().load_program(program.buffer).load_method("forward", threads=1)
    assert method is not None and method.temp_memory_peak() == 0
    method.execute([x])
    assert peak == TempPeak(method.temp_memory_peak()) and (peak.bytes or 0) > 0
    assert f"temp peak: {peak.bytes:,} bytes" in str(program.verdict)


def test_the_largest_dynamic_sizes_count() -> None:
    function = lambda x: torch.fft.rfft(x, dim=0).abs()  # noqa: E731
    dynamic = _peak(function, torch.randn(8, 3), {0: 2 * Dim("n", min=2, max=32)})
    assert dynamic == TempPeak(_peak(function, torch.randn(64, 3)).bytes, "for inputs of the largest sizes")


def _spectrum(x: torch.Tensor) -> torch.Tensor:
    return torch.fft.rfft(x, dim=0).abs().sum(0) + x[0]


def _nested(x: torch.Tensor) -> torch.Tensor:
    inner = lambda x: torch.cond(x.sum() > 1, lambda x: x[0] + 1, _spectrum, (x,))  # noqa: E731
    return torch.cond(x.sum() > 0, inner, lambda x: x[0] - 1, (x,)) * 2


@pytest.mark.parametrize(
    "function",
    [
        lambda x: torch.cond(x.sum() > 0, _spectrum, lambda x: x[0] + 1, (x,)),
        lambda x: torch.cond(x.sum() > 0, lambda x: x[0] + 1, _spectrum, (x,)),
        _nested,
    ],
    ids=["first", "second", "nested"],
)
def test_the_branch_that_takes_most_counts(function: Callable[..., Any]) -> None:
    alone = _peak(_spectrum, torch.randn(8, 6))
    assert _peak(function, torch.randn(8, 6)) == alone and (alone.bytes or 0) > 0


def _until_large(x: torch.Tensor) -> Any:
    (y,) = torch.while_loop(lambda y: y.sum() < 900, lambda y: (y + _spectrum(y),), (x,))
    return y + 1


def _loop_over_slices(x: torch.Tensor) -> Any:
    """A loop over slices in a data-dependent loop: later instructions need all collected slices."""

    def body(y: torch.Tensor) -> tuple[torch.Tensor]:
        _, rows = torch._higher_order_ops.scan(lambda c, row: (c + 1, row * c), y.sum(0), y)
        return (y + _spectrum(rows),)

    (y,) = torch.while_loop(lambda y: y.sum() < 900, body, (x,))
    return y + 1


@pytest.mark.parametrize("function", [_until_large, _loop_over_slices])
def test_a_data_dependent_loop_takes_the_memory_of_its_body(function: Callable[..., Any]) -> None:
    x = torch.rand(8, 6)
    program = _program(function, x)
    method = Runtime.get().load_program(program.buffer).load_method("forward", threads=1)
    assert method is not None
    method.execute([x])
    assert program.verdict.methods[0].temp_peak == TempPeak(method.temp_memory_peak())
    assert method.temp_memory_peak() > 0


UNKNOWN: dict[str, tuple[Callable[..., Any], str]] = {
    "masks": (lambda x: torch.index_put(x, (x > 0,), torch.zeros(())), "its mask"),
    "sizes": (lambda x: torch.nonzero(x) + 1, "its sizes depend on data"),
}


@pytest.mark.parametrize("what", UNKNOWN)
def test_data_dependent_sizes_are_not_measured(what: str) -> None:
    function, why = UNKNOWN[what]
    peak = _peak(function, torch.randn(4, 4))
    assert peak.bytes is None and why in peak.note


def test_methods_of_constants_have_their_memory_in_the_verdict() -> None:
    verdict = _program(lambda x: x + 1, torch.randn(4), constant_methods={"limit": 5, "name": "a"}).verdict
    assert verdict.constant_methods.keys() == {"limit", "name"}
    assert all(size and size > 0 for size in verdict.constant_methods.values())
    assert "constant method limit: method allocator: " in str(verdict)
