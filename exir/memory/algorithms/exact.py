# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""The default algorithm: the lowest plan found with bounded effort, with a proven lower bound."""

from collections.abc import Collection

from torch.export.graph_signature import ExportGraphSignature
from torch.fx import GraphModule

from executorch.exir.memory.arenas import InPlace, plan_arenas
from executorch.exir.memory.lifetimes.in_place import find_in_place
from executorch.exir.memory.problem import Problem, Solution
from executorch.exir.memory.result import MemoryAlgoResult
from executorch.exir.memory.solve.overwrites import solve_with_overwrites
from executorch.exir.memory.solve.search import search
from executorch.exir.tensor import TensorSpec


def exact(
    alignment: int,
    specs: Collection[TensorSpec],
    graph_module: GraphModule,
    graph_signature: ExportGraphSignature | None,
    extra_padding: int = 0,
) -> MemoryAlgoResult:
    """Plan like `greedy`, then improve by branch and bound with a bounded effort. Results may overwrite operands that
    die there.

    The plan is never larger than that of `greedy`, and equal on every machine. Sizes and padding in bytes.
    """
    return plan_exactly(alignment, specs, extra_padding, find_in_place(graph_module, specs, graph_signature))


def plan_exactly(
    alignment: int, specs: Collection[TensorSpec], extra_padding: int, in_place: InPlace
) -> MemoryAlgoResult:
    """Plan like `exact`, with given pairs of result and operand."""

    def solve(problem: Problem) -> Solution:
        return solve_with_overwrites(problem, search)

    return plan_arenas(solve, alignment, specs, extra_padding, in_place)
