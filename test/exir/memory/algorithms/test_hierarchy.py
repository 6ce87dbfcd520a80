# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Fast and slow memory: what goes where, and what is refused."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import nn
from torch.export import export

from executorch.exir import ExecutorchBackendConfig, to_edge
from executorch.exir.memory_planning import MemoryHierarchy, MemoryPlanningError, get_node_tensor_specs
from executorch.exir.passes import MemoryPlanningPass
from executorch.runtime import Runtime

FAST, SLOW = 1, 2


class Pyramid(nn.Module):
    """Results of 64 KiB, 16 KiB, 4 KiB …, each from the one before and read twice."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        for _ in range(4):
            x = torch.sin(x) * x
            x = x[:, ::2, ::2] + 1
        return x


INPUTS = (torch.randn(1, 128, 128),)


def plan_with(hierarchy: MemoryHierarchy, model: nn.Module | None = None, inputs: Any = INPUTS) -> Any:
    program = to_edge(export((model or Pyramid()).eval(), inputs))
    return program.to_executorch(ExecutorchBackendConfig(memory_planning_pass=MemoryPlanningPass(hierarchy)))


def tensors(manager: Any) -> dict[str, Any]:
    return {tensor.name: tensor for tensor in manager.memory_plans["forward"].tensors}


@pytest.mark.sampled
@pytest.mark.parametrize("capacities", [[256], [20_000], [65_536], [1_000_000], [4_096, 20_000], [100, 200, 300]])
def test_no_memory_exceeds_its_capacity_and_results_match_eager(capacities: list[int]) -> None:
    manager = plan_with(MemoryHierarchy(capacities))
    arenas = manager.memory_plans["forward"].arenas
    assert len(arenas) == len(capacities) + 1
    assert all(arena.size <= capacity for arena, capacity in zip(arenas, capacities, strict=False))
    method = Runtime.get().load_program(manager.buffer).load_method("forward")
    torch.testing.assert_close(method.execute(INPUTS)[0], Pyramid()(*INPUTS))


def test_tensors_that_fit_are_in_fast_memory() -> None:
    small = plan_with(MemoryHierarchy([20_000]))
    assert {tensor.mem_id for tensor in tensors(small).values() if tensor.size > 20_000} == {SLOW}
    assert {tensor.mem_id for tensor in tensors(small).values() if tensor.size <= 4_096} == {FAST}
    large = plan_with(MemoryHierarchy([1_000_000]))
    assert large.memory_plans["forward"].arenas[1].size == 0


class Often(nn.Module):
    """`kept` is read once, at the end; `busy` at every step between."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        kept = x + 1
        busy = x.sin()
        total = busy.sum() + busy.mean() + busy.amax() + busy.amin() + (busy * busy).sum()
        return kept * total


def test_tensors_with_more_accesses_per_step_go_first() -> None:
    planned = tensors(plan_with(MemoryHierarchy([1_100]), Often(), (torch.randn(256),)))
    by_operator = {tensor.operator: tensor.mem_id for tensor in planned.values() if tensor.size == 1024}
    assert by_operator["aten::sin.out"] == FAST and by_operator["aten::add.out"] == SLOW


class Chosen(MemoryPlanningPass):
    """Puts results of sin into the memory that is named, as the documentation has it."""

    def __init__(self, mem_id: int, hierarchy: MemoryHierarchy) -> None:
        super().__init__(hierarchy)
        self.mem_id = mem_id

    def run(self, graph_module: Any, graph_signature: Any = None) -> Any:
        for node in graph_module.graph.nodes:
            if node.target == torch.ops.aten.sin.out:
                for spec in get_node_tensor_specs(node):
                    spec.mem_id = self.mem_id
        return super().run(graph_module, graph_signature)


def plan_chosen(mem_id: int, capacity: int) -> Any:
    planner = Chosen(mem_id, MemoryHierarchy([capacity]))
    return to_edge(export(Pyramid(), INPUTS)).to_executorch(ExecutorchBackendConfig(memory_planning_pass=planner))


def test_a_memory_chosen_by_the_user_stays() -> None:
    planned = tensors(plan_chosen(SLOW, 1_000_000))
    assert {tensor.mem_id for tensor in planned.values() if "sin" in tensor.operator} == {SLOW}
    assert {tensor.mem_id for tensor in planned.values() if "sin" not in tensor.operator} == {FAST}


def test_a_choice_that_does_not_fit_is_refused() -> None:
    with pytest.raises(MemoryPlanningError, match=r"memory 1: .*take \d+ bytes, expected at most 20000"):
        plan_chosen(FAST, 20_000)
    with pytest.raises(MemoryPlanningError, match="expected mem_id 1 to 2"):
        plan_chosen(3, 20_000)


@pytest.mark.parametrize("capacities", [[], [0], [-1], [1.5], [64, 0]])
def test_capacities_are_numbers_of_bytes(capacities: Any) -> None:
    with pytest.raises(ValueError, match="expected the bytes of each memory but the last"):
        MemoryHierarchy(capacities)
