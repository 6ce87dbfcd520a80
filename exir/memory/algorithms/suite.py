# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Run several planning algorithms and keep the best result."""

from collections.abc import Callable, Collection, Sequence

from torch.export.graph_signature import ExportGraphSignature
from torch.fx import GraphModule

from executorch.exir.memory.algorithms.exact import exact
from executorch.exir.memory.errors import MemoryPlanningError
from executorch.exir.memory.result import MemoryAlgoResult
from executorch.exir.tensor import TensorSpec


class MemoryPlanningAlgorithmSuite:
    """Runs every algorithm of `algo_list` (by default only `exact`) and keeps the one with the smallest arenas.

    After a call, `result` is that algorithm's result, with lower bound and gap. Raises ValueError for an empty list.
    """

    def __init__(self, algo_list: Sequence[Callable[..., MemoryAlgoResult]] | None = None) -> None:
        self.algo_list = [exact] if algo_list is None else list(algo_list)
        self.result: MemoryAlgoResult | None = None
        if not self.algo_list:
            raise ValueError("algo_list is empty: give at least one algorithm")

    def __call__(
        self,
        alignment: int,
        specs: Collection[TensorSpec],
        graph_module: GraphModule,
        graph_signature: ExportGraphSignature | None,
        extra_padding: int = 0,
    ) -> list[int]:
        """Write the places to the specs and return the arenas' sizes in bytes."""
        results = []
        for algorithm in self.algo_list:
            result = algorithm(alignment, specs, graph_module, graph_signature, extra_padding)
            if not isinstance(result, MemoryAlgoResult):
                raise MemoryPlanningError(
                    getattr(algorithm, "__name__", repr(algorithm)),
                    f"an algorithm of a suite returns a MemoryAlgoResult; found {type(result).__name__}",
                )
            results.append(result)
        self.result = min(results, key=lambda result: sum(result.bufsizes))
        self.result.write_to_specs()
        return self.result.bufsizes
