# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Random nests of control flow through compiler and runtime give eager's results, call after call."""

from typing import Any

import pytest
import torch
from hypothesis import HealthCheck, given, reject, settings
from hypothesis import strategies as st
from oracle.models.control_flow_nests import WIDTH, Block, Nest, blocks
from oracle.models.program_interpreter import Method
from oracle.tolerances import MODEL
from torch._higher_order_ops.map import map as torch_map
from torch._higher_order_ops.while_loop import while_loop
from torch.export import Dim, export

from executorch.exir import to_edge
from executorch.exir.error import ExportError
from executorch.runtime import Runtime

pytestmark = pytest.mark.sampled(by="file")

SETTINGS = settings(
    max_examples=3,
    deadline=None,
    derandomize=True,
    suppress_health_check=list(HealthCheck),
    database=None,
    print_blob=True,
)


def assert_like_eager(block: Block, rows: list[int], seed: int) -> None:
    """Each call, with its own number of rows, on the runtime and on memory that starts as garbage."""
    torch.manual_seed(seed)
    model = Nest(block)
    calls = [(torch.randn(n, WIDTH), torch.randn(n, WIDTH)) for n in rows]
    size: Any = {0: Dim("rows", min=2, max=max(rows))} if len(set(rows)) > 1 else None
    shapes = {"x": size, "y": size}
    try:
        exported = export(model, calls[0], dynamic_shapes=shapes if size else None, strict=False)
    except RuntimeError:
        reject()  # not a program that torch.export can make
    try:
        program = to_edge(exported).to_executorch().buffer
    except ExportError as error:
        # torch's own trace of nested control flow on sizes that vary: nothing of ours has run yet.
        if not size or "torch cannot trace this nest" not in str(error):
            raise
        reject()
    method, planned = Runtime.get().load_program(program).load_method("forward"), Method(program)
    for inputs in [*calls, calls[0]]:
        with torch.no_grad():
            expected = list(model(*inputs))
        found = [torch.as_tensor(value).clone() for value in method.execute(inputs)]
        torch.testing.assert_close(found, expected, **MODEL)
        torch.testing.assert_close(planned(*inputs), expected, **MODEL)


@SETTINGS
@given(blocks(), st.integers(0, 99))
def test_nests_on_fixed_sizes(block: Block, seed: int) -> None:
    assert_like_eager(block, [4, 4], seed)


@SETTINGS
@given(blocks(), st.integers(0, 99))
def test_nests_on_sizes_known_at_run_time(block: Block, seed: int) -> None:
    assert_like_eager(block, [4, 7, 2], seed)


class LoopInABranch(torch.nn.Module):
    """Mutates state beside branches whose loops read captured values: torch cannot trace it a second time."""

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("count", torch.zeros(1, dtype=torch.int64))

    def forward(self, x: torch.Tensor, y: torch.Tensor) -> Any:
        z, row = x.mean(), y[0] * 1.0

        def looped() -> tuple[torch.Tensor, ...]:
            def inner() -> tuple[torch.Tensor, ...]:
                _, carried = while_loop(
                    lambda i, p: i < 3, lambda i, p: (i + 1, torch.softmax(p + x, -1)), (torch.tensor(0), y + 0)
                )
                return carried.mean(0) + row, z * 0.5

            one, two = torch.cond(self.count[0] % 2 == 1, inner, lambda: (row.sin(), z.cos()), ())
            return y + one, two * 1

        first, second = torch.cond(x.sum() > 0, looped, lambda: (x * 2, z + 1), ())
        self.count.add_(1)
        return first, second, self.count * 1, x


@pytest.mark.parametrize("rows", [[5, 5, 5, 5], [5, 2, 9, 4]], ids=["fixed sizes", "sizes that vary"])
def test_branches_with_loops_and_state_match_eager(rows: list[int]) -> None:
    size: Any = {0: Dim("rows", min=2, max=9)} if len(set(rows)) > 1 else None
    calls = [((torch.rand(n, WIDTH) - 0.3 * (n % 2)) * 2, torch.randn(n, WIDTH)) for n in rows]
    exported = export(LoopInABranch(), calls[0], dynamic_shapes={"x": size, "y": size} if size else None, strict=False)
    program = to_edge(exported).to_executorch().buffer
    method, eager = Runtime.get().load_program(program).load_method("forward"), LoopInABranch()
    planned = Method(program, zeroed=True)
    for inputs in calls:
        expected = [value.clone() for value in eager(*inputs)]
        found = [torch.as_tensor(value).clone() for value in method.execute(inputs)]
        torch.testing.assert_close(found, expected, **MODEL)
        torch.testing.assert_close(planned(*inputs), expected, **MODEL)


def test_a_loop_with_constants_in_a_branch_of_a_map() -> None:
    class Rows(torch.nn.Module):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            def looped(row: torch.Tensor) -> torch.Tensor:
                steps = while_loop(lambda i, p: i < 3, lambda i, p: (i + 1, p.tanh()), (torch.tensor(0), row + 0))
                return steps[1] * 1

            return torch_map(lambda row: torch.cond(row.argmax() % 2 == 0, lambda r: r * 2, looped, (row,)), x)

    exported = export(Rows(), (torch.randn(5, WIDTH),), dynamic_shapes={"x": {0: Dim("rows", min=2, max=9)}})
    method = Runtime.get().load_program(to_edge(exported).to_executorch().buffer).load_method("forward")
    for rows in (5, 2, 9):
        x = torch.randn(rows, WIDTH)
        expected = torch.stack([row * 2 if row.argmax() % 2 == 0 else row.tanh().tanh().tanh() for row in x])
        torch.testing.assert_close(torch.as_tensor(method.execute((x,))[0]), expected, **MODEL)
