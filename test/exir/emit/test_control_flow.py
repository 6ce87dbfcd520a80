# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Emitted control flow gives eager's results, on memory that starts as garbage and is planned as tightly as it gets."""

from collections.abc import Callable
from typing import Any

import pytest
import torch
from oracle.models.program_interpreter import Method
from oracle.tolerances import LAYER
from torch._higher_order_ops.map import map as torch_map
from torch._higher_order_ops.scan import scan
from torch._higher_order_ops.while_loop import while_loop
from torch.export import Dim, export

from executorch.exir import to_edge

Function = Callable[..., Any]
W = torch.linspace(-1, 1, 16).reshape(4, 4)


class Calls(torch.nn.Module):
    def __init__(self, function: Function) -> None:
        super().__init__()
        self.function = function
        self.w = torch.nn.Parameter(W.clone())

    def forward(self, x: torch.Tensor) -> Any:
        return self.function(x, self.w)


def branches(x: torch.Tensor, w: torch.Tensor) -> Any:
    y = x @ w
    kept, moved = torch.cond(
        x.sum() > 0, lambda a, b: (a.sin() @ w, b.clone()), lambda a, b: ((a.cos() + b).relu(), b * 2), (x, y)
    )
    return kept + y, moved


def consecutive_branches(x: torch.Tensor, w: torch.Tensor) -> Any:
    a = torch.cond(x.sum() > 0, lambda a: a.sin() @ w, lambda a: (a.cos().exp() @ w).relu(), (x,))
    b = torch.cond(x.sum() < 0, lambda a: (a * 3).cos() @ w, lambda a: ((a * 2).sin() @ w).exp(), (x,))
    c = torch.cond(b.sum() < a.sum(), lambda a, b: (a * b).cos() @ w, lambda a, b: (a - b).exp() @ w, (a, b))
    return a + b + c


def nested_branches(x: torch.Tensor, w: torch.Tensor) -> Any:
    def outer(a: torch.Tensor) -> torch.Tensor:
        z = a @ w
        return torch.cond(a.max() > 1, lambda q, r: (q + r).sin() @ w, lambda q, r: (q - r).cos(), (a, z))

    return torch.cond(x.sum() > 0, outer, lambda a: (a @ w).exp(), (x,)) * 2


def a_branch_that_returns_a_weight(x: torch.Tensor, w: torch.Tensor) -> Any:
    return torch.cond(x.sum() > 0, lambda a: w.clone(), lambda a: (a[:, :, None] * a[:, None]).sum(0), (x,)) + 1


def scanned_over_slices_that_nobody_reads(x: torch.Tensor, w: torch.Tensor) -> Any:
    (last,), (rows,) = scan(lambda c, xs: ([(c[0] * 0.5).sin()], [c[0] * 2]), [x[0] * 1], [x * 1, x @ w])
    return last, rows


def mapped(x: torch.Tensor, w: torch.Tensor) -> Any:
    return torch_map(lambda row, w: (row @ w).relu() + 1, x, w) * 2


def scanned(x: torch.Tensor, w: torch.Tensor) -> Any:
    total, rows = scan(lambda c, v: (c @ w * 0.1 + v, (c * v).relu()), torch.zeros(4), x)
    return total + 1, rows


def looped(x: torch.Tensor, w: torch.Tensor) -> Any:
    def body(i: torch.Tensor, a: torch.Tensor) -> Any:
        return i + 1, (a @ w * 0.5).sin() + a

    i, a = while_loop(lambda i, a: i < 5, body, (torch.tensor(0), x))
    return a * 2, i


def a_loop_that_exchanges_what_it_carries(x: torch.Tensor, w: torch.Tensor) -> Any:
    def body(a: torch.Tensor, b: torch.Tensor, n: torch.Tensor) -> Any:
        return b + 0.0, (a + b) @ w * 0.3, n + 1

    return while_loop(lambda a, b, n: n < 3, body, (x, x * 2, torch.zeros((), dtype=torch.int64)))[:2]


def a_loop_that_never_runs(x: torch.Tensor, w: torch.Tensor) -> Any:
    return while_loop(lambda a: a.sum() < -1e9, lambda a: (a @ w).clone(), (x,))


ALL = [
    branches,
    consecutive_branches,
    nested_branches,
    a_branch_that_returns_a_weight,
    mapped,
    scanned,
    scanned_over_slices_that_nobody_reads,
    looped,
    a_loop_that_exchanges_what_it_carries,
    a_loop_that_never_runs,
]


def assert_like_eager(function: Function, inputs: list[torch.Tensor], dynamic_shapes: Any = None) -> None:
    model = Calls(function).eval()
    exported = export(model, (inputs[0],), dynamic_shapes=dynamic_shapes, strict=False)
    method = Method(to_edge(exported).to_executorch().buffer)
    for x in inputs:
        expected = torch.utils._pytree.tree_leaves(exported.module()(x))
        torch.testing.assert_close(method(x), expected, **LAYER)


@pytest.mark.sampled
@pytest.mark.parametrize("function", ALL, ids=lambda function: function.__name__)
def test_results_match_eager_whatever_ran_before(function: Function) -> None:
    x = torch.linspace(-0.9, 1.1, 12).reshape(3, 4)
    assert_like_eager(function, [x, -x, x.abs() + 1, x.abs() * 0.1, x])


def test_a_map_over_a_length_known_at_run_time() -> None:
    dynamic = {"x": {0: Dim("rows", min=2, max=8)}}
    assert_like_eager(mapped, [torch.randn(3, 4), torch.randn(8, 4), torch.randn(2, 4)], dynamic)


def test_a_scan_over_a_length_known_at_run_time() -> None:
    dynamic = {"x": {0: Dim("rows", min=2, max=8)}}
    assert_like_eager(scanned, [torch.randn(3, 4), torch.randn(8, 4), torch.randn(2, 4)], dynamic)
