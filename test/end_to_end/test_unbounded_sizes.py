# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Unbounded sizes: the compiler plans no memory for such tensors, and the runtime allocates them."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import pytest
import torch
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from models.function_module import Function
from oracle.tolerances import MODEL
from torch._higher_order_ops.map import map as torch_map
from torch._higher_order_ops.scan import scan
from torch._higher_order_ops.while_loop import while_loop
from torch.export import Dim, export

from executorch.exir import ExecutorchBackendConfig, to_edge
from executorch.exir.error import ExportError
from executorch.exir.passes import ConstraintBasedSymShapeEvalPass, MemoryPlanningPass
from executorch.exir.schema import FreeCall, Tensor, TensorShapeDynamism
from executorch.runtime import Runtime
from executorch.runtime.errors import InvalidArgumentError

pytestmark = pytest.mark.filterwarnings("ignore:no memory is planned for:UserWarning")

ROWS = {0: Dim("n")}


def _lowered(function: Callable[..., Any], x: torch.Tensor, sizes: Any = ROWS, **config: Any) -> Any:
    exported = export(Function(function), (x,), dynamic_shapes=((sizes,),))
    return to_edge(exported).to_executorch(ExecutorchBackendConfig(**config))


def _loaded(program: Any) -> Any:
    return Runtime.get().load_program(program.buffer).load_method("forward")


FUNCTIONS: dict[str, Callable[[torch.Tensor], Any]] = {
    "elementwise": lambda x: (x + 1).relu() * 2,
    "square of the rows": lambda x: (x @ x.t()).softmax(-1).reshape(-1),
    "rows of data": lambda x: torch.nonzero(x > 0),
    "chosen by a mask": lambda x: torch.masked_select(x, x > 0) * 2,
    "several results": lambda x: torch.topk(x, 2, dim=1),
    "parts": lambda x: (torch.split(x, 2, 1)[0] * 2, x.reshape(-1, 1), x.shape[0] * 2),
    "a scalar of it": lambda x: (x @ x.t()).mean(),
    "cond": lambda x: torch.cond(x.sum() > 0, lambda x: x + 1, lambda x: x * 2, (x,)).relu(),
    "map": lambda x: torch_map(lambda row: row.sin() + 1, x) + 1,
    "scan": lambda x: scan(lambda c, row: (c + row, c * row), torch.zeros(3), x),
    "while": lambda x: while_loop(lambda i, y: i < 3, lambda i, y: (i + 1, y.sin() + x), (torch.tensor(0), x.clone()))[
        1
    ],
    "the input itself": lambda x: (x, x + 1),
}


@pytest.mark.sampled
@pytest.mark.parametrize("what", FUNCTIONS)
def test_any_size_matches_eager(what: str) -> None:
    function = FUNCTIONS[what]
    method = _loaded(_lowered(function, torch.randn(4, 3)))
    for rows in (4, 100, 2, 57, 300, 3):
        x = torch.randn(rows, 3)
        expected = function(x)
        expected = list(expected) if isinstance(expected, (list, tuple)) else [expected]
        torch.testing.assert_close(method.execute([x]), expected, **MODEL)


def test_results_stay_valid_when_the_next_call_frees_memory() -> None:
    method = _loaded(_lowered(lambda x: x + 1, torch.randn(4, 3)))
    kept = [(x, method.execute([x], clone_outputs=False)) for x in (torch.randn(rows, 3) for rows in (4, 100, 2))]
    for x, (output,) in kept:
        torch.testing.assert_close(output, x + 1)


@settings(max_examples=15, deadline=None, derandomize=True, database=None, suppress_health_check=list(HealthCheck))
@given(st.lists(st.tuples(st.integers(2, 60), st.integers(2, 60)), min_size=1, max_size=4))
def test_two_unbounded_sizes_match_eager(sizes: list[tuple[int, int]]) -> None:
    method = _method_of_two_sizes()
    for rows, columns in sizes:
        x = torch.randn(rows, columns)
        output = method.execute([x])
        torch.testing.assert_close(output, [torch.cat([x, x * 2]).cumsum(0).t().contiguous()])


@cache
def _method_of_two_sizes() -> Any:
    sizes = {0: Dim("n"), 1: Dim("m")}
    return _loaded(_lowered(lambda x: torch.cat([x, x * 2]).cumsum(0).t(), torch.randn(4, 3), sizes))


def test_unbounded_tensors_are_not_planned_and_are_freed_after_their_last_use() -> None:
    program = _lowered(lambda x: (x + 1).relu() * 2 + 3, torch.randn(4, 3))
    (plan,) = program.executorch_program.execution_plan
    tensors = [value.val for value in plan.values if isinstance(value.val, Tensor) and value.val.data_buffer_idx == 0]
    dynamic = [tensor for tensor in tensors if tensor.shape_dynamism is TensorShapeDynamism.DYNAMIC_UNBOUND]
    assert len(dynamic) >= 3 and all(tensor.allocation_info is None for tensor in dynamic)
    assert all(tensor.sizes == [0, 3] for tensor in dynamic)
    assert any(isinstance(i.instr_args, FreeCall) for i in plan.chains[0].instructions)
    method = _loaded(program)
    method.execute([torch.randn(1000, 3)])
    assert method.dynamic_memory_peak() <= 2 * 12000 + 64, "two are alive at a time"


def test_bounded_tensors_of_the_same_program_are_planned() -> None:
    program = _lowered(lambda x: (x.sum(0) * 2).sin() + x.mean(), torch.randn(4, 3))
    assert program.memory_plans["forward"].size > 0
    x = torch.randn(300, 3)
    torch.testing.assert_close(_loaded(program).execute([x]), [(x.sum(0) * 2).sin() + x.mean()], **MODEL)


def test_parametric_plans_leave_unbounded_tensors_out() -> None:
    planner = MemoryPlanningPass(alloc_graph_input=False, parametric=True)
    function = lambda x: (x + 1).sum(0) * 2  # noqa: E731
    program = _lowered(function, torch.randn(4, 3), {0: Dim("n"), 1: Dim("m", max=64)}, memory_planning_pass=planner)
    method = _loaded(program)
    for sizes in ((4, 3), (100, 64), (7, 5)):
        x = torch.randn(*sizes)
        torch.testing.assert_close(method.execute([x]), [function(x)])
    assert program.exported_program().graph_module.meta["parametric_plan"].need({(0, 1): 5}) < 256


def test_the_lowering_report_lists_unbounded_tensors() -> None:
    program = _lowered(lambda x: (x + 1).relu(), torch.randn(4, 3))
    (method,) = program.verdict.methods
    assert [text.split(":")[0] for text in method.unbounded] == ["aten_add_tensor", "aten_relu_default"]
    assert "float32[s" in method.unbounded[0]
    assert "unbounded, from the client's dynamic allocator: aten_add_tensor" in str(program.verdict)
    assert method.temp_peak.bytes is None and "no bound" in method.temp_peak.note


def test_the_default_warns_and_names_tensors_and_dimensions() -> None:
    with pytest.warns(UserWarning, match=r"aten_add_tensor \(dimension 0: s\d+\).*no upper bound.*dynamic allocator"):
        _lowered(lambda x: x + 1, torch.randn(4, 3))


def test_unbounded_sizes_can_be_refused() -> None:
    strict = ConstraintBasedSymShapeEvalPass(allow_unbounded=False)
    with pytest.raises(ExportError, match=r"size s\d+ of dimension 0 has no upper bound; give one with"):
        _lowered(lambda x: x + 1, torch.randn(4, 3), sym_shape_eval_pass=strict)


def test_the_error_of_a_wrong_input_names_its_free_dimensions() -> None:
    method = _loaded(_lowered(lambda x: x + 1, torch.randn(4, 3)))
    with pytest.raises(InvalidArgumentError, match=r"at most \[any, 3\]"):
        method.execute([torch.ones(5)])
    with pytest.raises(InvalidArgumentError, match="input 0"):
        method.execute([torch.ones(5, 4)])
