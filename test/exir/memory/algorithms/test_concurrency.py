# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Plans for concurrent execution, and the order of tasks that goes into the file with them."""

import random
import struct

import pytest
import torch
from torch import nn
from torch.export import export

from executorch.exir import ExecutorchBackendConfig, to_edge
from executorch.exir.emit.order import KEY_PREFIX
from executorch.exir.error import ExportError
from executorch.exir.memory.algorithms.greedy import greedy
from executorch.exir.memory.check.by_execution import check_by_execution
from executorch.exir.passes import MemoryPlanningPass


class Branches(nn.Module):
    def forward(self, x):
        left, right = x, x
        for _ in range(3):
            left, right = left.sin().mm(x), right.cos().mm(x)
        return left + right


class Joins(nn.Module):
    def forward(self, x, y):
        parts = torch.cat([x.sin(), y.cos(), x * y], 1).split(4, 1)
        state = [part.exp().sum(1, keepdim=True) for part in parts]
        return (
            state[0] + state[2],
            torch.cond(x.sum() > 0, lambda a, b: a.sin() + b, lambda a, b: a - b, (x, y)),
            parts[1],
        )


class Counter(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("seen", torch.zeros(4, 4))

    def forward(self, x):
        before = self.seen.sin()
        self.seen.add_(x)
        return before.mm(x) + 1, self.seen.cos().mm(x)


MODELS = {
    "branches": (Branches(), (torch.randn(4, 4),)),
    "joins": (Joins(), (torch.randn(4, 4), torch.randn(4, 4))),
    "state": (Counter(), (torch.randn(4, 4),)),
}


def lower(name, **options):
    module, inputs = MODELS[name]
    planner = MemoryPlanningPass(concurrent=True, **options)
    return to_edge(export(module, inputs, strict=True)).to_executorch(
        ExecutorchBackendConfig(memory_planning_pass=planner)
    )


def order_of(program):
    (words,) = [data for key, data in program._emitter_output.plan_data.items() if key == KEY_PREFIX + "forward"]
    version, tasks, pairs, *rest = struct.unpack(f"<{len(words) // 4}I", words)
    assert version == 1 and len(rest) == tasks + 2 * pairs
    return rest[:tasks], list(zip(rest[tasks::2], rest[tasks + 1 :: 2], strict=True))


def test_branches_have_no_order_between_them() -> None:
    program = lower("branches")
    ends, pairs = order_of(program)
    assert len(ends) == 13 and ends[-1] == len(program.executorch_program.execution_plan[0].chains[0].instructions)
    reach = {task: {task} for task in range(len(ends))}
    for early, late in pairs:
        reach[late] |= reach[early]
    assert reach[12] == set(range(13))
    # sin, mm, and cos, mm, by turns: what one branch does never waits for the other.
    for task in range(12):
        assert {other // 2 % 2 for other in reach[task]} == {task // 2 % 2}


@pytest.mark.parametrize("name", MODELS)
def test_every_order_that_the_file_allows_keeps_the_plan(name: str) -> None:
    """The check by execution accepts random orders of the nodes that obey only the pairs."""
    program = lower(name)
    ends, pairs = order_of(program)
    module = program.exported_program().graph_module
    assert all(0 <= early < late < len(ends) for early, late in pairs)
    plan = module.meta["memory_plan"]
    assert plan.arenas[0].size >= plan.arenas[0].lower_bound
    specs = {}
    for node in module.graph.nodes:
        for spec in torch.utils._pytree.tree_leaves(node.meta.get("spec")):
            if getattr(spec, "mem_id", None) is not None and not hasattr(spec, "base"):
                specs.setdefault(spec, node.name)
    tasks = [n for n in module.graph.nodes if n.op == "call_function" and _has_instruction(n)]
    assert len(tasks) == len(ends)
    chance = random.Random(0)
    for _ in range(20):
        _shuffle(module.graph, tasks, pairs, chance)
        check_by_execution(module, specs)


def _has_instruction(node):
    name = getattr(node.target, "__name__", "")
    return name not in ("alloc", "getitem", "view", "free")


def _shuffle(graph, tasks, pairs, chance):
    """Move the tasks' nodes into a random order in which each comes after those that it waits for."""
    waiting = {task: {early for early, late in pairs if late == task} for task in range(len(tasks))}
    output = graph.output_node()
    while waiting:
        task = chance.choice([candidate for candidate, before in waiting.items() if not before])
        del waiting[task]
        for before in waiting.values():
            before.discard(task)
        output.prepend(tasks[task])


def test_an_algorithm_that_lets_branches_share_bytes_is_refused() -> None:
    with pytest.raises(ExportError, match="may run at the same time"):
        lower("branches", memory_planning_algo=greedy)


def test_a_chain_takes_no_more_memory_than_without_concurrency() -> None:
    class Chain(nn.Module):
        def forward(self, x):
            for _ in range(6):
                x = x.mm(x)
            return x

    program = export(Chain(), (torch.randn(8, 8),), strict=True)
    sizes = []
    for concurrent in (False, True):
        planner = MemoryPlanningPass(concurrent=concurrent)
        lowered = to_edge(program).to_executorch(ExecutorchBackendConfig(memory_planning_pass=planner))
        sizes.append(lowered.executorch_program.execution_plan[0].non_const_buffer_sizes)
    assert sizes[0] == sizes[1]


def test_concurrent_and_parametric_exclude_each_other() -> None:
    with pytest.raises(ValueError, match="neither parametric"):
        MemoryPlanningPass(concurrent=True, parametric=True)
