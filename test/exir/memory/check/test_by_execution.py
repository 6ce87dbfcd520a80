# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""The check by execution knows no lifetimes: every plan that it accepts gives the results of eager mode."""

import random
from collections.abc import Callable
from typing import Any

import pytest
import torch
from oracle.models.pipeline import run
from torch import nn
from torch._higher_order_ops.map import map as torch_map
from torch._higher_order_ops.scan import scan
from torch._higher_order_ops.while_loop import while_loop
from torch.export import ExportedProgram, export

from executorch.exir import ExecutorchBackendConfig, to_edge
from executorch.exir.graph_module import all_graph_modules
from executorch.exir.memory.check.by_execution import check_by_execution
from executorch.exir.memory.lifetimes.liveness import find_lifetimes
from executorch.exir.memory_planning import MemoryPlanningError, get_node_tensor_specs, naive
from executorch.exir.passes.memory.memory_planning_pass import MemoryPlanningPass
from executorch.exir.program.executorch_manager import ExecutorchProgramManager
from executorch.exir.tensor import TensorSpec

X = torch.linspace(-1, 1.5, 16).reshape(4, 4)


class Consecutive(nn.Module):
    """Two conds, the second of which reads values from before the first."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        kept = x.sin()
        a = torch.cond(x.sum() > 0, lambda v: (v @ v).exp() @ v, lambda v: (v * 2).cos() @ v, (x,))
        return torch.cond(a.sum() > 0, lambda v, w: (v @ w).tanh(), lambda v, w: (v - w) @ v, (a, kept))


class Nested(nn.Module):
    """A cond in a cond: operands of the inner one are operands of both."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        kept = x.sin()

        def outer(v: torch.Tensor, w: torch.Tensor) -> torch.Tensor:
            inner = v @ w
            chosen = torch.cond(inner.sum() > 0, lambda p, q: (p @ q).exp(), lambda p, q: (p + q) @ p, (inner, w))
            return chosen @ w

        return torch.cond(x.sum() > -9, outer, lambda v, w: (v @ w).cos(), (x, kept)) + kept


class Loops(nn.Module):
    """Every iteration reads values from before the loop."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        kept = x.sin()

        def body(i: torch.Tensor, v: torch.Tensor) -> Any:
            chosen = torch.cond(v.sum() > 0, lambda p: (p @ kept).cos(), lambda p: (kept @ p).tanh() + 1, (v,))
            return i + 1, chosen @ v

        return while_loop(lambda i, v: i < 3, body, (torch.tensor(0), x))[1]


class Goes(nn.Module):
    """A map and a scan, one after the other, over the same tensor."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        kept, over = x.sin(), x.cos()
        rows = torch_map(lambda row, w: (row @ w).tanh() @ w, over, kept)
        total, _ = scan(lambda c, v: ((c @ kept * 0.1).exp() + v, (c * v).relu()), torch.zeros(4), over)
        return rows + total


class Counts(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("state", torch.ones(4, 4))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        self.state.add_(x @ x)
        return (self.state @ x).relu() @ x


def spread(model: nn.Module) -> ExportedProgram:
    """A program in which every tensor has a place of its own."""
    config = ExecutorchBackendConfig(memory_planning_pass=MemoryPlanningPass(naive))
    return to_edge(export(model, (X,), strict=False)).to_executorch(config).exported_program()


def planned(program: ExportedProgram) -> dict[TensorSpec, str]:
    names = find_lifetimes(program.graph_module, program.graph_signature).names
    return {spec: name for spec, name in names.items() if spec.mem_offset is not None}


def spec_of(program: ExportedProgram, operator: Any, nth: int = 0) -> TensorSpec:
    found = [
        n for module in all_graph_modules(program.graph_module) for n in module.graph.nodes if n.target is operator
    ]
    return get_node_tensor_specs(found[nth])[0]


def state_of(program: ExportedProgram) -> list[TensorSpec]:
    return [s for n in program.graph.nodes if n.name.startswith("b_") for s in get_node_tensor_specs(n)]


@pytest.mark.sampled
@pytest.mark.parametrize("model", [Consecutive, Nested, Loops, Goes, Counts])
def test_every_accepted_plan_matches_eager(model: Callable[[], nn.Module]) -> None:
    program = spread(model())
    names = planned(program)
    expected = model()(X)
    chance, accepted, refused = random.Random(0), 0, 0
    specs = list(names)
    for _ in range(25):
        mover, victim = chance.sample(specs, 2)
        before = mover.mem_offset
        mover.mem_offset = victim.mem_offset
        if mover.nbytes() <= victim.nbytes():
            try:
                check_by_execution(program.graph_module, names, state_of(program))
            except MemoryPlanningError:
                refused += 1
            else:
                accepted += 1
                (found,) = run(ExecutorchProgramManager({"forward": program}).buffer, [X])
                torch.testing.assert_close(found, expected, msg=f"{names[mover]} over {names[victim]}")
        mover.mem_offset = before
    assert accepted and refused


OPS = torch.ops.aten


@pytest.mark.parametrize(
    ("model", "victim", "mover", "reader"),
    [
        # The first cond's branch overwrites an operand of the second cond.
        (Consecutive, (OPS.sin.out,), (OPS.exp.out,), "mm|sub|add"),
        # The inner branch overwrites an operand of the outer graph's last add.
        (Nested, (OPS.sin.out,), (OPS.exp.out,), "add|mm"),
        # The body overwrites a value after its last use, but the next iteration reads it again.
        (Loops, (OPS.sin.out,), (OPS.cos.out,), "mm|cond|while"),
        # The map's body overwrites the operand of the scan that follows.
        (Goes, (OPS.cos.out,), (OPS.tanh.out,), "scan|map|cos"),
    ],
)
def test_a_tensor_that_only_another_branch_or_iteration_reads_is_protected(
    model: Callable[[], nn.Module], victim: tuple[Any], mover: tuple[Any], reader: str
) -> None:
    program = spread(model())
    names = planned(program)
    check_by_execution(program.graph_module, names)
    spec_of(program, *mover).mem_offset = spec_of(program, *victim).mem_offset
    with pytest.raises(MemoryPlanningError, match=reader):
        check_by_execution(program.graph_module, names)


def test_state_must_be_intact_when_the_method_ends() -> None:
    program = spread(Counts())
    names, (state,) = planned(program), state_of(program)
    check_by_execution(program.graph_module, names, [state])
    spec_of(program, OPS.relu.out).mem_offset = state.mem_offset
    with pytest.raises(MemoryPlanningError, match="reads b_state"):
        check_by_execution(program.graph_module, names, [state])


def test_an_operator_may_not_write_over_its_operand_unless_it_works_in_place() -> None:
    program = spread(Counts())
    names = planned(program)
    relu, product = spec_of(program, OPS.relu.out), spec_of(program, OPS.mm.out, 1)
    relu.mem_offset = product.mem_offset
    with pytest.raises(MemoryPlanningError, match="over its own operand"):
        check_by_execution(program.graph_module, names)
    check_by_execution(program.graph_module, names, in_place={relu: product})
